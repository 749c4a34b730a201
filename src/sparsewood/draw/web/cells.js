// @ts-check
// Helpers shared by several pictures: names, and parts drawn as boxes with a probability.
import { printable, textWidth } from "./text.js";

/**
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./shapes.js").Shape} Shape
 */

const SHARE = 11; // font size in a box
const SPACE = 3; // between two pieces of text
const DOT = 7; // size of a part that no structure uses
const ENDS = 4; // words shown at the ends of a long span

/**
 * @param {number} count
 * @param {number} [first]
 */
export function numbers(count, first = 0) {
  return Array.from({ length: count }, (_, i) => String(first + i));
}

/**
 * The name of label k.
 * @param {Data} data
 * @param {number} k
 */
export function labelOf(data, k) {
  return printable(data.labels?.[k] ?? String(k));
}

/**
 * The words first to last (inclusive) in brackets; the middle of a long span is omitted.
 * @param {Data} data
 * @param {number} first
 * @param {number} last
 */
export function spanOf(data, first, last) {
  const words = data.words.slice(first, last + 1).map(printable);
  if (words.length > 2 * ENDS + 1) words.splice(ENDS, words.length - 2 * ENDS, "…");
  return `[${words.join(" ")}]`;
}

/**
 * A probability for a small box: integer percent, but 0 and 100 only if exact.
 * @param {number} p
 */
export function share(p) {
  const whole = Math.round(100 * p);
  if (whole === 0 && p > 0) return "<1%";
  return whole >= 100 && p < 0.999999 ? ">99%" : `${whole}%`;
}

/**
 * The total width of pieces of text in a row.
 * @param {string[]} pieces
 */
function widthOf(pieces) {
  return pieces.reduce((sum, piece) => sum + textWidth(piece, SHARE) + SPACE, -SPACE);
}

/**
 * The width of a box for a label and its share.
 * @param {string[]} label in pieces
 */
export function cellWidth(label) {
  return widthOf([...label, ">99%"]) + 6;
}

/**
 * A part as a box with its label and its probability, as far as they fit.
 *
 * Each piece is a separate text: within one text, a right-to-left word would reorder its
 * neighbours.
 * @param {{x: number, y: number, width: number, height: number}} box upper left corner and size
 * @param {number} part
 * @param {number} strength its marginal
 * @param {string[]} [label] in pieces
 * @returns {Shape[]}
 */
export function cell(box, part, strength, label = []) {
  /** @type {Shape[]} */
  const shapes = [{ type: "box", ...box, part, strength }];
  const pieces = [[...label, share(strength)], label].find((some) => widthOf(some) <= box.width - 4) ?? [];
  if (box.height < SHARE + 2) return shapes;
  const y = box.y + box.height / 2 + 0.36 * SHARE;
  let x = box.x + (box.width - widthOf(pieces)) / 2;
  for (const text of pieces) {
    const wide = textWidth(text, SHARE);
    shapes.push({ type: "text", x: x + wide / 2, y, text, size: SHARE, part });
    x += wide + SPACE;
  }
  return shapes;
}

/**
 * A dot for a part that no structure uses, so that it can be selected; nothing if it is forbidden.
 * @param {Data} data
 * @param {number} x
 * @param {number} y its middle
 * @param {number} part
 * @returns {Shape[]}
 */
export function emptyCell(data, x, y, part) {
  if (data.scores[part] === -Infinity) return [];
  const corner = { x: x - DOT / 2, y: y - DOT / 2 };
  return [{ type: "box", ...corner, width: DOT, height: DOT, kind: "faint", part, strength: 0 }];
}
