// @ts-check
// Text given by users: unprintable characters, widths, LaTeX, XML.
import { TABLES } from "./tables.js";

export const SIZE = TABLES.size; // of words
export const SMALL = TABLES.small; // of labels
export const MARGIN = TABLES.margin;
export const GAP = TABLES.gap; // between two words
export const FONT = TABLES.font;

/** @type {Map<string, number>} */
const WIDTH_OF = new Map();
for (const [width, line] of Object.entries(TABLES.widths)) {
  for (const character of line) WIDTH_OF.set(character, Number(width));
}
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{20000}-\u{3fffd}]/u;
const MARKS = /[\p{M}\u200c\u200d]/u;

/**
 * The text with a dot for each unprintable character: control characters, lone surrogates, marks of
 * writing direction, separators other than the space.
 * @param {string} text
 */
export function printable(text) {
  return text.replace(/[\p{C}\p{Z}]/gu, (c) => (" \u200c\u200d".includes(c) ? c : "·"));
}

/**
 * The approximate width of a text at a font size.
 * @param {string} text
 * @param {number} size
 */
export function textWidth(text, size) {
  let width = 0;
  for (const character of printable(text)) {
    width += WIDTH_OF.get(character) ?? (MARKS.test(character) ? 0 : WIDE.test(character) ? 1000 : 600);
  }
  return (width * size) / 1000;
}

/**
 * The middles of items of these sizes side by side, and the width of the row.
 * @param {number[]} sizes
 * @param {number} [gap]
 * @returns {{centers: number[], width: number}}
 */
export function rowOf(sizes, gap = GAP) {
  let edge = MARGIN;
  const centers = sizes.map((size) => {
    const center = edge + size / 2;
    edge += size + gap;
    return center;
  });
  return { centers, width: Math.max(edge - gap, MARGIN) + MARGIN };
}

/**
 * Escape text for XML and HTML, in content and in attributes.
 * @param {string} text
 */
export function escapedXml(text) {
  /** @type {Record<string, string>} */
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
  return printable(text).replace(/[&<>"']/g, (c) => names[c]);
}

/**
 * Escape the special characters of LaTeX.
 * @param {string} text
 */
export function latexText(text) {
  /** @type {Record<string, string>} */
  const names = TABLES.latex;
  return printable(text).replace(/[\\{}$&#%_^~<>|]/g, (c) => names[c]);
}

/**
 * A coordinate with at most two decimals.
 * @param {number} value
 */
export function coordinate(value) {
  return String(Math.round(value * 100) / 100);
}

/**
 * A probability in percent; a nonzero value is not shown as 0.
 * @param {number} weight
 */
export function percent(weight) {
  return weight > 0 && weight < 0.0005 ? "<0.1%" : `${(100 * weight).toFixed(1)}%`;
}
