// @ts-check
// The live figure: its parts put together, painted again whenever something changes.
import { Column, Colours } from "./cards.js";
import { Controls } from "./controls.js";
import { CopyRow, textOf } from "./copying.js";
import { Detail } from "./detail.js";
import { make, say, shortNumber } from "./dom.js";
import { Matrix } from "./matrix.js";
import { PanelView } from "./panel.js";
import { focusPart, listenToParts, roveParts } from "./pointing.js";
import { exponential } from "./session.js";
import { percent } from "./text.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./types.js").Picture} Picture
 */

const KEYS =
  "Left and right arrows go from part to part, up and down change its score, " +
  "Enter goes to the score, Delete forbids the part.";
const QUIET = 500; // milliseconds without a change until it is read aloud

/** One figure: what it shows, and what is pointed at. */
export class Figure {
  /**
   * @param {HTMLElement} element
   * @param {Session} session
   * @param {Picture} picture
   */
  constructor(element, session, picture) {
    this.element = element;
    this.session = session;
    this.picture = picture;
    /** @type {number | null} */ this.chosen = null;
    /** @type {number | null} */ this.hovered = null;
    /** @type {string | null} */ this.traced = null;
    this.pending = 0;
    this.speaking = 0;
    this.ms = 0; // of the last painting, the solve included
    this.top = Infinity;
    this.width = 0;
    this.step = stepOf(session.data.scores);
    this.colours = new Colours();
    this.build();
    this.listen();
  }

  build() {
    const { session, picture } = this;
    const { data } = session;
    const about = (/** @type {number} */ part) =>
      `${picture.name(data, part)}, marginal ${percent(session.posterior.marginals[part])}, ` +
      `score ${shortNumber(session.scores[part])}`;
    this.view = new PanelView({ label: about });
    this.view.element.setAttribute("aria-label", `${data.title}. ${KEYS}`);
    this.box = make("div", { class: "sparsewood-scroll sparsewood-summary" });
    this.box.append(this.view.element);
    this.detail = new Detail(session, picture, {
      choose: (part) => this.choose(part),
      score: (part, score) => this.score(part, score),
      step: (part, steps) => this.score(part, session.scores[part] + steps * this.step),
    });
    this.controls = new Controls(session, (settings) => {
      session.set(settings);
      this.schedule();
    });
    this.certificate = make("span", { class: "sparsewood-certificate" });
    this.time = make("span", { class: "sparsewood-faint" });
    this.aloud = make("span", { class: "sparsewood-hidden", "aria-live": "polite" });
    this.reset = make("button", { type: "button" }, "Reset scores");
    this.columns = {
      sparsemap: new Column("sparsemap", "SparseMAP", "what is kept, and its weight"),
      best: new Column("best", "k best", "by score alone"),
      map: new Column("map", "MAP", "the best alone"),
    };
    const columns = Object.values(this.columns).map((column) => column.element);
    this.trees = make("div", { class: "sparsewood-columns", "data-shown": "sparsemap" }, ...columns);
    this.tabs = this.tabsOf();
    this.matrix = new Matrix(session, this.detail.axes(), {
      hover: (part) => this.hover(part),
      choose: (part) => this.choose(part),
    });
    this.element.replaceChildren(
      this.box, this.detail.element, this.controls.element,
      make("p", { class: "sparsewood-line" }, this.certificate, this.time, this.reset, this.aloud),
      this.tabs, this.trees, this.matrix.element, new CopyRow(session, picture).element);
  }

  /** Where columns do not fit side by side, one is shown at a time. */
  tabsOf() {
    const names = /** @type {const} */ ({ sparsemap: "SparseMAP", best: "k best", map: "MAP" });
    const buttons = Object.entries(names).map(([name, text]) => {
      const button = make("button", { type: "button", "aria-pressed": name === "sparsemap" ? "true" : "false" }, text);
      button.addEventListener("click", () => {
        this.trees.dataset.shown = name;
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        this.paint(); // cards that were hidden had no width
      });
      return button;
    });
    return make("div", { class: "sparsewood-tabs", role: "group", "aria-label": "Which structures" }, ...buttons);
  }

  listen() {
    listenToParts(this.view.element, this.step / 5, {
      hover: (part) => this.hover(part),
      choose: (part) => this.choose(part),
      score: (part) => this.session.scores[part],
      change: (part, score) => this.score(part, score),
      step: (part, steps) => this.score(part, this.session.scores[part] + steps * this.step),
      edit: () => this.detail.score.select(),
    });
    this.view.element.addEventListener("focusout", () => this.light());
    const keyAt = (/** @type {Event} */ event) => {
      const card = event.target instanceof Element ? event.target.closest("[data-key]") : null;
      return card instanceof HTMLElement ? (card.dataset.key ?? null) : null;
    };
    for (const type of ["pointerover", "focusin"]) {
      this.trees.addEventListener(type, (event) => this.trace(keyAt(event)));
    }
    for (const type of ["pointerleave", "focusout"]) {
      this.trees.addEventListener(type, () => this.trace(null));
    }
    this.trees.addEventListener("click", (event) => this.pin(keyAt(event)));
    this.reset.addEventListener("click", () => {
      this.session.reset();
      this.schedule();
    });
    this.observer = new ResizeObserver(() => {
      if (this.box.clientWidth !== this.width) this.schedule();
    });
    this.observer.observe(this.box);
  }

  /** @param {number | null} part */
  choose(part) {
    if (part === this.chosen) return this.light();
    this.chosen = part;
    this.paint(); // a part of marginal 0 is drawn as long as it is chosen
  }

