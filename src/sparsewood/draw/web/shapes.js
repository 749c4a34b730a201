// @ts-check
// The shapes of pictures, their SVG elements, and panels of shapes as SVG text.
import { TABLES } from "./tables.js";
import { FONT, SIZE, coordinate, escapedXml, printable, textWidth } from "./text.js";

/**
 * @typedef {"plain" | "faint" | "agree" | "differ"} Kind
 * @typedef {{type: "line", points: number[][], curve?: boolean, arrow?: boolean, head?: number,
 *   dot?: boolean, kind?: Kind, part?: number, strength?: number, title?: string}} LineShape
 *   through its points, with rounded corners; a curve is a Bézier curve of four points (start, two
 *   controls, end); head: size of the arrowhead
 * @typedef {{type: "box", x: number, y: number, width: number, height: number, shaded?: boolean,
 *   kind?: Kind, part?: number, strength?: number, title?: string}} BoxShape
 * @typedef {{type: "text", x: number, y: number, text: string, size?: number, kind?: Kind,
 *   part?: number, strength?: number, anchor?: "start" | "middle" | "end", upright?: boolean}} TextShape
 *   upright: read from top to bottom
 * @typedef {LineShape | BoxShape | TextShape} Shape
 * @typedef {{width: number, height: number, top?: number, shapes: Shape[]}} Panel
 *   top: y of the topmost shape, if the panel has room above it (default 0)
 * @typedef {{tag: string, attributes: Record<string, string | number>, text?: string}} Node
 */

// Blue and orange, distinguishable for colour-blind readers and readable on white and black.
/** @type {Record<Kind, string>} */
export const COLOURS = TABLES.colours;
const FAINT = TABLES.faint;
const ARROW = TABLES.arrow;
const RADIUS = TABLES.radius;
const HIT = 15; // minimum width in pixels that receives pointer events

/**
 * The shapes of each part, in the order of their indices, and the remaining shapes.
 * @param {Panel} panel
 * @returns {{parts: Map<number, Shape[]>, rest: Shape[]}}
 */
export function byPart(panel) {
  /** @type {Map<number, Shape[]>} */
  const found = new Map();
  const rest = [];
  for (const shape of panel.shapes) {
    if (shape.part === undefined) rest.push(shape);
    else found.set(shape.part, [...(found.get(shape.part) ?? []), shape]);
  }
  return { parts: new Map([...found].sort((a, b) => a[0] - b[0])), rest };
}

/**
 * Attributes of the group of a part that show its strength. Boxes show strength by their fill
 * instead, so that text in them stays readable.
 * @param {Shape[]} shapes
 * @returns {Record<string, string>}
 */
export function strengthAttributes(shapes) {
  const { strength } = shapes[0];
  if (strength === undefined) return { "stroke-width": "1.5", opacity: "1" };
  if (shapes.some((shape) => shape.type === "box")) return { "stroke-width": "1", opacity: "1" };
  return {
    "stroke-width": coordinate(0.75 + 3.25 * strength),
    "stroke-dasharray": strength === 0 ? "2 3" : "none", // shown, but in no structure
    opacity: coordinate(0.22 + 0.78 * strength),
  };
}

/**
 * The elements that draw a shape.
 * @param {Shape} shape
 * @returns {Node[]}
 */
export function shapeNodes(shape) {
  const kind = shape.kind ?? "plain";
  const colour = COLOURS[kind];
  /** @type {Record<string, string | number>} */
  const faint = kind === "faint" ? { opacity: FAINT } : {};
  if (shape.type === "text") return textNodes(shape, colour, faint);
  /** @type {Record<string, string | number>} */
  const dashed = kind === "differ" ? { "stroke-dasharray": "5 3" } : {};
  if (shape.type === "line") return lineNodes(shape, colour, faint, dashed);
  const { fill, border } = shadeOf(shape);
  return [{
    tag: "rect",
    attributes: {
      x: coordinate(shape.x), y: coordinate(shape.y), rx: 4, width: coordinate(shape.width),
      height: coordinate(shape.height), stroke: colour, fill: fill ? colour : "none",
      "fill-opacity": coordinate(fill), "stroke-opacity": coordinate(border), ...dashed, ...faint,
    },
  }];
}

/**
 * The opacities of the inside of a box and of its border.
 * @param {BoxShape} shape
 */
export function shadeOf({ strength, shaded }) {
  if (strength === undefined) return { fill: shaded ? 0.15 : 0, border: 1 };
  return { fill: 0.04 + 0.36 * strength, border: 0.3 + 0.7 * strength };
}

/**
 * The elements that receive pointer events for a shape; none for texts.
 * @param {Shape} shape
 * @returns {Node[]}
 */
export function hitNodes(shape) {
  const catching = { class: "sparsewood-hit", fill: "none", stroke: "none", "stroke-width": HIT };
  if (shape.type === "line") {
    return [{ tag: "path", attributes: { d: pathOf(shape, shape.points), ...catching } }];
  }
  if (shape.type === "text") return [];
  const dot = Math.max(shape.width, shape.height) < HIT; // dots have room around them; flat boxes may be close
  const [width, height] = dot ? [HIT, HIT] : [shape.width, shape.height];
  const [x, y] = [shape.x - (width - shape.width) / 2, shape.y - (height - shape.height) / 2];
  const sides = { x: coordinate(x), y: coordinate(y), width: coordinate(width), height: coordinate(height) };
  return [{ tag: "rect", attributes: { ...sides, rx: 4, ...catching, "stroke-width": HIT / 2 } }];
}

/**
 * @param {TextShape} shape
 * @param {string} colour
 * @param {Record<string, string | number>} more
 * @returns {Node[]}
 */
