// @ts-check
// A figure as text (SVG, TikZ, CoNLL-U), and the buttons that copy it.
import { make, say } from "./dom.js";
import { panelMarkup, svgFile } from "./shapes.js";
import { FONT, MARGIN, coordinate, escapedXml, latexText, percent, textWidth } from "./text.js";
import { TIKZ_PREAMBLE, panelTikz } from "./tikz.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./session.js").Entry} Entry
 * @typedef {import("./types.js").Picture} Picture
 */

const GUTTER = 84; // width of the column of weights
const APART = 14; // between two structures
const WIDE = 640; // width of a structure in pixels

/** @typedef {"picture-svg" | "picture-tikz" | "svg" | "tikz" | "conllu"} Form */

/**
 * @param {Session} session
 * @param {Picture} picture
 * @param {Form} form the picture of the marginals, or a list of the structures
 * @returns {string}
 */
export function textOf(session, picture, form) {
  const { data, posterior } = session;
  if (form.startsWith("picture")) {
    const panel = picture.summary(data, posterior.marginals, { width: WIDE });
    if (form === "picture-tikz") return `${TIKZ_PREAMBLE}\n\n${panelTikz(panel)}`;
    return svgFile(panelMarkup(panel), panel.width, panel.height, data.title, panel.top);
  }
  const panels = session.support.map((entry) => ({
    entry, panel: picture.card(data, entry.structure, entry.parts, { width: WIDE, small: true }),
  }));
  if (form === "svg") return sheetSvg(session, panels);
  if (form === "conllu") return conlluOf(session, picture);
  const rows = panels.map(
    ({ entry, panel }) =>
      `\\noindent\\textbf{${latexText(percent(entry.weight))}}\\par\\noindent\n${panelTikz(panel)}\\par\\medskip`,
  );
  const caption = `\\noindent ${latexText(session.caption)}\\par\\medskip`;
  return [TIKZ_PREAMBLE, caption, ...rows].join("\n\n");
}

/**
 * @param {Session} session
 * @param {{entry: Entry, panel: import("./shapes.js").Panel}[]} panels
 */
function sheetSvg(session, panels) {
  const line = (/** @type {string} */ text, /** @type {number} */ y, weight = "normal") =>
    `<text x="${MARGIN}" y="${coordinate(y)}" font-family="${escapedXml(FONT)}" font-size="13" ` +
    `font-weight="${weight}" fill="currentColor">${escapedXml(text)}</text>`;
  const parts = [line(session.caption, 16)];
  let [width, y] = [MARGIN + textWidth(session.caption, 13), 26];
  for (const { entry, panel } of panels) {
    const top = panel.top ?? 0;
    const bottom = y + panel.height - top;
    parts.push(`<g transform="translate(${GUTTER} ${coordinate(y - top)})">${panelMarkup(panel)}</g>`);
    parts.push(line(percent(entry.weight), bottom - 8, "bold"));
    [width, y] = [Math.max(width, GUTTER + panel.width), bottom + APART];
  }
  return svgFile(parts.join(""), width + MARGIN, y - APART, session.data.title);
}

/**
 * One block per tree, in the same format as in Python.
 * @param {Session} session
 * @param {Picture} picture
 */
function conlluOf(session, picture) {
  return session.support
    .map((entry) => {
      const lines = picture.conllu?.(session.data, entry.structure) ?? "";
      return `# weight = ${general(entry.weight)}\n# certificate = ${session.caption}\n${lines}\n\n`;
    })
    .join("");
}

/**
 * A number in Python's format `.6g`.
 * @param {number} value
 */
function general(value) {
  if (value !== 0 && Math.abs(value) < 1e-4) {
    const [digits, exponent] = value.toExponential(5).split("e");
    return `${Number(digits)}e-${exponent.slice(1).padStart(2, "0")}`;
  }
  return String(Number(value.toPrecision(6)));
}

/** The row of buttons, and a text box for pages that may not write to the clipboard. */
export class CopyRow {
  /**
   * @param {Session} session
   * @param {Picture} picture
   */
  constructor(session, picture) {
    this.box = make("textarea", { readonly: true, rows: 6, "aria-label": "Text to copy" });
    this.box.hidden = true;
    this.said = make("span", { role: "status", class: "sparsewood-faint" });
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {Form} */ form) => {
      const element = make("button", { type: "button", "aria-label": label, "data-copy": form }, text);
      element.addEventListener("click", () => this.copy(textOf(session, picture, form), label));
      return element;
    };
    const nouns = `${session.data.noun}s`;
    const trees = [
      button("SVG", `Copy the ${nouns} as SVG`, "svg"),
      button("TikZ", `Copy the ${nouns} as TikZ`, "tikz"),
    ];
    if (picture.conllu) {
      trees.push(button("CoNLL-U", `Copy the ${nouns} as CoNLL-U`, "conllu"));
    }
    this.element = make("div", { class: "sparsewood-copy" },
      make("span", {}, "Copy the picture as"),
      button("SVG", "Copy the picture as SVG", "picture-svg"),
      button("TikZ", "Copy the picture as TikZ", "picture-tikz"),
      make("span", {}, `the ${nouns} as`), ...trees, this.said, this.box);
  }

  /**
   * @param {string} text
   * @param {string} label
   */
  async copy(text, label) {
    try {
      await navigator.clipboard.writeText(text);
      this.box.hidden = true;
      say(this.said, `${label.replace("Copy", "Copied")}.`);
    } catch {
      // Pages in a file or a frame, for example, may not write to the clipboard.
      this.box.hidden = false;
      this.box.value = text;
      this.box.focus();
      this.box.select();
      say(this.said, "Copy the text from the box.");
    }
  }
}
