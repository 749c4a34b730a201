// @ts-check
// Matchings and alignments: two rows of words with lines between them; marginals of alignments as a table.
import { cell, emptyCell, numbers } from "./cells.js";
import { faded, fitted, partsInUse } from "./layout.js";
import { MARGIN, SIZE, printable, rowOf, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 */

const CELL = { width: 40, height: 22, gap: 4 };
const ALL = 400; // in a larger table, only cells in use are drawn
const DOT = 3; // size of a word for which there is no room

/** @param {Data} data */
function columnsOf(data) {
  return data.other ?? numbers(data.shape[1]);
}

export const links = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const parts = partsInUse(marginals, view);
    if (data.family === "alignment" || data.family === "monotone") return tableOf(data, parts, marginals);
    const widest = Math.max(...sidesOf(data, SIZE).map((sizes) => rowOf(sizes).width));
    const width = Math.max(widest, Math.min(view.width, 1.7 * widest));
    return rowsOf(data, parts, marginals, SIZE, width, 104);
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {View} view
   * @returns {Panel}
   */
  card(data, structure, parts, view) {
    const rows = fitted(view, (size) => {
      const widths = sidesOf(data, size).map((sizes) => rowOf(sizes, 0.7 * size).width);
      return { size, width: Math.max(...widths) };
    });
    const fits = rows.width <= view.width;
    const [size, width] = fits ? [rows.size, rows.width] : [0, view.width];
    return faded(rowsOf(data, parts, null, size, width, 48), view);
  },

  /**
   * @param {Data} data
   * @param {number} part
   */
  name(data, part) {
    const [row, column] = [Math.floor(part / data.shape[1]), part % data.shape[1]];
    return `${printable(data.words[row])} – ${printable(columnsOf(data)[column])}`;
  },

  /** @param {Data} data */
  axes(data) {
    const sides = [data.words, columnsOf(data)].map((side) => side.map(printable));
    return [{ label: "row", names: sides[0] }, { label: "column", names: sides[1] }];
  },
};

/**
 * The widths of the words of both rows; size 0: drawn as dots.
 * @param {Data} data
 * @param {number} size
 */
function sidesOf(data, size) {
  return [data.words, columnsOf(data)].map((side) =>
    side.map((name) => (size ? Math.max(8, textWidth(name, size)) : DOT)),
  );
}

/**
 * The middles of words spread over a width; a single word is centred.
 * @param {number[]} sizes
 * @param {number} width
 */
function justified(sizes, width) {
  const { centers, width: own } = rowOf(sizes, 0);
  if (centers.length === 1) return [width / 2];
  return centers.map((x, i) => x + ((width - own) * i) / (centers.length - 1));
}

/**
 * Two rows of words, with a line per part. Words without a partner are faint.
 * @param {Data} data
 * @param {Iterable<number>} parts
 * @param {ArrayLike<number> | null} marginals
 * @param {number} size of words; 0: they are dots
 * @param {number} width
 * @param {number} apart from one row to the other
 * @returns {Panel}
 */
function rowsOf(data, parts, marginals, size, width, apart) {
  const places = sidesOf(data, size).map((sizes) => justified(sizes, width));
  const ys = [MARGIN + size, MARGIN + size + apart];
  const linked = [new Set(), new Set()];
  /** @type {Shape[]} */
  const shapes = [];
  for (const part of parts) {
    const pair = [Math.floor(part / data.shape[1]), part % data.shape[1]];
    if (!marginals || marginals[part] > 0) linked.forEach((side, k) => side.add(pair[k]));
    const points = [[places[0][pair[0]], ys[0] + 5], [places[1][pair[1]], ys[1] - size]];
    shapes.push({ type: "line", points, part, ...(marginals && { strength: marginals[part] }) });
  }
  for (const [k, side] of [data.words, columnsOf(data)].entries()) {
    for (const [i, text] of side.entries()) {
      const [x, y] = [places[k][i], ys[k]];
      const kind = linked[k].has(i) ? "plain" : "faint";
      if (size) shapes.push({ type: "text", x, y, text, size, kind });
      else shapes.push({ type: "box", x: x - DOT / 2, y, width: DOT, height: DOT, kind });
    }
  }
  return { width, height: ys[1] + 2 * MARGIN, shapes };
}

/**
 * A table with a cell per pair.
 * @param {Data} data
 * @param {number[]} parts
 * @param {ArrayLike<number>} marginals
 * @returns {Panel}
 */
function tableOf(data, parts, marginals) {
  const columns = columnsOf(data);
  const left = MARGIN + Math.max(...data.words.map((word) => textWidth(word, SIZE))) + 4;
  const { centers, width } = rowOf(columns.map((name) => Math.max(CELL.width, textWidth(name, SIZE))), 6);
  const [top, step] = [MARGIN + SIZE + 8, CELL.height + CELL.gap];
  const drawn = new Set(parts);
  const all = data.words.length * columns.length <= ALL;
  /** @type {Shape[]} */
  const shapes = columns.map((text, j) => ({ type: "text", x: left + centers[j], y: MARGIN + SIZE, text }));
  for (const [i, text] of data.words.entries()) {
    const y = top + step * i;
    const middle = y + CELL.height / 2;
    shapes.push({ type: "text", x: left - 4, y: middle + 0.36 * SIZE, text, anchor: "end" });
    for (const [j, x] of centers.entries()) {
      const part = i * columns.length + j;
      const box = { x: left + x - CELL.width / 2, y, width: CELL.width, height: CELL.height };
      if (drawn.has(part)) shapes.push(...cell(box, part, marginals[part]));
      else if (all) shapes.push(...emptyCell(data, left + x, middle, part));
    }
  }
  return { width: left + width, height: top + step * data.words.length + MARGIN, shapes };
}
