// @ts-check
// Layout: rows that fill a width or break into lines, and stacked spans.
import { GAP, MARGIN, rowOf } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").View} View
 * @typedef {{first: number, last: number, level: number}} Spanned words first to last, both included
 */

const LARGEST = 13, LEAST = 9; // font sizes of words in a card
const BROKEN = 12; // font size if one line is not enough

/**
 * The parts to draw: those in use, and those that the view requires.
 * @param {ArrayLike<number>} marginals
 * @param {View} view
 */
export function partsInUse(marginals, view) {
  const also = new Set(view.also ?? []);
  const parts = [];
  for (let part = 0; part < marginals.length; part++) {
    if (marginals[part] > 0 || also.has(part)) parts.push(part);
  }
  return parts;
}

/**
 * A card in which parts shared by all structures are faint; shapes with a kind keep it.
 * @param {Panel} panel
 * @param {View} view
 * @returns {Panel}
 */
export function faded(panel, { certain }) {
  const fade = (/** @type {Shape} */ shape) =>
    shape.part !== undefined && shape.kind === undefined && certain?.has(shape.part);
  /** @type {Shape[]} */
  const shapes = panel.shapes.map((shape) => (fade(shape) ? { ...shape, kind: "faint" } : shape));
  return { ...panel, shapes };
}

/**
 * Draw with the largest font that fits the width, or else with the smallest.
 * @template {{width: number}} T
 * @param {View} view
 * @param {(size: number) => T} draw
 */
export function fitted(view, draw) {
  let drawn = draw(LARGEST);
  for (let size = LARGEST - 1; size >= LEAST && drawn.width > view.width; size--) drawn = draw(size);
  return drawn;
}

/**
 * Draw in one line if some font size fits the width, or else in several lines.
 * @template {{width: number}} T
 * @param {View} view
 * @param {(size: number, room: number) => T} draw
 */
export function fittedLines(view, draw) {
  const line = fitted(view, (size) => draw(size, Infinity));
  return line.width <= view.width ? line : draw(BROKEN, view.width);
}

/**
 * A row whose gaps grow to fill the width, by at most `most`.
 * @param {number[]} sizes
 * @param {number} width
 * @param {number} [gap]
 * @param {number} [most]
 */
export function spreadRow(sizes, width, gap = GAP, most = 30) {
  const spare = (width - rowOf(sizes, gap).width) / Math.max(1, sizes.length - 1);
  return rowOf(sizes, gap + Math.min(most, Math.max(0, spare)));
}

/**
 * Items side by side, in as many lines as needed.
 * @param {number[]} sizes
 * @param {number} width of a line
 * @param {number} [gap]
 * @returns {{places: {x: number, line: number}[], lines: number, width: number}} x: the middle of each
 */
export function flow(sizes, width, gap = GAP) {
  let [edge, line, right] = [MARGIN, 0, 0];
  const places = sizes.map((size) => {
    if (edge > MARGIN && edge + size > width - MARGIN) [edge, line] = [MARGIN, line + 1];
    const x = edge + size / 2;
    right = Math.max(right, edge + size);
    edge += size + gap;
    return { x, line };
  });
  return { places, lines: line + 1, width: right + MARGIN };
}

/**
 * Give each span the lowest level, from 0, above all previous spans that share a word with it.
 * @param {Spanned[]} spans in order of placement
 * @param {number} words
 * @returns the number of levels
 */
export function stack(spans, words) {
  const tallest = Array(words).fill(0);
  for (const span of spans) {
    span.level = Math.max(...tallest.slice(span.first, span.last + 1));
    tallest.fill(span.level + 1, span.first, span.last + 1);
  }
  return Math.max(0, ...tallest);
}
