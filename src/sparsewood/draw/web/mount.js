// @ts-check
// Figures come to life: the solver is unpacked once for a page, the data are read, and checked.
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
 * Puts a figure in the place of what an element holds, and leaves it there as `element.sparsewood`.
 * Where there can be none, what the element holds stays, and a line says why.
 * @param {HTMLElement} element
 * @param {any} [given] data as Python writes them; by default those in the element
 * @returns {Promise<Figure | null>} once it is painted
 */
export async function mount(element, given) {
  /** @type {any} */ (element).sparsewood?.destroy();
  const data = given ?? JSON.parse(element.querySelector("script")?.textContent ?? "null");
  try {
    const reason = refusal(data);
    if (reason) throw new Error(reason);
    const scores = Float64Array.from(data.scores, (score) => score ?? -Infinity);
    const session = new Session({ ...data, scores }, await load());
    session.posterior; // what cannot be solved leaves the page as it is
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
 * Why data have no figure that answers; empty where they do.
 * @param {any} data
 */
function refusal(data) {
  if (!data) return "No data for a figure.";
  if (!(data.picture in PICTURES)) return `No picture of ${data.structure}.`;
  const [words, parts] = [Math.max(...data.size), data.shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1)];
  if (data.scores && words <= TABLES.wordsMax && parts <= TABLES.partsMax) return "";
  return (
    `${words} words and ${parts} parts: a figure answers up to ${TABLES.wordsMax} words and ${TABLES.partsMax} parts.`
  );
}
