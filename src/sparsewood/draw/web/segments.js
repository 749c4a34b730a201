// @ts-check
// Segmentations: marginals as boxes over the words, one segmentation as braces over its segments.
import { cell, cellWidth, labelOf, numbers, spanOf } from "./cells.js";
import { faded, fittedLines, flow, partsInUse, spreadRow, stack } from "./layout.js";
import { MARGIN, SIZE, printable, rowOf, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 * @typedef {{first: number, last: number, level: number, part: number, label: string[]}} Piece
 */

const BOX = { height: 19, step: 23, inset: 5 }; // inset: how far a box extends beyond its words
const STEP = { height: 15, step: 18 }; // boxes of transitions between labels
const APART = 16; // between two words
const HIGH = 20; // maximum number of stacked boxes
const FEET = 7; // height of a brace

/**
 * The meaning of a part. Scores are (T, K, D + K): for each word and label, first the lengths of a
 * segment starting there, then the labels of the previous segment.
 * @param {Data} data
 * @param {number} part
 */
function readPart(data, part) {
  const [, labels, options] = data.shape;
  const [place, option] = [Math.floor(part / options), part % options];
  const [first, label] = [Math.floor(place / labels), place % labels];
  const from = option - (options - labels);
  return { first, last: first + option, label, from: from >= 0 ? from : null };
}

/**
 * Empty if there is a single label without a name.
 * @param {Data} data
 * @param {number} label
 */
function textOf(data, label) {
  return data.shape[1] > 1 || labelOf(data, 0) !== "0" ? labelOf(data, label) : "";
}

/**
 * The label in pieces; empty if there is none.
 * @param {Data} data
 * @param {number} label
 * @param {number} [from] of a step
 */
function labelled(data, label, from) {
  if (!textOf(data, label)) return [];
  return from === undefined ? [textOf(data, label)] : [textOf(data, from), "→", textOf(data, label)];
}

export const segments = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const { pieces, steps } = piecesOf(data, partsInUse(marginals, view));
    const sizes = data.words.map((word) => Math.max(textWidth(word, SIZE), 12));
    for (const { first, last, label } of pieces) { // room for the label of a segment of one word
      if (first === last) sizes[first] = Math.max(sizes[first], cellWidth(label) - 2 * BOX.inset);
    }
    const { centers, width } = spreadRow(sizes, view.width - 2 * BOX.inset, APART);
    const xs = centers.map((x) => x + BOX.inset);
    const levels = stack(pieces, data.words.length);
    const ground = Math.max(HIGH, levels) * BOX.step + MARGIN;
    /** @type {Shape[]} */
    const shapes = [];
    for (const { first, last, level, part, label } of pieces) {
      const x = xs[first] - sizes[first] / 2 - BOX.inset;
      const right = xs[last] + sizes[last] / 2 + BOX.inset;
      const box = { x, y: ground - (level + 1) * BOX.step, width: right - x, height: BOX.height };
      shapes.push(...cell(box, part, marginals[part], label));
    }
    const baseline = ground + SIZE;
    data.words.forEach((text, t) => shapes.push({ type: "text", x: xs[t], y: baseline, text }));
    const cuts = xs.map((x, t) => (t === 0 ? x : (xs[t - 1] + sizes[t - 1] / 2 + x - sizes[t] / 2) / 2));
    const below = stepShapes(steps, cuts, marginals, baseline + 11);
    shapes.push(...below.shapes);
    const right = Math.max(width + 2 * BOX.inset, below.right + MARGIN);
    const top = ground - levels * BOX.step - MARGIN;
    return { width: right, height: below.bottom + MARGIN, top, shapes };
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure (length, label) of each word; length 0 inside a segment
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
    const { first, last, label, from } = readPart(data, part);
    if (from !== null) return `${labelled(data, label, from).join(" ") || "cut"} before ${printable(data.words[first])}`;
    const text = textOf(data, label);
    return spanOf(data, first, last) + (text && ` is ${text}`);
  },

  /** @param {Data} data */
  axes(data) {
    const [, count, options] = data.shape;
    const labels = numbers(count).map((_, k) => labelOf(data, k));
    const lengths = numbers(options - count, 1).map((length) => `${length} word${length === "1" ? "" : "s"}`);
    return [
      { label: "first word", names: data.words.map(printable) },
      { label: "label", names: labels },
      { label: "length", names: [...lengths, ...labels.map((label) => `after ${label}`)] },
    ];
  },
};

