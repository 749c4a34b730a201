// @ts-check
// Dependency trees, with or without labels: arcs above the words.
//
// The path of an arc depends only on its two words, not on other arcs, so arcs do not move while a
// posterior changes.
import { MARGIN, SIZE, printable, rowOf, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./shapes.js").Kind} Kind
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 * @typedef {{centers: number[], rooms: number[], width: number, size: number,
 *   look: "words" | "upright" | "dots"}} Row
 *   layout of the words: their middles, the room for legs around each, the font size
 * @typedef {{head: number, dependent: number, label: number}} Arc
 *   words counted from 0, head -1 for the root; label -1 where there are none
 */

const CELL = 18; // minimum width of a word
const SMALLEST = 9; // minimum font size of words in cards
const UPRIGHT = 9.5; // minimum distance of upright words in cards; closer words are drawn as dots
const LONGEST = 14; // maximum characters of upright words
const ROOT = 30; // height of the arrow from the root
const LABEL = 11; // font size of labels

/**
 * @param {Data} data
 * @param {number} part
 * @returns {Arc}
 */
function arcOf(data, part) {
  const labels = data.shape.length === 3 ? data.shape[2] : 1;
  const [cell, label] = [Math.floor(part / labels), part % labels];
  const [row, column] = [Math.floor(cell / data.shape[1]), cell % data.shape[1]];
  return { head: column - 1, dependent: row, label: labels > 1 || data.labels ? label : -1 };
}

/**
 * Words spread over the width of the view. If they do not fit, they move closer and get smaller;
 * then they are turned upright in a card, or become dots there, and elsewhere the picture gets
 * wider.
 * @param {Data} data
 * @param {View} view
 * @returns {Row}
 */
function placed(data, view) {
  const [largest, smallest, far] = view.small ? [13, SMALLEST, 8] : [SIZE, 13, 34];
  const longest = Math.max(0, ...(data.labels ?? []).map((label) => textWidth(label, 0.75)));
  const labels = Math.min(3, longest); // a word has the width of its label, in font sizes
  for (let size = largest; size >= smallest; size -= 1) {
    const least = Math.max((CELL * size) / SIZE, labels * size);
    const sizes = data.words.map((word) => Math.max(least, textWidth(word, size)));
    const gap = 0.55 * size;
    const { width } = rowOf(sizes, gap);
    if (width > view.width && (view.small ? data.words.length > 1 : size > smallest)) continue;
    const spare = Math.max(0, view.width - width) / Math.max(1, sizes.length - 1);
    const row = rowOf(sizes, gap + Math.min(spare, far));
    return { ...row, rooms: sizes.map((room) => Math.min(room / 2, 24)), size, look: "words" };
  }
  const apart = (/** @type {number} */ size) =>
    (view.width - 2 * MARGIN - size) / Math.max(1, data.words.length - 1);
  const size = Math.min(11, Math.floor(apart(SMALLEST)));
  if (apart(SMALLEST) >= UPRIGHT) {
    const row = rowOf(data.words.map(() => size), apart(size) - size);
    return { ...row, rooms: data.words.map(() => apart(size) / 2), size, look: "upright" };
  }
  const step = Math.max(4, apart(4));
  const row = rowOf(data.words.map(() => 4), step - 4);
  return { ...row, rooms: data.words.map(() => Math.min(step / 3, 5)), size: SMALLEST, look: "dots" };
}

/**
 * The height of an arc over this many words; labels need room for a line of text.
 * @param {Data} data
 * @param {number} words
 * @param {View} view
 */
function heightOf(data, words, view) {
  if (data.labels) return view.small ? 16 + 25 * Math.log2(words) : 26 + 34 * Math.log2(words);
  return view.small ? 7 + 11 * Math.sqrt(words) : 10 + 34 * Math.sqrt(words);
}

/**
 * The x of a leg relative to the middle of its word: short arcs are outside of long ones.
 * @param {number} room
 * @param {number} words
 */
function legOf(room, words) {
  return room * (0.22 + 0.68 / words);
}

/**
 * @param {Data} data
 * @param {Arc} arc
 * @param {Row} row
 * @param {View} view
 * @param {number} rank of several arcs between the same two words, from 0
 * @returns {{points: number[][], top: number}} y is the height above the tips of the arrows
 */
function curveOf(data, arc, row, view, rank) {
  const center = row.centers[arc.dependent];
  if (arc.head < 0) {
    const above = data.labels ? heightOf(data, 1, view) + 6 : 0; // labels of short arcs
    const y = Math.max(view.small ? ROOT / 2 : ROOT, above) + rank * (LABEL + 2);
    return { points: [[center, y], [center, 0]], top: y + 5 };
  }
  const words = Math.abs(arc.head - arc.dependent);
  const side = Math.sign(arc.dependent - arc.head);
  // Of the two arcs between two words, the arc to the left encloses the arc to the right.
  const outside = side < 0 ? (view.small ? 1 : 2.5) : 0;
  const height = heightOf(data, words, view) + 2 * outside + rank * (LABEL + 2);
  const start = row.centers[arc.head] + side * (legOf(row.rooms[arc.head], words) - outside);
  const end = center - side * (legOf(row.rooms[arc.dependent], words) - outside);
  const control = (height * 4) / 3; // a Bézier curve reaches three quarters of its controls
  return { points: [[start, 0], [start, control], [end, control], [end, 0]], top: height };
}

/**
 * Whether an arc agrees with the given tree; "plain" if none is given.
 * @param {Data} data
 * @param {Arc} arc
 * @returns {Kind}
 */
function kindOf(data, arc) {
  if (!data.given) return "plain";
  const labelled = data.shape.length === 3;
  const head = data.given[labelled ? 2 * arc.dependent : arc.dependent];
  if (head < 0) return "plain";
  const same = head === arc.head + 1 && (!labelled || data.given[2 * arc.dependent + 1] === arc.label);
  return same ? "agree" : "differ";
}

/**
 * @param {Data} data
 * @param {number[]} parts
 * @param {((part: number) => number) | null} strength
 * @param {View} view
 * @returns {Panel}
 */
function drawn(data, parts, strength, view) {
  const row = placed(data, view);
  const full = heightOf(data, Math.max(1, data.words.length - 1), view) + 6;
  /** @type {Map<string, number>} */
  const ranks = new Map();
  const curves = parts.map((part) => {
    const arc = arcOf(data, part);
    const between = [arc.head, arc.dependent].sort((a, b) => a - b).join(" ");
    const rank = data.labels ? (ranks.get(between) ?? 0) : 0; // each label needs a line
    ranks.set(between, rank + 1);
    return { part, arc, ...curveOf(data, arc, row, view, rank) };
  });
  const label = data.labels && row.look === "words" ? LABEL : 0;
  const used = Math.max(view.small ? 12 : ROOT, ...curves.map((curve) => curve.top + label));
  const ground = Math.max(full, used) + MARGIN;
  /** @type {Shape[]} */
  const shapes = [];
  for (const { part, arc, points, top } of curves) {
    let kind = kindOf(data, arc);
    if (kind === "plain" && view.certain?.has(part)) kind = "faint";
    const shared = { part, kind, ...(strength ? { strength: strength(part) } : {}) };
    shapes.push({
      type: "line", points: points.map(([x, y]) => [x, ground - y]), curve: arc.head >= 0,
      arrow: true, dot: arc.head < 0, head: row.look === "dots" ? 4 : view.small ? 5.5 : 6.5,
      title: arcs.name(data, part), ...shared,
    });
    if (label && data.labels && arc.label >= 0) {
      const x = (points[0][0] + points[points.length - 1][0]) / 2;
      shapes.push({
        type: "text", x, y: ground - top - 3, text: data.labels[arc.label],
        size: view.small ? SMALLEST : LABEL, ...shared,
      });
    }
  }
  data.words.forEach((text, i) => {
    const x = row.centers[i];
    if (row.look === "dots") shapes.push({ type: "line", points: [[x - 1.5, ground + 4], [x + 1.5, ground + 4]] });
    else if (row.look === "words") shapes.push({ type: "text", x, y: ground + row.size + 1, text, size: row.size });
    else {
      // Text stands on its baseline, a third of the font size beside its middle.
      const at = { x: x - row.size / 3, y: ground + MARGIN };
      shapes.push({ type: "text", ...at, text: cut(text), size: row.size, anchor: "start", upright: true });
    }
  });
  const long = Math.max(0, ...data.words.map((text) => textWidth(cut(text), row.size)));
  const foot = { dots: 8, words: 2 * MARGIN + 1 + row.size, upright: 2 * MARGIN + long }[row.look];
  return { width: row.width, height: ground + foot, top: ground - used - MARGIN, shapes };
}

/** A word, or the start of a long one. @param {string} word */
function cut(word) {
  const characters = [...printable(word)];
  return characters.length <= LONGEST ? word : `${characters.slice(0, LONGEST - 1).join("")}…`;
}

export const arcs = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   */
  summary(data, marginals, view) {
    const also = new Set(view.also ?? []);
    const parts = [];
    for (let part = 0; part < marginals.length; part++) {
      if (marginals[part] > 0 || also.has(part)) parts.push(part);
    }
    return drawn(data, parts, (part) => Math.min(1, marginals[part]), view);
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {View} view
   */
  card(data, structure, parts, view) {
    return drawn(data, [...parts], null, { ...view, small: true });
  },

  /**
   * @param {Data} data
   * @param {number} part
   */
  name(data, part) {
    const { head, dependent, label } = arcOf(data, part);
    const named = label >= 0 && data.labels ? ` (${printable(data.labels[label])})` : "";
    const from = head < 0 ? "root" : printable(data.words[head]);
    return `${from} → ${printable(data.words[dependent])}${named}`;
  },

  /**
   * Names of the indices of a part: one list per dimension of the scores.
   * @param {Data} data
   */
  axes(data) {
    const words = data.words.map(printable);
    const labels = data.labels ? [{ label: "label", names: data.labels.map(printable) }] : [];
    return [{ label: "word", names: words }, { label: "head", names: ["root", ...words] }, ...labels];
  },

  /**
   * The lines of a tree in CoNLL-U, without comments about its weight.
   * @param {Data} data
   * @param {Int32Array} structure heads, or heads and labels
   */
  conllu(data, structure) {
    const forms = data.words.map(columnOf);
    const labelled = data.shape.length === 3;
    const at = (/** @type {ArrayLike<number>} */ tree, /** @type {number} */ i) => tree[labelled ? 2 * i : i];
    const lines = [`# text = ${forms.join(" ")}`];
    const kinds = forms.map((_, dependent) => {
      const label = labelled ? structure[2 * dependent + 1] : -1;
      return kindOf(data, { head: at(structure, dependent) - 1, dependent, label });
    });
    if (data.given) {
      const agree = kinds.filter((kind) => kind === "agree").length;
      lines.push(`# agreement = ${agree}/${kinds.filter((kind) => kind !== "plain").length}`);
    }
    const name = (/** @type {number} */ label) => columnOf(data.labels?.[label] ?? String(label));
    forms.forEach((form, i) => {
      const head = at(structure, i);
      const relation = labelled ? name(structure[2 * i + 1]) : head === 0 ? "root" : "dep";
      let misc = "_";
      if (kinds[i] === "differ" && data.given) {
        misc = `GivenHead=${at(data.given, i)}`;
        if (labelled) misc += `|GivenDeprel=${name(data.given[2 * i + 1]).replaceAll("|", "·")}`;
      }
      lines.push(`${i + 1}\t${form}\t_\t_\t_\t_\t${head}\t${relation}\t_\t${misc}`);
    });
    return lines.join("\n");
  },
};

/**
 * A word as one column: white space becomes single spaces, an empty word `_`.
 * @param {string} word
 */
function columnOf(word) {
  const spaces = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
  return printable(word.replace(spaces, " ").trim()) || "_";
}
