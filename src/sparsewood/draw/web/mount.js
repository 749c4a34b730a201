// @ts-check
// Mounts figures: unpacks the solver once per page, reads the data and checks them.
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { PICTURES } from "./pictures.js";
import { Session } from "./session.js";
import { Solver } from "./sparsewood.js";
import { TABLES } from "./tables.js";


/** @type {Promise<Solver> | null} */
let solver = null;

/** The solver of the page. @returns {Promise<Solver>} */
export function load() {
  solver ??= unpacked().then((bytes) => Solver.load(bytes));
  return solver;
}

/** @returns {Promise<ArrayBuffer>} */
async function unpacked() {
  const packed = Uint8Array.from(atob(SPARSEWOOD_WASM), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/**
 * Replace the content of an element by a figure, available as `element.sparsewood`. If this fails,
 * keep the content and add a line with the reason.
 * @param {HTMLElement} element
 * @param {any} [given] data as written by Python; by default the data in the element
 * @returns {Promise<Figure | null>} resolves when the figure is painted
 */
export async function mount(element, given) {
  /** @type {any} */ (element).sparsewood?.destroy();
  const data = given ?? JSON.parse(element.querySelector("script")?.textContent ?? "null");
  try {
    const reason = refusal(data);
    if (reason) throw new Error(reason);
    const scores = Float64Array.from(data.scores, (score) => score ?? -Infinity);
    const session = new Session({ ...data, scores }, await load());
    session.posterior; // throws if the problem cannot be solved
    element.classList.add("sparsewood-live");
    const figure = new Figure(element, session, PICTURES[data.picture]);
    /** @type {any} */ (element).sparsewood = figure;
    return figure;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    if (!element.querySelector(".sparsewood-note")) {
      element.append(make("p", { class: "sparsewood-note" }, text));
    }
    return null;
  }
}

/**
 * Why the data cannot be shown as an interactive figure; empty if they can.
 * @param {any} data
 */
function refusal(data) {
  if (!data) return "No data for a figure.";
  if (!(data.picture in PICTURES)) return `No picture of ${data.structure}.`;
  const [words, parts] = [Math.max(...data.size), data.shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1)];
  if (data.scores && words <= TABLES.wordsMax && parts <= TABLES.partsMax) return "";
  return (
    `${words} words and ${parts} parts: an interactive figure has at most ${TABLES.wordsMax} words and ${TABLES.partsMax} parts.`
  );
}
