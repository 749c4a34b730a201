// @ts-check
// SparseMAP, the k best and the best side by side, or one at a time on narrow pages.
import { Column, Colours } from "./cards.js";
import { make } from "./dom.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./types.js").Picture} Picture
 */

/** @type {[name: string, title: string, about: string][]} */
const COLUMNS = [
  ["sparsemap", "SparseMAP", "support by weight; faint: shared by all"],
  ["best", "k best", "by score"],
  ["map", "MAP", "the best structure"],
];

/** The columns; a structure has the same colour in each. */
export class Columns {
  /**
   * @param {{trace: (key: string | null) => void, pin: (key: string) => void,
   *   paint: () => void, resized: () => void}} actions
   */
  constructor(actions) {
    this.colours = new Colours();
    this.columns = COLUMNS.map((texts) => new Column(...texts));
    this.shown = make("div", { class: "sparsewood-columns", "data-shown": "sparsemap" },
      ...this.columns.map((column) => column.element));
    this.element = make("div", {}, this.tabs(actions.resized), this.shown);
    for (const column of this.columns) column.more.addEventListener("click", actions.paint);
    for (const type of ["pointerover", "focusin"]) {
      this.shown.addEventListener(type, (event) => actions.trace(keyAt(event)));
    }
    for (const type of ["pointerleave", "focusout"]) {
      this.shown.addEventListener(type, () => actions.trace(null));
    }
    this.shown.addEventListener("click", (event) => {
      const key = keyAt(event);
      if (key !== null) actions.pin(key);
    });
  }

  /** Measure the columns. Call before painting, as it forces a layout of the page. */
  measure() {
    for (const column of this.columns) column.width = column.list.clientWidth;
  }

  /** @param {() => void} resized */
  tabs(resized) {
    const buttons = COLUMNS.map(([name, title], i) => {
      const button = make("button", { type: "button", "aria-pressed": String(i === 0) }, title);
      button.addEventListener("click", () => {
        this.shown.dataset.shown = name;
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        resized(); // hidden cards had no width
      });
      return button;
    });
    return make("div", { class: "sparsewood-tabs", role: "group", "aria-label": "Which structures" }, ...buttons);
  }

  /**
   * @param {Session} session
   * @param {Picture} picture
   */
  update(session, picture) {
    const { support, best, pins } = session;
    const known = new Set(support.map(({ key }) => key));
    const kept = [...support, ...pins.filter(({ key }) => !known.has(key))];
    this.colours.update(kept.map(({ key }) => key));
    [kept, best, best.slice(0, 1)].forEach((entries, i) => {
      this.columns[i].update(entries, session, picture, this.colours);
    });
  }

  /**
   * @param {number | null} part
   * @param {string | null} key
   */
  light(part, key) {
    for (const column of this.columns) column.light(part, key);
  }
}

/**
 * The structure of the card at which an event happened.
 * @param {Event} event
 */
function keyAt(event) {
  const card = event.target instanceof Element ? event.target.closest("[data-key]") : null;
  return card ? card.getAttribute("data-key") : null;
}