/**
 * The segments, short ones first, and the transitions between them, in the order of their parts.
 * @param {Data} data
 * @param {number[]} parts
 */
function piecesOf(data, parts) {
  /** @type {Piece[]} */
  const pieces = [];
  /** @type {Piece[]} */
  const steps = [];
  for (const part of parts) {
    const { first, last, label, from } = readPart(data, part);
    if (from !== null && first > 0) {
      steps.push({ first, last: first, level: 0, part, label: labelled(data, label, from) });
    } else if (from === null && last < data.words.length) {
      pieces.push({ first, last, level: 0, part, label: labelled(data, label) });
    }
  }
  pieces.sort((a, b) => a.last - a.first - (b.last - b.first) || a.part - b.part);
  return { pieces, steps };
}

/**
 * Place transitions below their cuts, on several lines if they would overlap.
 * @param {Piece[]} steps
 * @param {number[]} cuts where the cut before each word is
 * @param {ArrayLike<number>} marginals
 * @param {number} top
 */
function stepShapes(steps, cuts, marginals, top) {
  /** @type {Shape[]} */
  const shapes = [];
  /** @type {number[]} the right end of each line */
  const taken = [];
  for (const { first, part, label } of steps) {
    const width = cellWidth(label);
    const x = Math.max(MARGIN, cuts[first] - width / 2);
    const free = taken.findIndex((edge) => edge + 4 < x);
    const line = free < 0 ? taken.length : free;
    taken[line] = x + width;
    const box = { x, y: top + line * STEP.step, width, height: STEP.height };
    shapes.push(...cell(box, part, marginals[part], label));
  }
  return { shapes, right: Math.max(0, ...taken), bottom: top + taken.length * STEP.step };
}

/**
 * @param {Data} data
 * @param {ArrayLike<number>} structure
 * @param {number} size of words
 * @param {number} room
 * @returns {Panel}
 */
function cardOf(data, structure, size, room) {
  const [, labels, options] = data.shape;
  const small = 0.8 * size;
  const starts = [...data.words.keys()].filter((t) => structure[2 * t] > 0);
  const pieces = starts.map((first) => {
    const [length, label] = [structure[2 * first], structure[2 * first + 1]];
    const words = rowOf(data.words.slice(first, first + length).map((word) => textWidth(word, size)), 0.6 * size);
    const [text, own] = [textOf(data, label), words.width - 2 * MARGIN];
    return { first, length, label, words, text, own, width: Math.max(own, textWidth(text, small) + 4) };
  });
  const { places, lines, width } = flow(pieces.map((piece) => piece.width), room, 1.4 * size);
  const head = textOf(data, 0) ? small + 4 : 0; // room for labels
  const step = head + FEET + 2 * size;
  /** @type {Shape[]} */
  const shapes = [];
  for (const [i, { first, length, label, words, text, own, width: wide }] of pieces.entries()) {
    const { x, line } = places[i];
    const top = MARGIN + head + step * line;
    const place = (first * labels + label) * options;
    if (i > 0) {
      const before = places[i - 1].line === line ? places[i - 1].x + pieces[i - 1].width / 2 + 4 : 0;
      const points = [[before, top], [Math.max(before, x - wide / 2 - 4), top]];
      const part = place + options - labels + pieces[i - 1].label;
      shapes.push({ type: "line", points, kind: "faint", part });
    }
    const [left, right, part] = [x - wide / 2, x + wide / 2, place + length - 1];
    const points = [[left, top + FEET], [left, top], [right, top], [right, top + FEET]];
    shapes.push({ type: "line", points, part });
    if (text) shapes.push({ type: "text", x, y: top - 4, text, size: small, part });
    words.centers.forEach((center, k) => {
      const at = { x: x - own / 2 - MARGIN + center, y: top + FEET + size };
      shapes.push({ type: "text", ...at, text: data.words[first + k], size });
    });
  }
  return { width, height: MARGIN + step * lines - size + 2 * MARGIN + 4, shapes };
}
