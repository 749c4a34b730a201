// @ts-check
// The live figure of one element of a page.
import { PanelView } from "./panel.js";
import { PICTURES } from "./pictures.js";
import { Session } from "./session.js";
import { Solver } from "./sparsewood.js";

/** @type {Promise<Solver> | null} */
let solver = null;

/** The solver of the page, unpacked at first use. @returns {Promise<Solver>} */
export function load() {
  solver ??= unpacked().then((bytes) => Solver.load(bytes));
  return solver;
}

/** @returns {Promise<Uint8Array>} */
async function unpacked() {
  const packed = Uint8Array.from(atob(SPARSEWOOD_WASM), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * @param {HTMLElement} element
 * @param {any} [given] as Python writes it; by default what the element holds
 */
export async function mount(element, given) {
  const data = given ?? JSON.parse(element.querySelector("script")?.textContent ?? "null");
  if (data.scores === null) return null;
  data.scores = Float64Array.from(data.scores, (score) => score ?? -Infinity);
  const session = new Session(data, await load());
  const picture = PICTURES[data.picture];
  const view = new PanelView({ label: (part) => picture.name(data, part) });
  const line = document.createElement("p");
  const show = () => {
    view.update(picture.summary(data, session.posterior.marginals, { width: 800 }));
    line.textContent = session.caption;
  };
  show();
  element.replaceChildren(view.element, line);
  const figure = {
    state: () => ({ ...session.posterior, ms: session.ms }),
    set: (/** @type {any} */ settings) => (session.set(settings), show()),
    destroy: () => element.replaceChildren(),
  };
  /** @type {any} */ (element).sparsewood = figure;
  return figure;
}
