// @ts-check
// A panel of shapes on the page: an SVG element that changes only where the picture does.
import { byPart, hitNodes, shapeNodes, strengthAttributes } from "./shapes.js";
import { coordinate } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {import("./shapes.js").Panel} Panel
 * @typedef {import("./shapes.js").Shape} Shape
 * @typedef {import("./shapes.js").Node} Node
 */

/**
 * An SVG element and what it shows. Each part lies in `<g class="sparsewood-part" data-part="…">`;
 * a part that is drawn as before keeps its element, and with it focus and pointer.
 */
export class PanelView {
  /**
   * @param {{label?: (part: number) => string}} [options] label: of a part that can be pointed at
   *   and focused, for those who do not see it; without it the picture is an image
   */
  constructor({ label } = {}) {
    this.label = label;
    this.element = document.createElementNS(SVG, "svg");
    this.element.setAttribute("role", label ? "group" : "img");
    if (!label) this.element.setAttribute("aria-hidden", "true");
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
    const [top, { parts, rest }] = [panel.top ?? 0, byPart(panel)];
    const box = [0, top, panel.width, panel.height - top].map(coordinate);
    setAttributes(this.element, { viewBox: box.join(" "), width: box[2], height: box[3] });
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
      if (this.label) setAttributes(group, { "aria-label": this.label(part) });
      if (last.nextElementSibling !== group) last.after(group);
      last = group;
    }
  }

  /**
   * Draws parts once more on top of the others, and marks one.
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
      setAttributes(copy, { "stroke-width": width, style: `--sparsewood-tree: ${colour}` });
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
      setAttributes(entry.group, { class: "sparsewood-part", "data-part": part });
      if (this.label) setAttributes(entry.group, { role: "button", tabindex: -1 });
      this.groups.set(part, entry);
    }
    if (entry.drawn !== drawn) {
      const hits = this.label ? shapes.flatMap(hitNodes) : [];
      entry.group.replaceChildren(...[...hits, ...shapes.flatMap(shapeNodes)].map(elementOf));
      entry.drawn = drawn;
    }
    return entry.group;
  }
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