  /** @param {number | null} part */
  hover(part) {
    if (part === this.hovered) return;
    this.hovered = part;
    this.light();
  }

  /**
   * @param {number} part
   * @param {number} score
   */
  score(part, score) {
    if (this.session.data.scores[part] === -Infinity) return;
    // Whole steps of a tenth of what a key changes: numbers that can be read.
    const unit = this.step / 10;
    const rounded = score === this.session.data.scores[part] ? score : Number((Math.round(score / unit) * unit).toPrecision(12));
    this.session.setScore(part, rounded);
    this.schedule();
  }

  /** @param {string | null} key */
  pin(key) {
    if (key === null) return;
    const { pinned } = this.session;
    const entry = this.entries().find((one) => one.key === key);
    if (!pinned.delete(key) && entry) pinned.set(key, entry);
    this.paint();
  }

  /** @param {string | null} key */
  trace(key) {
    if (key === this.traced) return;
    this.traced = key;
    this.light();
  }

  /** All structures in view. */
  entries() {
    const { support, best, pins } = this.session;
    return [...support, ...best, ...pins];
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const start = performance.now();
    const { session, picture, colours } = this;
    const { data, posterior, support } = session;
    const known = new Set(support.map(({ key }) => key));
    const kept = [...support, ...session.pins.filter(({ key }) => !known.has(key))];
    colours.update(kept.map(({ key }) => key));
    this.width = this.box.clientWidth;
    const also = [...session.pins.flatMap(({ parts }) => [...parts]), ...(this.chosen === null ? [] : [this.chosen])];
    const panel = picture.summary(data, posterior.marginals, { width: Math.max(280, this.width), also });
    this.top = Math.min(this.top, panel.top ?? 0); // the words stay where they are
    this.view.update({ ...panel, top: this.top });
    roveParts(this.view.element, this.chosen);
    this.columns.sparsemap.update(kept, session, picture, colours);
    this.columns.best.update(session.best, session, picture, colours);
    this.columns.map.update(session.best.slice(0, 1), session, picture, colours);
    this.controls.update();
    this.matrix.update(this.chosen);
    this.light();
    this.reset.disabled = !session.changed;
    this.ms = performance.now() - start;
    this.certify();
  }

  /** What is lit: the cards that use a part, the parts of a structure. */
  light() {
    const focused = this.view.element.contains(document.activeElement);
    const lit = this.hovered ?? (focused ? this.chosen : null);
    for (const column of Object.values(this.columns)) column.light(lit, this.traced);
    const entries = this.entries();
    const traced = entries.find(({ key }) => key === this.traced);
    /** @type {Map<number, string>} */
    const over = new Map();
    for (const { key, parts } of [...this.session.pins.reverse(), ...(traced ? [traced] : [])]) {
      for (const part of parts) over.set(part, this.colours.of(key) || "currentColor");
    }
    this.view.trace(over, lit ?? this.chosen);
    this.view.element.classList.toggle("sparsewood-tracing", traced !== undefined);
    this.detail.update(this.hovered ?? this.chosen, this.hovered === null);
  }

  /** The line that says what the answer is worth. */
  certify() {
    const { session } = this;
    const { posterior, error } = session;
    const cooled = posterior.temperature < session.temperature * (1 - 1e-9);
    const parts = [session.caption];
    if (posterior.status === "solved") parts.push(`gap ${exponential(posterior.gap)}`);
    if (cooled) parts.push(`temperature lowered to ${shortNumber(posterior.temperature)}`);
    const text = error || parts.join(" · ");
    say(this.certificate, text);
    this.certificate.classList.toggle("sparsewood-warning", error !== "" || posterior.status !== "solved");
    say(this.time, ` · solved in ${session.ms.toFixed(1)} ms`);
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => say(this.aloud, text), QUIET);
  }

  /** What pages and tests read: the last answer at full precision, and the settings. */
  state() {
    const { session } = this;
    return {
      ...session.posterior,
      settings: { temperature: session.temperature, most: session.most, cap: session.cap },
      scores: session.scores.slice(),
      best: session.best,
      caption: session.caption,
      chosen: this.chosen,
      pinned: [...session.pinned.keys()],
      ms: this.ms,
      solveMs: session.ms,
    };
  }

  /** @param {{temperature?: number, most?: number | null, cap?: "support" | "active", scores?: ArrayLike<number | null>}} settings */
  set({ scores, ...settings }) {
    this.session.set(settings);
    if (scores) Array.from(scores).forEach((score, part) => this.session.setScore(part, score ?? -Infinity));
    this.paint();
  }

  /** @param {import("./copying.js").Form} form */
  text(form) {
    return textOf(this.session, this.picture, form);
  }

  /** @param {number} part */
  focus(part) {
    this.choose(part);
    focusPart(this.view.element, part);
  }

  destroy() {
    cancelAnimationFrame(this.pending);
    clearTimeout(this.speaking);
    this.observer?.disconnect();
    this.element.replaceChildren();
  }
}

/**
 * How much one key changes a score: 1, 2 or 5 times a power of ten, about an eighth of their spread.
 * @param {Float64Array} scores
 */
function stepOf(scores) {
  const finite = [...scores].filter((score) => score > -Infinity);
  const mean = finite.reduce((sum, score) => sum + score, 0) / (finite.length || 1);
  const spread = Math.sqrt(finite.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (finite.length || 1));
  const wanted = (spread || 1) / 8;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * ([5, 2, 1].find((digit) => digit * power <= wanted) ?? 1);
}
