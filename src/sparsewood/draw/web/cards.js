// @ts-check
// Structures as cards in three columns: SparseMAP, the k best, the best.
import { arrange, make, say } from "./dom.js";
import { panelImage } from "./panel.js";
import { percent } from "./text.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./session.js").Entry} Entry
 * @typedef {import("./types.js").Picture} Picture
 */

const FIRST = 6; // cards of a column before "more" is clicked
const SHOWN = 40;
const LEAST = 120; // width of a drawing in pixels, if the page has no width yet
const PADDING = 27; // horizontal padding of a card, both sides
const KEPT = 120; // cards kept for structures that are not shown
// Readable on white and black, and different from the blue and orange of comparisons.
const HUES = ["#12937f", "#8b63d6", "#cf4f86", "#7f8f12", "#b9791a", "#1497b8", "#a3663a", "#6f7fae"];

/** Colours of structures, the same in every column and constant while a structure is shown. */
export class Colours {
  constructor() {
    /** @type {Map<string, number>} */
    this.given = new Map();
  }

  /** @param {string[]} keys of the structures that need a colour */
  update(keys) {
    const wanted = new Set(keys);
    for (const key of this.given.keys()) {
      if (!wanted.has(key)) this.given.delete(key);
    }
    const uses = HUES.map(() => 0);
    for (const hue of this.given.values()) uses[hue]++;
    for (const key of keys) {
      if (this.given.has(key)) continue;
      const hue = uses.indexOf(Math.min(...uses));
      uses[hue]++;
      this.given.set(key, hue);
    }
  }

  /** @param {string} key */
  of(key) {
    const hue = this.given.get(key);
    return hue === undefined ? "" : HUES[hue];
  }
}

/** One structure: a button that pins it, with its weight and its drawing. */
class Card {
  /**
   * @param {string} key
   * @param {Int32Array} parts
   * @param {string} about a description of the structure
   */
  constructor(key, parts, about) {
    this.key = key;
    this.parts = new Set(parts);
    this.about = about;
    this.weight = make("strong");
    this.fill = make("i");
    this.score = make("small");
    this.drawn = ""; // key of the current drawing
    this.element = make("button", { type: "button", class: "sparsewood-card", "data-key": key },
      make("span", { class: "sparsewood-card-head" }, this.weight,
        make("span", { class: "sparsewood-bar" }, this.fill), this.score));
  }

  /**
   * @param {Entry} entry
   * @param {Session} session
   * @param {Picture} picture
   * @param {number} width
   */
  draw({ structure, parts }, { data, certain }, picture, width) {
    const wanted = `${width} ${parts.filter((part) => certain.has(part))}`;
    if (wanted === this.drawn) return;
    this.drawn = wanted;
    this.element.querySelector("svg")?.remove();
    this.element.append(panelImage(picture.card(data, structure, parts, { width, small: true, certain })));
  }

  /**
   * @param {Entry} entry
   * @param {boolean} pinned
   * @param {string} colour
   */
  update(entry, pinned, colour) {
    const weight = entry.weight > 0 ? percent(entry.weight) : "weight 0";
    const score = `score ${entry.score.toFixed(2)}`;
    say(this.weight, weight);
    say(this.score, score);
    this.fill.style.width = `${100 * Math.min(1, entry.weight)}%`;
    this.element.style.setProperty("--sparsewood-tree", colour || "var(--sparsewood-edge)");
    this.element.classList.toggle("sparsewood-none", entry.weight === 0);
    this.element.setAttribute("aria-pressed", String(pinned));
    this.element.setAttribute("aria-label", `${weight}, ${score}: ${this.about}`);
  }
}

/** One column of cards. */
export class Column {
  /**
   * @param {string} name
   * @param {string} title
   * @param {string} about
   */
  constructor(name, title, about) {
    this.list = make("div", { class: "sparsewood-cards" });
    this.more = make("button", { type: "button", class: "sparsewood-more", "aria-expanded": "false" });
    this.rest = make("p", { class: "sparsewood-rest" });
    this.element = make("section", { class: `sparsewood-column sparsewood-${name}`, "aria-label": title },
      make("p", { class: "sparsewood-heading" }, make("strong", {}, title), " ", make("span", {}, about)),
      this.list, this.rest, this.more);
    /** @type {Map<string, Card>} */
    this.cards = new Map();
    /** @type {Card[]} */
    this.shown = [];
    this.open = false;
    this.width = 0; // pixels; set by the figure
    this.more.addEventListener("click", () => {
      this.open = !this.open;
    });
  }

  /**
   * @param {Entry[]} entries
   * @param {Session} session
   * @param {Picture} picture
   * @param {Colours} colours
   */
  update(entries, session, picture, colours) {
    const width = Math.max(LEAST, this.width - PADDING);
    const most = this.open ? SHOWN : FIRST;
    const chosen = entries.filter(({ key }, i) => i < most || session.pinned.has(key));
    this.shown = chosen.map((entry) => {
      const card = this.card(entry, session, picture);
      card.draw(entry, session, picture, width);
      card.update(entry, session.pinned.has(entry.key), colours.of(entry.key));
      return card;
    });
    arrange(this.list, this.shown.map((card) => card.element));
    this.count(entries, chosen);
    this.forget();
  }

  /**
   * Show how many structures are not shown.
   * @param {Entry[]} entries
   * @param {Entry[]} chosen
   */
  count(entries, chosen) {
    const weight = (/** @type {Entry[]} */ some) => some.reduce((sum, entry) => sum + entry.weight, 0);
    const left = `${entries.length - chosen.length} more, together ${percent(weight(entries) - weight(chosen))}`;
    say(this.rest, this.open && entries.length > chosen.length ? `and ${left}` : "");
    say(this.more, this.open ? "fewer" : left);
    this.more.setAttribute("aria-expanded", String(this.open));
    this.more.hidden = entries.length <= FIRST;
  }

  /**
   * @param {Entry} entry
   * @param {Session} session
   * @param {Picture} picture
   */
  card({ key, parts }, { data }, picture) {
    let card = this.cards.get(key);
    if (!card) {
      const about = `${data.noun}: ${[...parts].map((part) => picture.name(data, part)).join(", ")}`;
      card = new Card(key, parts, about);
      this.cards.set(key, card);
    }
    return card;
  }

  /** Drop the oldest cards that are not shown. */
  forget() {
    const shown = new Set(this.shown);
    for (const [key, card] of this.cards) {
      if (this.cards.size <= KEPT) return;
      if (!shown.has(card)) this.cards.delete(key);
    }
  }

  /**
   * Highlight the cards that use a part and dim the others; without a part, do neither.
   * @param {number | null} part
   * @param {string | null} key of the structure that is hovered over, in any column
   */
  light(part, key) {
    for (const { parts, element, key: own } of this.shown) {
      const uses = part !== null && parts.has(part);
      element.classList.toggle("sparsewood-lit", uses || (key !== null && own === key));
      element.classList.toggle("sparsewood-dim", part !== null && !uses);
    }
  }
}
