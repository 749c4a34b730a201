// @ts-check
// Structures as cards in three columns: SparseMAP, the k best, the best.
import { arrange, make, say, shortNumber } from "./dom.js";
import { PanelView } from "./panel.js";
import { percent } from "./text.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./session.js").Entry} Entry
 * @typedef {import("./types.js").Picture} Picture
 */

const SHOWN = 24; // cards of a column
const KEPT = 120; // cards that wait for their structures to come back
// Readable on white and on black, and neither the blue nor the orange of what is compared.
const HUES = ["#12937f", "#8b63d6", "#cf4f86", "#7f8f12", "#b9791a", "#1497b8", "#a3663a", "#6f7fae"];

/** The colours of structures: the same in every column, and for as long as a structure is shown. */
export class Colours {
  constructor() {
    /** @type {Map<string, number>} */
    this.given = new Map();
  }

  /** @param {string[]} keys of the structures that have a colour from now on */
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
   */
  constructor(key, parts) {
    this.key = key;
    this.parts = new Set(parts);
    this.view = new PanelView();
    this.weight = make("strong");
    this.fill = make("i");
    this.score = make("small");
    this.width = 0;
    this.element = make("button", { type: "button", class: "sparsewood-card", "data-key": key },
      make("span", { class: "sparsewood-share" }, this.weight,
        make("span", { class: "sparsewood-bar" }, this.fill), this.score));
    this.element.append(this.view.element);
  }

  /**
   * @param {Entry} entry
   * @param {{pinned: boolean, colour: string, noun: string, parts: string}} shown
   */
  update(entry, { pinned, colour, noun, parts }) {
    const weight = entry.weight > 0 ? percent(entry.weight) : "weight 0";
    const score = `score ${shortNumber(entry.score)}`;
    say(this.weight, weight);
    say(this.score, score);
    this.fill.style.width = `${100 * Math.min(1, entry.weight)}%`;
    this.element.style.setProperty("--sparsewood-tree", colour || "transparent");
    this.element.classList.toggle("sparsewood-none", entry.weight === 0);
    this.element.setAttribute("aria-pressed", String(pinned));
    this.element.setAttribute("aria-label", `${noun}, ${weight}, ${score}: ${parts}`);
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
    this.rest = make("p", { class: "sparsewood-rest" });
    this.element = make("section", { class: `sparsewood-column sparsewood-${name}`, "aria-label": title },
      make("p", { class: "sparsewood-heading" }, make("strong", {}, title), " ", make("span", {}, about)),
      this.list, this.rest);
    /** @type {Map<string, Card>} */
    this.cards = new Map();
    /** @type {Card[]} */
    this.shown = [];
  }

  /**
   * @param {Entry[]} entries
   * @param {Session} session
   * @param {Picture} picture
   * @param {Colours} colours
   */
  update(entries, session, picture, colours) {
    const width = Math.max(120, this.list.clientWidth - 26);
    this.shown = entries.slice(0, SHOWN).map((entry) => {
      const card = this.card(entry);
      if (card.width !== width) {
        card.view.update(picture.card(session.data, entry.structure, entry.parts, { width, small: true }));
        card.width = width;
      }
      card.update(entry, {
        pinned: session.pinned.has(entry.key),
        colour: colours.of(entry.key),
        noun: session.data.noun,
        parts: [...entry.parts].slice(0, 60).map((part) => picture.name(session.data, part)).join(", "),
      });
      return card;
    });
    arrange(this.list, this.shown.map((card) => card.element));
    const left = entries.slice(SHOWN);
    const share = left.reduce((sum, entry) => sum + entry.weight, 0);
    say(this.rest, left.length ? `and ${left.length} more, together ${percent(share)}` : "");
    this.forget();
  }

  /** @param {Entry} entry */
  card(entry) {
    let card = this.cards.get(entry.key);
    if (!card) this.cards.set(entry.key, (card = new Card(entry.key, entry.parts)));
    return card;
  }

  /** Drops the oldest cards that are not shown. */
  forget() {
    const shown = new Set(this.shown);
    for (const [key, card] of this.cards) {
      if (this.cards.size <= KEPT) return;
      if (!shown.has(card)) this.cards.delete(key);
    }
  }

  /**
   * Lights the cards that use a part, and dims the others; no part: neither.
   * @param {number | null} part
   * @param {string | null} key of a structure that is pointed at, in any column
   */
  light(part, key) {
    for (const { parts, element, key: own } of this.shown) {
      const uses = part !== null && parts.has(part);
      element.classList.toggle("sparsewood-lit", uses || (key !== null && own === key));
      element.classList.toggle("sparsewood-dim", part !== null && !uses);
    }
  }
}
