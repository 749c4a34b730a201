// @ts-check
// Choices and sets of items: a bar shows the marginal of each item; in a set, chosen items are shaded.
import { share } from "./cells.js";
import { flow, partsInUse } from "./layout.js";
import { MARGIN, SIZE, printable, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 */

const BAR = 5; // its height
const SHARE = 11; // font size of a probability
const LEAST = 42; // minimum width of an item
const ALL = { summary: 120, card: 40 }; // with more items, only those in use are drawn
const SMALL_SIZE = 12; // font size of items in a card

/**
 * The positions of the items, row by row.
 * @param {Data} data
 * @param {number[]} shown
 * @param {number} room the width of a row
 * @param {number} size of their names
 * @param {number} least width of an item
 */
function placesOf(data, shown, room, size, least) {
  const sizes = shown.map((item) => Math.max(least, textWidth(data.words[item], size) + size));
  const { places, lines, width } = flow(sizes, room, 0.5 * size);
  const middles = places.map(({ x, line }, i) => ({ item: shown[i], x, line, width: sizes[i] }));
  return { places: middles, lines, width };
}

/**
 * Add a line with the number of items that are drawn.
 * @param {Panel} panel
 * @param {number} drawn
 * @param {number} count
 * @returns {Panel}
 */
function counted({ shapes, width, height }, drawn, count) {
  const text = `${drawn} of ${count} items`;
  const right = 2 * MARGIN + textWidth(text, SMALL_SIZE);
  const line = { type: /** @type {const} */ ("text"), x: right / 2, y: height + SMALL_SIZE, text, size: SMALL_SIZE };
  return { shapes: [...shapes, line], width: Math.max(width, right), height: height + SMALL_SIZE + 2 * MARGIN };
}

export const items = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const count = data.words.length;
    const shown = count <= ALL.summary ? [...data.words.keys()] : partsInUse(marginals, view);
    const height = SIZE + 10; // of a box
    const step = height + BAR + SHARE + 20; // from one row to the next
    const { places, lines, width } = placesOf(data, shown, view.width, SIZE, LEAST);
    /** @type {Shape[]} */
    const shapes = [];
    for (const { item: part, x, line, width: wide } of places) {
      const [left, y, strength] = [x - wide / 2, MARGIN + step * line, marginals[part]];
      const track = { x: left, y: y + height + 4, height: BAR };
      const kind = strength > 0 ? "plain" : "faint";
      const name = { x, y: y + height / 2 + 0.36 * SIZE, text: data.words[part] };
      const below = { x, y: y + height + BAR + SHARE + 6, text: share(strength), size: SHARE };
      shapes.push(
        { type: "box", x: left, y, width: wide, height, kind, part, strength },
        { type: "text", ...name, kind, part },
        { type: "box", ...track, width: wide, kind: "faint", part, strength: 0 },
        { type: "text", ...below, kind, part },
      );
      if (strength > 0) shapes.push({ type: "box", ...track, width: wide * Math.min(1, strength), part, strength: 1 });
    }
    const panel = { width, height: MARGIN + step * lines, shapes };
    return shown.length < count ? counted(panel, shown.length, count) : panel;
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {View} view
   * @returns {Panel}
   */
  card(data, structure, parts, view) {
    const [chosen, count, size] = [new Set(parts), data.words.length, SMALL_SIZE];
    const shown = count <= ALL.card ? [...data.words.keys()] : [...parts];
    const height = size + 8;
    const { places, lines, width } = placesOf(data, shown, view.width, size, 0);
    /** @type {Shape[]} */
    const shapes = [];
    for (const { item, x, line, width: wide } of places) {
      const [y, on] = [MARGIN + (height + 5) * line, chosen.has(item)];
      const look = on ? { part: item } : { kind: /** @type {const} */ ("faint") };
      shapes.push(
        { type: "box", x: x - wide / 2, y, width: wide, height, shaded: on, ...look },
        { type: "text", x, y: y + height / 2 + 0.36 * size, text: data.words[item], size, ...look },
      );
    }
    const panel = { width, height: MARGIN + (height + 5) * lines, shapes };
    return shown.length < count ? counted(panel, chosen.size, count) : panel;
  },

  /**
   * @param {Data} data
   * @param {number} part
   */
  name(data, part) {
    return printable(data.words[part]);
  },

  /** @param {Data} data */
  axes(data) {
    return [{ label: "item", names: data.words.map(printable) }];
  },
};
