// @ts-check
// Spanning trees of undirected graphs: the vertices on a circle, the edges between them.
import { faded, fitted, partsInUse } from "./layout.js";
import { MARGIN, SIZE, printable, rowOf, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 */

const DOT = 8; // width of a vertex
const OUT = 9; // distance from a vertex to its name
const APART = 14; // distance between two names
const LEAST = 44; // minimum radius of the circle

export const edges = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const n = data.words.length;
    const parts = partsInUse(marginals, view).filter((part) => part % n < Math.floor(part / n)); // only edges i > j
    const strength = (/** @type {number} */ part) => ({ strength: marginals[part] });
    const large = circle(data, parts, strength, SIZE, 1.6);
    return large.width <= view.width ? large : circle(data, parts, strength, SIZE, 1);
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {View} view
   * @returns {Panel}
   */
  card(data, structure, parts, view) {
    return faded(fitted(view, (size) => circle(data, [...parts], () => ({}), size, 1)), view);
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

/**
 * The vertices clockwise from the top of a circle, with their names outside. Each vertex gets a
 * share of the circle proportional to the width of its name.
 * @param {Data} data
 * @param {number[]} parts
 * @param {(part: number) => {strength?: number}} look
 * @param {number} size of names
 * @param {number} scale
 * @returns {Panel}
 */
function circle(data, parts, look, size, scale) {
  const n = data.words.length;
  const widths = data.words.map((word) => textWidth(word, size));
  const { centers, width } = rowOf(widths, APART);
  const around = width - 2 * MARGIN + APART;
  const turns = centers.map((x) => (2 * Math.PI * (x - centers[0])) / around - Math.PI / 2);
  const radius = scale * Math.max(LEAST, around / (2 * Math.PI));
  const names = turns.map((turn, i) => Math.cos(turn) * (radius + OUT + widths[i] / 2)); // from the middle
  const left = MARGIN - Math.min(-radius - DOT, ...names.map((x, i) => x - widths[i] / 2));
  const right = MARGIN + Math.max(radius + DOT, ...names.map((x, i) => x + widths[i] / 2));
  const middle = MARGIN + size + OUT + radius;
  const at = turns.map((turn) => [left + radius * Math.cos(turn), middle + radius * Math.sin(turn)]);
  /** @type {Shape[]} */
  const shapes = parts.map((part) => ({
    type: "line", points: between(at[Math.floor(part / n)], at[part % n]), part, ...look(part),
  }));
  for (const [i, text] of data.words.entries()) {
    const [x, y] = at[i];
    const baseline = middle + Math.sin(turns[i]) * (radius + OUT + size / 2) + 0.36 * size;
    shapes.push({ type: "box", x: x - DOT / 2, y: y - DOT / 2, width: DOT, height: DOT, shaded: true });
    shapes.push({ type: "text", x: left + names[i], y: baseline, text, size });
  }
  return { width: left + right, height: 2 * middle, shapes };
}

/**
 * The line from the rim of one vertex to the rim of another.
 * @param {number[]} start
 * @param {number[]} end
 */
function between(start, end) {
  const [x, y] = [end[0] - start[0], end[1] - start[1]];
  const share = DOT / 2 / Math.hypot(x, y);
  return [[start[0] + share * x, start[1] + share * y], [end[0] - share * x, end[1] - share * y]];
}
