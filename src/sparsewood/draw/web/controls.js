// @ts-check
// The settings of a figure: temperature, maximum number of structures, and kind of cap.
import { make, say, shortNumber } from "./dom.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {(settings: {temperature?: number, most?: number | null, cap?: "support" | "active"}) => void} Change
 */

const OCTAVES = 8; // the temperature slider ranges from 2^-8 to 2^8
const MOST = 16; // the last value of the slider before "all"
let figures = 0; // makes names of radio buttons unique within a page

/** Sliders and inputs; `update` shows the current settings. */
export class Controls {
  /**
   * @param {Session} session
   * @param {Change} change
   */
  constructor(session, change) {
    this.session = session;
    const noun = session.data.noun;
    const last = Math.max(MOST, session.data.most ?? 0) + 1;
    this.slider = make("input", {
      type: "range", min: -OCTAVES, max: OCTAVES, step: 1 / 16, "aria-label": "Temperature, logarithmic",
    });
    this.number = make("input", {
      type: "text", inputmode: "decimal", size: 6, "aria-label": "Temperature", autocomplete: "off",
    });
    this.most = make("input", {
      type: "range", min: 1, max: last, step: 1, "aria-label": `Maximum number of ${noun}s`,
    });
    this.mostText = make("output", {});
    this.cap = this.choice(change);
    this.element = make("div", { class: "sparsewood-controls" },
      make("div", { class: "sparsewood-control" },
        make("div", { class: "sparsewood-label" }, "Temperature", this.number), this.slider,
        make("div", { class: "sparsewood-ends", "aria-hidden": "true" },
          make("span", {}, "one " + noun), make("span", {}, "many"))),
      make("div", { class: "sparsewood-control" },
        make("div", { class: "sparsewood-label" }, `At most`, this.mostText), this.most, this.cap.element));
    this.slider.addEventListener("input", () => {
      change({ temperature: 2 ** Number(this.slider.value) });
    });
    this.number.addEventListener("change", () => {
      const temperature = Number(this.number.value);
      if (temperature > 0 && temperature < Infinity) change({ temperature });
      else this.update();
    });
    this.most.addEventListener("input", () => {
      const most = Number(this.most.value);
      change({ most: most === last ? null : most });
    });
    this.last = last;
  }

  /** @param {Change} change */
  choice(change) {
    const name = `sparsewood-cap-${figures++}`;
    const radios = /** @type {const} */ ([["support", "lower the temperature"], ["active", "stop early"]])
      .map(([cap, text]) => {
        const radio = make("input", { type: "radio", name, value: cap });
        radio.addEventListener("change", () => change({ cap }));
        return { cap, radio, element: make("label", {}, radio, text) };
      });
    const element = make("fieldset", { class: "sparsewood-cap" },
      make("legend", { class: "sparsewood-hidden" }, "How to limit them"),
      ...radios.map((radio) => radio.element));
    return { radios, element };
  }

  update() {
    const { temperature, most, cap, data } = this.session;
    const octave = Math.log2(temperature);
    if (2 ** Number(this.slider.value) !== temperature) this.slider.value = String(octave);
    this.slider.setAttribute("aria-valuetext", shortNumber(temperature));
    if (document.activeElement !== this.number || Number(this.number.value) !== temperature) {
      this.number.value = shortNumber(temperature, 4);
    }
    this.most.value = String(most ?? this.last);
    const said = most === null ? `all ${data.noun}s` : `${most} ${data.noun}${most === 1 ? "" : "s"}`;
    this.most.setAttribute("aria-valuetext", said);
    say(this.mostText, said);
    this.cap.element.toggleAttribute("disabled", most === null);
    for (const { cap: value, radio } of this.cap.radios) radio.checked = value === cap;
  }
}
