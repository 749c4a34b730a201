// @ts-check
// Taggings of linear chains: marginals as a lattice of words and tags, one tagging as tags above words.
import { cell, emptyCell, labelOf, numbers } from "./cells.js";
import { faded, fittedLines, flow, partsInUse, spreadRow } from "./layout.js";
import { MARGIN, SIZE, SMALL, printable, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 */

const ROW = 27; // distance between two tags of the lattice
const NODE = { width: 40, height: 19 };
const APART = { least: 16, more: 44 }; // between two words, for the transitions
const ALL = 240; // in a larger lattice, only parts in use are drawn

/**
 * The part of tag k at word t. Scores are (T, K, 1 + K): a tag, then the transitions to it.
 * @param {Data} data
 * @param {number} t
 * @param {number} k
 */
function tagPart(data, t, k) {
  return (t * data.shape[1] + k) * data.shape[2];
}

/**
 * @param {Data} data
 * @param {number} part
 * @returns {{t: number, k: number, from: number | null}} from: the previous tag; null for a tag itself
 */
function readPart(data, part) {
  const [, count, options] = data.shape;
  const [state, option] = [Math.floor(part / options), part % options];
  return { t: Math.floor(state / count), k: state % count, from: option > 0 ? option - 1 : null };
}

/**
 * The tags that have a row in the lattice.
 * @param {Data} data
 * @param {number[]} parts
 */
function rowsOf(data, parts) {
  if (data.words.length * data.shape[1] <= ALL) return [...Array(data.shape[1]).keys()];
  const used = new Set(parts.flatMap((part) => {
    const { k, from } = readPart(data, part);
    return from === null ? [k] : [k, from];
  }));
  return [...used].sort((a, b) => a - b);
}

export const tags = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const parts = partsInUse(marginals, view);
    const rows = rowsOf(data, parts);
    const left = Math.max(...rows.map((k) => textWidth(labelOf(data, k), SMALL))) + 10;
    const sizes = data.words.map((word) => Math.max(textWidth(word, SIZE), NODE.width));
    const { centers, width } = spreadRow(sizes, view.width - left, APART.least, APART.more);
    const xs = centers.map((x) => x + left);
    const ys = new Map(rows.map((k, row) => [k, MARGIN + ROW * (row + 0.5)]));
    const yOf = (/** @type {number} */ k) => /** @type {number} */ (ys.get(k));
    /** @type {Shape[]} */
    const shapes = rows.map((k) => ({
      type: "text", x: left - 6, y: yOf(k) + 0.36 * SMALL, text: labelOf(data, k), size: SMALL, anchor: "end",
    }));
    for (const part of parts) {
      const [{ t, k, from }, strength] = [readPart(data, part), marginals[part]];
      const [x, y] = [xs[t] - NODE.width / 2, yOf(k)];
      if (from === null) shapes.push(...cell({ x, y: y - NODE.height / 2, ...NODE }, part, strength));
      else if (t > 0) {
        const points = [[xs[t - 1] + NODE.width / 2, yOf(from)], [x, y]];
        shapes.push({ type: "line", points, part, strength });
      }
    }
    if (rows.length === data.shape[1]) shapes.push(...unused(data, new Set(parts), xs, yOf));
    const ground = MARGIN + ROW * rows.length + SIZE;
    data.words.forEach((text, t) => shapes.push({ type: "text", x: xs[t], y: ground, text }));
    return { width: left + width, height: ground + MARGIN + 3, shapes };
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure the tag of each word
   * @param {Int32Array} parts
   * @param {View} view
   * @returns {Panel}
   */
  card(data, structure, parts, view) {
    return faded(fittedLines(view, (size, room) => cardOf(data, structure, size, room)), view);
  },

  /**
   * @param {Data} data
   * @param {number} part
   */
  name(data, part) {
    const { t, k, from } = readPart(data, part);
    const [word, tag] = [printable(data.words[t]), labelOf(data, k)];
    return from === null ? `${word} is ${tag}` : `${labelOf(data, from)} → ${tag} before ${word}`;
  },

  /** @param {Data} data */
  axes(data) {
    const labels = numbers(data.shape[1]).map((_, k) => labelOf(data, k));
    return [
      { label: "word", names: data.words.map(printable) },
      { label: "tag", names: labels },
      { label: "step", names: ["the tag itself", ...labels.map((label) => `after ${label}`)] },
    ];
  },
};

/**
 * A dot for each tag of a word that no tagging uses.
 * @param {Data} data
 * @param {Set<number>} drawn
 * @param {number[]} xs
 * @param {(k: number) => number} yOf
 */
function unused(data, drawn, xs, yOf) {
  /** @type {Shape[]} */
  const shapes = [];
  for (const [t, x] of xs.entries()) {
    for (let k = 0; k < data.shape[1]; k++) {
      const part = tagPart(data, t, k);
      if (!drawn.has(part)) shapes.push(...emptyCell(data, x, yOf(k), part));
    }
  }
  return shapes;
}

/**
 * @param {Data} data
 * @param {ArrayLike<number>} structure
 * @param {number} size of words
 * @param {number} room
 * @returns {Panel}
 */
function cardOf(data, structure, size, room) {
  const small = 0.8 * size;
  const names = data.words.map((_, t) => labelOf(data, structure[t]));
  const boxes = names.map((name) => textWidth(name, small) + 0.8 * size);
  const sizes = data.words.map((word, t) => Math.max(textWidth(word, size), boxes[t]));
  const { places, lines, width } = flow(sizes, room, 0.8 * size);
  const height = small + 7; // of a box
  const step = height + 2 * size + 3; // from one line to the next
  /** @type {Shape[]} */
  const shapes = [];
  for (const [t, { x, line }] of places.entries()) {
    const part = tagPart(data, t, structure[t]);
    const top = MARGIN + step * line;
    const middle = top + height / 2;
    const compared = data.given !== null && data.given[t] >= 0;
    const kind = !compared ? undefined : data.given?.[t] === structure[t] ? "agree" : "differ";
    if (t > 0) {
      const before = places[t - 1].line === line ? places[t - 1].x + boxes[t - 1] / 2 : 0; // a new line begins
      const points = [[before, middle], [x - boxes[t] / 2, middle]];
      shapes.push({ type: "line", points, kind: "faint", part: part + 1 + structure[t - 1] });
    }
    shapes.push({ type: "box", x: x - boxes[t] / 2, y: top, width: boxes[t], height, kind, part });
    shapes.push({ type: "text", x, y: middle + 0.36 * small, text: names[t], size: small, kind, part });
    shapes.push({ type: "text", x, y: top + height + size + 3, text: data.words[t], size });
  }
  return { width, height: MARGIN + step * lines - size + 2 * MARGIN, shapes };
}
