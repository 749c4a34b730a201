// @ts-check
// Panels of shapes as TikZ.
import { shadeOf, strengthAttributes } from "./shapes.js";
import { TABLES } from "./tables.js";
import { SIZE, coordinate, latexText } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 */

/**
 * The shapes as one `tikzpicture`; a pixel is 0.75 pt.
 * @param {Panel} panel
 */
export function panelTikz(panel) {
  const top = panel.top ?? 0;
  return [
    "\\begin{tikzpicture}[x=.75pt, y=-.75pt, every node/.style={inner sep=0pt}]",
    `  \\useasboundingbox (0, ${top.toFixed(1)}) rectangle (${panel.width.toFixed(1)}, ${panel.height.toFixed(1)});`,
    ...panel.shapes.map((shape) => `  ${shapeTikz(shape)}`),
    "\\end{tikzpicture}",
  ].join("\n");
}

export const TIKZ_PREAMBLE = `% \\usepackage{tikz}\n${TABLES.tikzColours}`;

/** @param {Shape} shape */
function shapeTikz(shape) {
  const kind = shape.kind ?? "plain";
  const style = TABLES.tikzStyles[kind];
  const { opacity } = strengthAttributes([shape]);
  const width = 0.4 * (shape.strength === undefined ? 1 : 0.5 + 3 * shape.strength);
  const strong = shape.strength === undefined ? "" : `opacity=${opacity}, line width=${coordinate(width)}pt`;
  const at = (/** @type {number[]} */ [x, y]) => `(${x.toFixed(1)}, ${y.toFixed(1)})`;
  const joined = (/** @type {string[]} */ ...options) => options.filter(Boolean).join(", ");
  if (shape.type === "text") {
    const font = `font=${(shape.size ?? SIZE) >= SIZE ? "\\small" : "\\scriptsize"}`;
    const anchor = { start: "base west", middle: "base", end: "base east" }[shape.anchor ?? "middle"];
    const seen = shape.strength === undefined ? "" : `opacity=${opacity}`;
    return `\\node[${joined(`anchor=${anchor}`, font, style, seen, shape.upright ? "rotate=-90" : "")}] at ${at([shape.x, shape.y])} {${latexText(shape.text)}};`;
  }
  const dashed = kind === "differ" ? "dashed" : "";
  if (shape.type === "box") {
    const corner = [shape.x + shape.width, shape.y + shape.height];
    const { fill, border } = shadeOf(shape);
    const inside = fill ? `fill=black, fill opacity=${coordinate(fill)}` : "";
    const around = border < 1 ? `draw opacity=${coordinate(border)}` : "";
    return `\\draw[${joined("rounded corners=2pt", style, dashed, inside, around)}] ${at([shape.x, shape.y])} rectangle ${at(corner)};`;
  }
  const points = shape.points.map(at);
  const path = shape.curve
    ? `${points[0]} .. controls ${points[1]} and ${points[2]} .. ${points[3]}`
    : points.join(" -- ");
  const ends = shape.arrow ? "->" : "-";
  const dot = shape.dot ? ` \\fill[${joined(style, strong)}] ${points[0]} circle (2pt);` : "";
  const corners = shape.curve ? "" : "rounded corners=4pt";
  return `\\draw[${joined(ends, corners, style, dashed, strong)}] ${path};${dot}`;
}
