// @ts-check
// Spanning trees of undirected graphs: the vertices on a circle, the edges between them.
import { partsInUse } from "./layout.js";
import { MARGIN, SIZE, printable, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 */

const DOT = 8; // the width of a vertex
const OUT = 9; // from a vertex to its name
const LEAST = 9; // font size below which names are left out

export const edges = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const parts = partsInUse(marginals, view).filter((part) => part % data.words.length < Math.floor(part / data.words.length));
    return circle(data, parts, (part) => ({ strength: marginals[part] }), SIZE, 80 + 9 * data.words.length);
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {View} view
   * @returns {Panel}
   */
  card(data, structure, parts, view) {
    return circle(data, [...parts], () => ({}), 12, 34 + 4 * data.words.length);
  },

  /**
   * @param {Data} data
   * @param {number} part of the edge between vertices i > j: i n + j
   */
  name(data, part) {
    const n = data.words.length;
    return [part % n, Math.floor(part / n)].map((vertex) => printable(data.words[vertex])).join(" – ");
  },

  /** @param {Data} data */
  axes(data) {
    const names = data.words.map(printable);
    return [{ label: "vertex", names }, { label: "earlier vertex", names }];
  },
};
