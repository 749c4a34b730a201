// @ts-check
// Binary trees: marginals as stacked spans, one tree as a tree of constituents.
import { cell, cellWidth, labelOf, numbers, spanOf } from "./cells.js";
import { faded, fitted, partsInUse, spreadRow, stack } from "./layout.js";
import { MARGIN, SIZE, printable, rowOf, textWidth } from "./text.js";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./types.js").View} View
 * @typedef {{first: number, last: number, label: number}} Span words first to last, both included
 * @typedef {Span & {part: number, left: number, right: number, height: number}} SpanNode
 *   left, right: indices of the children, -1 over a single word; height: 0 over a single word
 */

const STEP = { most: 22, least: 7, gap: 3 }; // distance from one span to the next
const HIGH = 480; // maximum height of spans, above which the distance shrinks
const INSET = 5; // how far the box of a span extends beyond its words
const BRANCH = { most: 14, least: 4, high: 130 }; // the same for trees in cards

/**
 * Whether spans have labels: scores are (n, n), or (n, n, L).
 * @param {Data} data
 */
function isLabelled(data) {
  return data.shape.length === 3;
}

/**
 * @param {Data} data
 * @param {number} part
 * @returns {Span}
 */
function readPart(data, part) {
  const [n, , labels = 1] = data.shape;
  const span = Math.floor(part / labels);
  return { first: Math.floor(span / n), last: span % n, label: part % labels };
}

/**
 * Empty if spans have no labels.
 * @param {Data} data
 * @param {Span} span
 */
function textOf(data, span) {
  return isLabelled(data) ? labelOf(data, span.label) : "";
}

export const brackets = {
  /**
   * @param {Data} data
   * @param {Float64Array} marginals
   * @param {View} view
   * @returns {Panel}
   */
  summary(data, marginals, view) {
    const labelled = isLabelled(data);
    const read = partsInUse(marginals, view).map((part) => ({ part, ...readPart(data, part), level: 0 }));
    const spans = read.filter(({ first, last }) => first <= last);
    spans.sort((a, b) => a.last - a.first - (b.last - b.first) || a.part - b.part); // short ones lie below
    const sizes = data.words.map((word) => Math.max(24, textWidth(word, SIZE)));
    for (const span of labelled ? spans : []) {
      const { first, last } = span;
      if (first === last) sizes[first] = Math.max(sizes[first], cellWidth([textOf(data, span)]) - 2 * INSET);
    }
    const { centers, width } = spreadRow(sizes, view.width - 2 * INSET, 14);
    const stacked = labelled ? spans : spans.filter(({ first, last }) => first < last);
    const levels = stack(stacked, data.words.length);
    const step = Math.max(STEP.least, Math.min(STEP.most, HIGH / Math.max(1, levels)));
    const ground = Math.max(HIGH, levels * step) + MARGIN;
    /** @type {Shape[]} */
    const shapes = [];
    for (const span of spans) {
      const { part, first, last, level } = span;
      const [x, strength] = [centers[first] - sizes[first] / 2, marginals[part]];
      const right = centers[last] + sizes[last] / 2 + 2 * INSET;
      const box = { x, width: right - x, y: ground - (level + 1) * step, height: step - STEP.gap };
      if (labelled || first < last) shapes.push(...cell(box, part, strength, labelled ? [textOf(data, span)] : []));
      else shapes.push(...wordShapes(data, part, box, ground));
    }
    const baseline = ground + SIZE + 2;
    if (labelled) {
      data.words.forEach((text, i) => shapes.push({ type: "text", x: centers[i] + INSET, y: baseline, text }));
    }
    const top = ground - levels * step - MARGIN;
    return { width: width + 2 * INSET, height: baseline + 2 * MARGIN, top, shapes };
  },

  /**
   * @param {Data} data
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {View} view
   * @returns {Panel}
   */
  card(data, structure, parts, view) {
    const nodes = nodesOf(data, parts);
    return faded(fitted(view, (size) => cardOf(data, nodes, size)), view);
  },

  /**
   * @param {Data} data
   * @param {number} part
   */
  name(data, part) {
    const span = readPart(data, part);
    const text = textOf(data, span);
    return spanOf(data, span.first, span.last) + (text && ` is ${text}`);
  },

  /** @param {Data} data */
  axes(data) {
    const words = data.words.map(printable);
    const labels = numbers(data.shape[2] ?? 0).map((_, label) => labelOf(data, label));
    const axes = [{ label: "first word", names: words }, { label: "last word", names: words }];
    return isLabelled(data) ? [...axes, { label: "label", names: labels }] : axes;
  },
};

