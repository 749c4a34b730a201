// @ts-check
// The line with the status of the solution.
import { make, say, shortNumber } from "./dom.js";
import { exponential } from "./session.js";

/** @typedef {import("./session.js").Session} Session */

const QUIET = 500; // milliseconds without a change before screen readers announce it

/** Number of structures, certificate, temperature and solve time. */
export class Certificate {
  constructor() {
    this.text = make("span", { class: "sparsewood-certificate" });
    this.time = make("span", { class: "sparsewood-faint" });
    this.aloud = make("span", { class: "sparsewood-hidden", "aria-live": "polite" });
    this.reset = make("button", { type: "button" }, "Reset scores");
    this.element = make("p", { class: "sparsewood-line" }, this.text, this.time, this.reset, this.aloud);
    this.speaking = 0;
  }

  /** @param {Session} session */
  update(session) {
    const { posterior, error } = session;
    const cooled = posterior.temperature < session.temperature * (1 - 1e-9);
    const said = [session.caption];
    if (posterior.status === "solved") said.push(`gap ${exponential(posterior.gap)}`);
    if (cooled) said.push(`temperature lowered to ${shortNumber(posterior.temperature)}`);
    if (session.limited) said.push(`figures show at most ${session.limit}`);
    const text = error || said.join(" · ");
    say(this.text, text);
    this.text.classList.toggle("sparsewood-warning", error !== "" || posterior.status !== "solved");
    say(this.time, ` · solved in ${session.ms.toFixed(1)} ms`);
    this.reset.disabled = !session.changed;
    // Announce once after a slider has stopped.
    clearTimeout(this.speaking);
    this.speaking = window.setTimeout(() => say(this.aloud, text), QUIET);
  }
}
