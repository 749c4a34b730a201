// @ts-check
// A panel of shapes on the page: an SVG element with minimal updates.
import { byPart, hitNodes, shapeNodes, strengthAttributes } from "./shapes.js";
import { coordinate } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./shapes.js").Node} Node
 */

/**
 * An SVG element and its content. Each part is in `<g class="sparsewood-part" data-part="…">`. A
 * part whose drawing has not changed keeps its element, and so its focus and pointer.
 */
export class PanelView {
  /**
   * @param {(part: number) => string} label of a part, for screen readers
   */
  constructor(label) {
    this.label = label;
    this.element = document.createElementNS(SVG, "svg");
    this.element.setAttribute("role", "group");
    this.rest = document.createElementNS(SVG, "g");
    this.rest.setAttribute("stroke-width", "1.5");
    this.over = document.createElementNS(SVG, "g");
    setAttributes(this.over, { class: "sparsewood-over", "aria-hidden": "true" });
    this.element.append(this.rest, this.over);
    this.drawnRest = "";
    /** @type {Map<number, {group: SVGGElement, drawn: string}>} */
    this.groups = new Map();
  }

  /** @param {Panel} panel */
  update(panel) {
    setAttributes(this.element, frameOf(panel));
    const { parts, rest } = byPart(panel);
    const drawnRest = JSON.stringify(rest);
    if (drawnRest !== this.drawnRest) {
      this.rest.replaceChildren(...rest.flatMap(shapeNodes).map(elementOf));
      this.drawnRest = drawnRest;
    }
    for (const [part, { group }] of this.groups) {
      if (parts.has(part)) continue;
      group.remove();
      this.groups.delete(part);
    }
    let last = /** @type {Element} */ (this.rest);
    for (const [part, shapes] of parts) {
      const group = this.groupOf(part, shapes);
      setAttributes(group, strengthAttributes(shapes));
      setAttributes(group, { "aria-label": this.label(part) });
      if (last.nextElementSibling !== group) last.after(group);
      last = group;
    }
  }

  /**
   * Draw parts again on top of the others, and highlight one.
   * @param {Map<number, string>} colours of the parts
   * @param {number | null} hot
   */
  trace(colours, hot) {
    const copies = [];
    for (const [part, { group }] of this.groups) {
      group.classList.toggle("sparsewood-hot", part === hot);
      const colour = colours.get(part);
      if (!colour) continue;
      const copy = document.createElementNS(SVG, "g");
      const width = Math.max(2, Number(group.getAttribute("stroke-width")));
      const dashes = group.getAttribute("stroke-dasharray") ?? "none";
      setAttributes(copy, { "stroke-width": width, "stroke-dasharray": dashes });
      copy.style.setProperty("--sparsewood-tree", colour); // not as an attribute, which pages may forbid
      const drawn = [...group.children].filter((child) => !child.matches(".sparsewood-hit"));
      copy.append(...drawn.map((child) => child.cloneNode(true)));
      copies.push(copy);
    }
    this.over.replaceChildren(...copies);
  }

  /**
   * The element of a part, drawn.
   * @param {number} part
   * @param {Shape[]} shapes
   */
  groupOf(part, shapes) {
    const own = shapes.some((shape) => shape.type === "box"); // boxes show their strength themselves
    const drawn = JSON.stringify(shapes, (key, value) => (key === "strength" && !own ? undefined : value));
    let entry = this.groups.get(part);
    if (!entry) {
      entry = { group: document.createElementNS(SVG, "g"), drawn: "" };
      setAttributes(entry.group, { class: "sparsewood-part", "data-part": part, role: "button", tabindex: -1 });
      this.groups.set(part, entry);
    }
    if (entry.drawn !== drawn) {
      const nodes = [...shapes.flatMap(hitNodes), ...shapes.flatMap(shapeNodes)];
      entry.group.replaceChildren(...nodes.map(elementOf));
      entry.drawn = drawn;
    }
    return entry.group;
  }
}

/**
 * A panel as a static image. Lines of one style are merged into one path, as there are many such
 * images, which change while a slider moves.
 * @param {Panel} panel
 */
export function panelImage(panel) {
  const image = document.createElementNS(SVG, "svg");
  setAttributes(image, { ...frameOf(panel), "aria-hidden": "true", "stroke-width": 1.5 });
  /** @type {Map<string, Node>} */
  const paths = new Map();
  const others = [];
  for (const node of panel.shapes.flatMap(shapeNodes)) {
    const { d, ...look } = node.attributes;
    const key = JSON.stringify(look);
    const same = paths.get(key);
    if (node.tag !== "path") others.push(node);
    else if (same) same.attributes.d = `${same.attributes.d}${d}`;
    else paths.set(key, { tag: "path", attributes: { ...look, d } });
  }
  image.append(...[...paths.values(), ...others].map(elementOf));
  return image;
}

/** @param {Panel} panel */
function frameOf({ top = 0, width, height }) {
  const box = [0, top, width, height - top].map(coordinate);
  return { viewBox: box.join(" "), width: box[2], height: box[3] };
}

/** @param {Node} node */
function elementOf({ tag, attributes, text }) {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, string | number>} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}