/**
 * A word as a span: without labels it is in every tree, and drawn as its own box.
 * @param {Data} data
 * @param {number} part
 * @param {{x: number, width: number}} box
 * @param {number} top
 * @returns {Shape[]}
 */
function wordShapes(data, part, box, top) {
  const text = data.words[readPart(data, part).first];
  return [
    { type: "box", ...box, y: top, height: SIZE + 8, kind: "faint", part },
    { type: "text", x: box.x + box.width / 2, y: top + SIZE + 2, text, part },
  ];
}

/**
 * The spans of a tree, children before parents, the whole sentence last.
 * @param {Data} data
 * @param {Iterable<number>} parts
 */
function nodesOf(data, parts) {
  /** @type {SpanNode[]} */
  const nodes = [...parts].map((part) => ({ part, ...readPart(data, part), left: -1, right: -1, height: 0 }));
  nodes.sort((a, b) => a.last - a.first - (b.last - b.first) || a.first - b.first);
  /** @type {Map<number, number>} the longest node so far that starts at each word */
  const starting = new Map();
  /** @type {Map<number, number>} the longest node so far that ends at each word */
  const ending = new Map();
  for (const [i, node] of nodes.entries()) {
    if (node.first < node.last) {
      node.left = starting.get(node.first) ?? -1;
      node.right = ending.get(node.last) ?? -1;
      node.height = 1 + Math.max(nodes[node.left].height, nodes[node.right].height);
    }
    starting.set(node.first, i);
    ending.set(node.last, i);
  }
  return nodes;
}

/**
 * Centre each node between its children.
 * @param {SpanNode[]} nodes
 * @param {number[]} leaves
 */
function middlesOf(nodes, leaves) {
  /** @type {number[]} */
  const middles = [];
  for (const { first, left, right, height } of nodes) {
    middles.push(height ? (middles[left] + middles[right]) / 2 : leaves[first]);
  }
  return middles;
}

/**
 * The middle of each node, with room for its label between its children: nodes right of a split
 * move right to make room, which brings no other nodes closer.
 * @param {SpanNode[]} nodes
 * @param {number[]} leaves
 * @param {number[]} rooms
 */
function placesOf(nodes, leaves, rooms) {
  for (const [i, { left, right, height }] of nodes.entries()) {
    if (!height) continue;
    const middles = middlesOf(nodes, leaves);
    const missing = Math.max(0, rooms[i] - (middles[right] - middles[left]));
    for (let word = nodes[right].first; missing && word < leaves.length; word++) leaves[word] += missing;
  }
  return middlesOf(nodes, leaves);
}

/**
 * @param {Data} data
 * @param {SpanNode[]} nodes
 * @param {number} size of words
 * @returns {Panel}
 */
function cardOf(data, nodes, size) {
  const small = 0.8 * size;
  const names = nodes.map((node) => textOf(data, node));
  const widths = names.map((name) => textWidth(name, small));
  const sizes = data.words.map((word, i) => Math.max(textWidth(word, size), widths[i])); // words need at least their own width
  const leaves = rowOf(sizes, 0.7 * size).centers;
  const xs = placesOf(nodes, leaves, widths.map((width) => width + (width ? 10 : 0)));
  const levels = nodes[nodes.length - 1].height;
  const label = isLabelled(data) ? small + 4 : 0; // a label is on the line of its node
  const step = label + Math.max(BRANCH.least, Math.min(BRANCH.most, BRANCH.high / Math.max(1, levels)));
  const ground = MARGIN + label + step * levels;
  const ys = nodes.map(({ height }) => ground - step * height);
  /** @type {Shape[]} */
  const shapes = [];
  for (const [i, { part, left, right, height, first }] of nodes.entries()) {
    const [x, y] = [xs[i], ys[i]];
    if (height) {
      const [a, b] = [[xs[left], ys[left] - label], [xs[right], ys[right] - label]];
      shapes.push({ type: "line", points: [a, [a[0], y], [b[0], y], b], part });
    } else {
      const own = label ? {} : { part };
      shapes.push({ type: "text", x, y: ground + size + 1, text: data.words[first], size, kind: "plain", ...own });
    }
    if (label) shapes.push({ type: "text", x, y: y - 3, text: names[i], size: small, part });
  }
  const last = data.words.length - 1;
  return { width: xs[last] + sizes[last] / 2 + MARGIN, height: ground + size + 2 * MARGIN, shapes };
}