function textNodes(shape, colour, more) {
  if (!shape.text) return [];
  const size = shape.size ?? SIZE;
  const width = textWidth(shape.text, size);
  /** @type {Record<string, string | number>} */
  const fitted = width
    ? { textLength: coordinate(width), lengthAdjust: "spacingAndGlyphs" }
    : {};
  const [x, y] = [coordinate(shape.x), coordinate(shape.y)];
  /** @type {Record<string, string | number>} */
  const turned = shape.upright ? { transform: `rotate(90 ${x} ${y})` } : {};
  return [{
    tag: "text",
    attributes: {
      x, y, "text-anchor": shape.anchor ?? "middle", "font-size": size, "font-family": FONT,
      fill: colour, stroke: "none", ...fitted, ...turned, ...more,
    },
    text: printable(shape.text),
  }];
}

/**
 * @param {LineShape} shape
 * @param {string} colour
 * @param {Record<string, string | number>} faint
 * @param {Record<string, string | number>} dashed
 * @returns {Node[]}
 */
function lineNodes(shape, colour, faint, dashed) {
  const points = [...shape.points];
  const [tip, before] = [points[points.length - 1], points[points.length - 2]];
  const filled = { fill: colour, stroke: "none", ...faint };
  /** @type {Node[]} */
  const ends = [];
  if (shape.dot) {
    const [cx, cy] = points[0].map(coordinate);
    const r = coordinate((shape.head ?? ARROW) * 0.46);
    ends.push({ tag: "circle", attributes: { cx, cy, r, ...filled } });
  }
  if (shape.arrow) {
    const { head = ARROW } = shape;
    ends.push({ tag: "path", attributes: { d: arrowhead(before, tip, head), ...filled } });
    points[points.length - 1] = towards(tip, before, head);
  }
  const drawn = { d: pathOf(shape, points), stroke: colour, fill: "none", ...faint, ...dashed };
  return [{ tag: "path", attributes: drawn }, ...ends];
}

/**
 * The commands of a line with rounded corners.
 * @param {LineShape} shape
 * @param {number[][]} points
 */
function pathOf(shape, points) {
  const at = (/** @type {number[]} */ point) => point.map(coordinate).join(" ");
  if (shape.curve) return `M${at(points[0])}C${points.slice(1).map(at).join(" ")}`;
  let path = `M${at(points[0])}`;
  let from = points[0];
  for (let i = 1; i < points.length - 1; i++) {
    const [before, corner, after] = points.slice(i - 1, i + 2);
    const rest = distance(corner, after) / (i === points.length - 2 ? 1 : 2); // half is left for the next corner
    const radius = Math.min(RADIUS, distance(from, corner), rest);
    const end = towards(corner, after, radius);
    path += `L${at(towards(corner, before, radius))}Q${at(corner)} ${at(end)}`;
    from = end;
  }
  return `${path}L${at(points[points.length - 1])}`;
}

/**
 * @param {number[]} before
 * @param {number[]} tip
 * @param {number} size
 */
function arrowhead(before, tip, size) {
  const [x, y] = towards(tip, before, size);
  const [dx, dy] = [(tip[1] - y) / 2, (x - tip[0]) / 2]; // from the middle of the base to its end
  const corners = [tip, [x - dx, y - dy], [x + dx, y + dy]];
  return `M${corners.map((corner) => corner.map(coordinate).join(" ")).join("L")}z`;
}

/**
 * The point `step` away from `start` on the way to `end`.
 * @param {number[]} start
 * @param {number[]} end
 * @param {number} step
 */
function towards(start, end, step) {
  const share = step / (distance(start, end) || 1);
  return [start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])];
}

/**
 * @param {number[]} start
 * @param {number[]} end
 */
function distance(start, end) {
  return Math.hypot(end[0] - start[0], end[1] - start[1]);
}

/**
 * The shapes of a panel as SVG text, without the element `svg` around them.
 * @param {Panel} panel
 */
export function panelMarkup(panel) {
  const { parts, rest } = byPart(panel);
  const groups = [`<g stroke-width="1.5">${rest.map(shapeMarkup).join("")}</g>`];
  for (const shapes of parts.values()) {
    const named = shapes.find((shape) => "title" in shape && shape.title);
    const title = named && "title" in named ? `<title>${escapedXml(named.title ?? "")}</title>` : "";
    const given = strengthAttributes(shapes);
    groups.push(`<g${attributesMarkup(given)}>${title}${shapes.map(shapeMarkup).join("")}</g>`);
  }
  return groups.join("");
}

/** @param {Shape} shape */
function shapeMarkup(shape) {
  return shapeNodes(shape)
    .map(({ tag, attributes, text }) => {
      const opening = `<${tag}${attributesMarkup(attributes)}`;
      return text === undefined ? `${opening}/>` : `${opening}>${escapedXml(text)}</${tag}>`;
    })
    .join("");
}

/** @param {Record<string, string | number>} attributes */
function attributesMarkup(attributes) {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapedXml(String(value))}"`)
    .join("");
}

/**
 * A complete SVG file, with colours for light and dark backgrounds.
 * @param {string} content markup
 * @param {number} width
 * @param {number} height
 * @param {string} title
 * @param {number} [top]
 */
export function svgFile(content, width, height, title, top = 0) {
  const [w, h] = [coordinate(width), coordinate(height - top)];
  const style =
    ".sparsewood-alone{color:#1a1a1a}" +
    "@media(prefers-color-scheme:dark){.sparsewood-alone{color:#e8e8e8}}";
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" class="sparsewood-alone" role="img" width="${w}" ` +
    `height="${h}" viewBox="0 ${coordinate(top)} ${w} ${h}"><title>${escapedXml(title)}</title>` +
    `<style>${style}</style>${content}</svg>`
  );
}
