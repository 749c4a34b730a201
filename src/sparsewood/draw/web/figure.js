// @ts-check
// The live figure, which combines all components and repaints on every change.
import { Certificate } from "./certificate.js";
import { Columns } from "./columns.js";
import { Controls } from "./controls.js";
import { CopyRow, textOf } from "./copying.js";
import { Detail } from "./detail.js";
import { make, shortNumber } from "./dom.js";
import { Matrix } from "./matrix.js";
import { PanelView } from "./panel.js";
import { focusPart, listenToParts, roveParts } from "./pointing.js";
import { one } from "./session.js";
import { percent, printable } from "./text.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {{temperature?: number, most?: number | null, cap?: "support" | "active",
 *   scores?: ArrayLike<number | null>}} Settings
 */

const KEYS = (/** @type {string} */ part) =>
  `Left and right arrow keys select ${one(part)}, up and down arrow keys change its score, ` +
  `Enter edits the score, Delete forbids the ${part}.`;
const MANY = 14; // words from which on three columns need a wider page
const LEAST = 280; // width of a picture in pixels, if the page has no width yet

/** One figure, with its chosen and hovered parts. */
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
    this.step = stepOf(session.data.scores);
    /** @type {number | null} */ this.chosen = null;
    /** @type {number | null} */ this.hovered = null;
    /** @type {string | null} */ this.traced = null;
    this.pending = 0; // the requested animation frame
    this.ms = 0; // milliseconds of the last paint, including the solve
    this.top = Infinity;
    this.width = 0;

    const score = (/** @type {number} */ part, /** @type {number} */ value) => this.score(part, value);
    const change = (/** @type {number} */ part, /** @type {number} */ value) =>
      this.score(part, rounded(value, this.step / 10)); // readable numbers
    const step = (/** @type {number} */ part, /** @type {number} */ steps) =>
      change(part, session.scores[part] + steps * this.step);
    const choose = (/** @type {number | null} */ part) => this.choose(part);
    const hover = (/** @type {number | null} */ part) => this.hover(part);
    this.view = new PanelView((part) => this.about(part));
    this.view.element.setAttribute("aria-label", `${printable(session.data.title)}. ${KEYS(session.data.part)}`);
    this.box = make("div", { class: "sparsewood-scroll sparsewood-summary" });
    this.box.append(this.view.element);
    this.detail = new Detail(session, picture, { choose, score, step });
    this.controls = new Controls(session, (settings) => {
      session.set(settings);
      this.schedule();
    });
    this.certificate = new Certificate();
    this.certificate.reset.addEventListener("click", () => {
      session.reset();
      this.schedule();
    });
    this.columns = new Columns({
      trace: (key) => this.trace(key),
      pin: (key) => this.pin(key),
      paint: () => this.paint(),
      resized: () => this.resized(),
    });
    this.matrix = new Matrix(session, this.detail.axes(), { hover, choose });
    listenToParts(this.view.element, this.step / 5, {
      hover, choose, change, step,
      chosen: () => this.chosen,
      score: (part) => session.scores[part],
      edit: () => this.detail.score.select(),
    });
    this.view.element.addEventListener("focusout", () => this.light());
    const { title, words } = session.data;
    element.classList.toggle("sparsewood-many", words.length > MANY);
    const named = title === words.join(" ") ? [] : [make("p", { class: "sparsewood-title" }, printable(title))];
    element.replaceChildren(
      ...named, this.box, this.detail.element, this.controls.element, this.certificate.element,
      this.columns.element, this.matrix.element, new CopyRow(session, picture).element);
    this.observer = new ResizeObserver(() => {
      if (this.box.clientWidth !== this.width) this.resized();
    });
    this.observer.observe(this.box);
    this.resized();
  }

  /** Paint for the current width of the page. */
  resized() {
    this.width = this.box.clientWidth;
    this.top = Infinity;
    this.columns.measure();
    this.paint();
  }

  /**
   * The label of a part for screen readers.
   * @param {number} part
   */
  about(part) {
    const { data, posterior, scores } = this.session;
    const marginal = percent(posterior.marginals[part]);
    return `${this.picture.name(data, part)}, marginal ${marginal}, score ${shortNumber(scores[part])}`;
  }

  /** @param {number | null} part */
  choose(part) {
    if (part === this.chosen) return this.light();
    this.chosen = part;
    if (part !== null) this.detail.show(part);
    this.paint(); // a part of marginal 0 is drawn while it is chosen
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
    if (this.session.data.scores[part] === -Infinity) return; // forbidden, whatever its score
    this.session.setScore(part, score);
    this.schedule();
  }

  /** @param {string} key */
  pin(key) {
    const { pinned } = this.session;
    const entry = this.entry(key);
    if (!pinned.delete(key) && entry) pinned.set(key, entry);
    this.paint();
  }

  /** @param {string | null} key */
  trace(key) {
    if (key === this.traced) return;
    this.traced = key;
    this.light();
  }

  /**
   * A structure by its key.
   * @param {string | null} key
   */
  entry(key) {
    const { support, best, pins } = this.session;
    return [...support, ...best, ...pins].find((one) => one.key === key);
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const start = performance.now();
    const { session, picture } = this;
    const { data } = session;
    const also = session.pins.flatMap(({ parts }) => [...parts]);
    if (this.chosen !== null) also.push(this.chosen);
    const panel = picture.summary(data, session.drawn, { width: Math.max(LEAST, this.width), also });
    this.top = Math.min(this.top, panel.top ?? 0); // so that the words do not move
    this.view.update({ ...panel, top: this.top });
    roveParts(this.view.element, this.chosen);
    this.columns.update(session, picture);
    this.controls.update();
    this.matrix.update(this.chosen);
    this.light();
    this.certificate.update(session);
    this.ms = performance.now() - start;
    this.element.dispatchEvent(new CustomEvent("sparsewood-change"));
  }

  /** Highlight the cards that use a part, or the parts of a structure. */
  light() {
    const focused = this.view.element.contains(document.activeElement);
    const lit = this.hovered ?? (focused ? this.chosen : null);
    this.columns.light(lit, this.traced);
    const traced = this.traced === null ? undefined : this.entry(this.traced);
    /** @type {Map<number, string>} */
    const over = new Map();
    for (const { key, parts } of [...this.session.pins, ...(traced ? [traced] : [])]) {
      for (const part of parts) over.set(part, this.columns.colours.of(key) || "currentColor");
    }
    this.view.trace(over, lit ?? this.chosen);
    this.view.element.classList.toggle("sparsewood-tracing", traced !== undefined);
    this.detail.update(this.hovered ?? this.chosen);
  }

  /** The state for pages and tests: the last solution at full precision, and the settings. */
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

  /**
   * Change settings and scores, and paint.
   * @param {Settings} settings
   */
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
    clearTimeout(this.certificate.speaking);
    this.observer.disconnect();
    this.element.replaceChildren();
  }
}

/**
 * @param {number} value
 * @param {number} unit
 */
function rounded(value, unit) {
  return Number((Math.round(value / unit) * unit).toPrecision(12));
}

/**
 * The change of a score per key press: 1, 2 or 5 times a power of ten, about 1/8 of their range.
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
