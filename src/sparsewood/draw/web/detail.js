// @ts-check
// Details of one part: its name, its marginal, and its score, which can be typed.
import { make, say, shortNumber } from "./dom.js";
import { countOf, one } from "./session.js";
import { percent } from "./text.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {{choose: (part: number | null) => void, score: (part: number, score: number) => void,
 *   step: (part: number, steps: number) => void}} Actions
 */


/** The line about a part, and a select per dimension of the scores. */
export class Detail {
  /**
   * @param {Session} session
   * @param {Picture} picture
   * @param {Actions} actions
   */
  constructor(session, picture, actions) {
    this.session = session;
    this.picture = picture;
    this.actions = actions;
    /** @type {number | null} */
    this.part = null;
    this.name = make("strong", { class: "sparsewood-name" });
    this.numbers = make("span");
    this.score = make("input", {
      type: "text", inputmode: "decimal", size: 7, "aria-label": "Score", autocomplete: "off",
    });
    this.undo = make("button", { type: "button", class: "sparsewood-quiet" }, "undo");
    this.scored = make("span", { class: "sparsewood-scored" },
      make("label", {}, "score ", this.score), " ", this.undo);
    this.hint = make("span", { class: "sparsewood-faint" },
      `Hover over ${one(session.data.part)} to see the ${session.data.noun}s that use it; drag it to change its score.`);
    this.selects = this.axes().map((axis) => selectOf(axis));
    this.element = make("div", { class: "sparsewood-detail" },
      make("div", { class: "sparsewood-said" }, this.name, " ", this.numbers, " ", this.scored, this.hint),
      make("div", { class: "sparsewood-choose", role: "group", "aria-label": `Choose ${one(session.data.part)}` },
        ...this.selects.map((select) => select.element)));
    this.listen();
  }

  /** @returns {{label: string, names: string[]}[]} */
  axes() {
    const { data } = this.session;
    if (this.picture.axes) return this.picture.axes(data);
    return data.shape.map((n, i) => ({
      label: `place ${i + 1}`, names: Array.from({ length: n }, (_, k) => String(k)),
    }));
  }

  listen() {
    const part = () => /** @type {number} */ (this.part);
    this.score.addEventListener("change", () => {
      const typed = this.score.value.trim().replace("−", "-").replace(/∞|inf(inity)?$/i, "Infinity");
      const score = typed === "" ? NaN : Number(typed);
      if (Number.isNaN(score) || score === Infinity) this.update(part());
      else this.actions.score(part(), score);
    });
    this.score.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!steps || this.part === null) return;
      event.preventDefault();
      this.actions.step(part(), event.shiftKey ? 10 * steps : steps);
    });
    this.undo.addEventListener("click", () => {
      this.actions.score(part(), this.session.data.scores[part()]);
    });
    for (const { select } of this.selects) {
      select.addEventListener("change", () => {
        const places = this.selects.map((other) => Number(other.select.value));
        if (places.some((place) => place < 0)) return;
        const { shape } = this.session.data;
        this.actions.choose(places.reduce((index, place, i) => index * shape[i] + place, 0));
      });
    }
  }

  /** @param {number | null} part */
  update(part) {
    this.part = part;
    this.hint.hidden = part !== null;
    this.scored.hidden = this.name.hidden = this.numbers.hidden = part === null;
    if (part === null) return;
    const { session } = this;
    const { data, posterior } = session;
    const using = posterior.parts.filter((parts) => parts.includes(part)).length;
    const forbidden = data.scores[part] === -Infinity;
    say(this.name, this.picture.name(data, part));
    const used = `in ${using} of ${countOf(posterior.structures.length, data.noun)}`;
    say(this.numbers, forbidden ? "forbidden" : `marginal ${percent(posterior.marginals[part])}, ${used}`);
    const score = shortNumber(session.scores[part], 4);
    if (this.score.value !== score) this.score.value = score;
    this.score.disabled = forbidden;
    this.undo.style.visibility = session.scores[part] === data.scores[part] ? "hidden" : "visible";
  }

  /**
   * Show the chosen part in the lists.
   * @param {number} part
   */
  show(part) {
    const { shape } = this.session.data;
    let index = part;
    for (let i = shape.length - 1; i >= 0; i--) {
      this.selects[i].select.value = String(index % shape[i]);
      index = Math.floor(index / shape[i]);
    }
  }
}

/** @param {{label: string, names: string[]}} axis */
function selectOf({ label, names }) {
  const select = make("select", { "aria-label": label }, make("option", { value: -1 }, "–"),
    ...names.map((name, i) => make("option", { value: i }, name)));
  return { select, element: make("label", {}, `${label} `, select) };
}
