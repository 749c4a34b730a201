// @ts-check
// The page of `sparsewood serve`: a question, asked of the server, and what its runs say.
// What people have typed reaches the page as text alone.

/** @typedef {{heads?: number[], spans?: [number, number][], weight: number}} Tree */
/** @typedef {{words: string[], trees: Tree[], kept: number, unknown: string[],
 *    status: string | null, gap: number | null, figure: object | null,
 *    picture: string | null}} Side */
/** @typedef {{name: string, variant: string, temperature: number | null,
 *    prediction: Record<string, number>, sides: Side[], attention: string | null, notes: string[],
 *    error: string | null}} Said */
/** @typedef {{sides: string[], temperature: string}} Question */

const DRAWN = 5; // trees of a picture; a figure has all of them
const setup = JSON.parse(find("#setup").textContent ?? "");
const form = /** @type {HTMLFormElement} */ (find("#question"));
const answer = find("#answer");
const state = find("#state");
/** @type {HTMLTextAreaElement[]} */
const inputs = setup.sides.map(side);
const temperature = /** @type {HTMLInputElement} */ (find("[name=temperature]"));
/** @type {Promise<{destroy(): void} | null>[]} */
let figures = [];
/** @type {AbortController | null} */
let asking = null;

/** @param {string} selector @returns {HTMLElement} */
function find(selector) {
  const found = document.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`no ${selector}`);
  return found;
}

/**
 * An element with attributes and children; texts become text nodes.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string | null)} children
 */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The field of one sentence. @param {string} name */
function side(name) {
  const field = /** @type {HTMLTextAreaElement} */ (
    make("textarea", { class: "field", rows: "2", name })
  );
  find("#sides").append(make("label", {}, name, field));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  return field;
}

/** @returns {Question} */
function typed() {
  return { sides: inputs.map((input) => input.value.trim()), temperature: temperature.value };
}

/** A question as the part of an address behind #. @param {Question} question */
function written(question) {
  const parts = new URLSearchParams(question.sides.map((text) => ["q", text]));
  if (question.temperature) parts.set("temperature", question.temperature);
  return `#${parts}`;
}

/** The question of the address; null where there is none. @returns {Question | null} */
function linked() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const sides = parts.getAll("q");
  if (sides.length !== inputs.length) return null;
  return { sides, temperature: parts.get("temperature") ?? "" };
}

/** Words whose direction is their own. @param {string} text */
function apart(text) {
  return make("bdi", {}, text);
}

/** @param {Question} question */
function fill(question) {
  inputs.forEach((input, i) => (input.value = question.sides[i]));
  temperature.value = question.temperature;
}

/** @param {string} text @param {boolean} wrong */
function tell(text, wrong = false) {
  state.textContent = text;
  state.classList.toggle("wrong", wrong);
}

/** Ask the server, and show what it says. @param {Question} question */
async function ask(question) {
  asking?.abort();
  const [problem] = question.sides.map((text, i) => excess(text, setup.sides[i])).filter(Boolean);
  if (problem) {
    show([]);
    tell(problem, true);
    return;
  }
  const mine = (asking = new AbortController());
  answer.setAttribute("aria-busy", "true");
  tell("Asking …");
  try {
    const body = {
      sides: question.sides,
      most: DRAWN,
      ...(question.temperature ? { temperature: Number(question.temperature) } : {}),
    };
    const response = await fetch("/answer", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: mine.signal,
    });
    const found = await response.json();
    if (!response.ok) throw new Error(named(found.detail));
    show(found.runs);
  } catch (error) {
    if (mine.signal.aborted) return;
    const lost = error instanceof TypeError; // what `fetch` throws without a server
    show([]);
    tell(lost ? "The server does not answer: has it been stopped?" : String(error.message), true);
  } finally {
    if (asking === mine) answer.setAttribute("aria-busy", "false");
  }
}

/** What the server refuses, fields by the names that they have on the page. @param {string} detail */
function named(detail) {
  return detail.replace(/^sides\[(\d)\]/, (all, i) => setup.sides[i] ?? all);
}

/** Why a text is too long to be sent; null if it is not. @param {string} text @param {string} name */
function excess(text, name) {
  const characters = [...text].length;
  if (characters <= setup.characters) return null;
  const limits = `${setup.words} words and ${setup.characters.toLocaleString("en")} characters`;
  const words = text.split(/\s+/).length.toLocaleString("en");
  const typed = `${words} words and ${characters.toLocaleString("en")} characters`;
  return `${name}: expected at most ${limits}, got ${typed}`;
}

/** @param {Said[]} runs */
function show(runs) {
  for (const figure of figures) figure.then((mounted) => mounted?.destroy());
  figures = [];
  answer.replaceChildren(...runs.map(card));
  tell(runs.map(summary).join("; "));
}

/** What a run says, in a few words. @param {Said} said */
function summary(said) {
  if (said.error) return `${said.name}: no answer`;
  const best = told(said.prediction);
  const trees = said.sides.map((one) => one.kept || "no").join(" and ");
  const kept = `${trees} ${trees === "1" ? "tree" : "trees"}`;
  return `${said.name}: ${best ? `${best}, ` : ""}${kept}`;
}

/** What a prediction comes to: the best answer, a number, or all labels that are likelier than not. */
function told(/** @type {Said["prediction"]} */ prediction) {
  const answers = ranked(prediction);
  const several = setup.answer === "labels";
  const best = several ? answers.filter(([, p]) => p >= 0.5) : answers.slice(0, 1);
  if (several && !best.length) return "no label";
  return best.map(([label, value]) => `${label} ${shown(value)}`).join(", ");
}

/** The best answers first; objects sort names that are numbers. @param {Said["prediction"]} found */
function ranked(found) {
  return Object.entries(found).sort((a, b) => b[1] - a[1]);
}

/** @param {number} value */
function shown(value) {
  if (setup.answer === "number") return String(Number(value.toPrecision(4)));
  return setup.probabilities ? `${(100 * value).toFixed(1)} %` : value.toFixed(3);
}

/** All that a run says. @param {Said} said */
function card(said) {
  const about = [said.variant];
  if (said.temperature !== null) about.push(`temperature ${Number(said.temperature.toPrecision(4))}`);
  const made = make(
    "article",
    { "aria-label": said.name },
    make("h2", {}, said.name),
    make("p", {}, about.join(", ")),
    said.error ? make("p", { class: "wrong" }, said.error) : null,
    ...said.notes.map((note) => make("p", { class: "wrong" }, note)),
    Object.keys(said.prediction).length ? numbers(said.prediction) : null,
    ...said.sides.flatMap((one, i) => trees(one, said.sides.length > 1 ? setup.sides[i] : null)),
    said.attention ? make("h3", {}, "attention") : null,
    said.attention ? drawn(said.attention, "who attends to whom") : null,
  );
  if (said.temperature !== null) made.addEventListener("change", (event) => offer(said, made, event));
  return made;
}

/**
 * Offer to ask again at the temperature that a figure was set to.
 * @param {Said} said
 * @param {HTMLElement} made
 * @param {Event} event
 */
function offer(said, made, event) {
  const figure = /** @type {any} */ (event.target).closest(".sparsewood-live")?.sparsewood;
  if (!figure) return;
  const wanted = String(Number(figure.state().settings.temperature.toPrecision(4)));
  made.querySelector(".again")?.remove();
  if (Number(wanted) === said.temperature) return;
  const again = make("button", { type: "button", class: "button again" });
  again.textContent = `Predict at temperature ${wanted}`;
  again.addEventListener("click", () => {
    temperature.value = wanted;
    form.requestSubmit();
  });
  made.querySelector("p")?.append(again);
}

/** Shares as bars, a number as it is. @param {Said["prediction"]} prediction */
function numbers(prediction) {
  if (setup.answer !== "number") return bars(prediction);
  return make("p", { class: "told" }, make("strong", {}, told(prediction)));
}

/** @param {Said["prediction"]} prediction */
function bars(prediction) {
  const rows = ranked(prediction).flatMap(([label, value]) => {
    const bar = make("div", { class: "bar" });
    bar.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
    return [
      make("dt", {}, apart(label)),
      make("dd", { "aria-hidden": "true" }, bar),
      make("dd", { class: "number" }, shown(value)),
    ];
  });
  return make("dl", { class: "bars" }, ...rows);
}

/** The trees of a sentence. @param {Side} one @param {string | null} name */
function trees(one, name) {
  const told = [];
  if (name) told.push(make("h3", {}, name));
  if (one.unknown.length) {
    const words = one.unknown.flatMap((word) => [apart(word), " "]);
    told.push(make("p", { class: "unknown" }, "unknown words: ", ...words));
  }
  if (one.figure) {
    const figure = make("div", { class: "figure sparsewood-live" });
    // It is drawn to the width it has, and has none before it is in the page.
    queueMicrotask(() => figures.push(globalThis.sparsewood.mount(figure, one.figure)));
    return [...told, figure];
  }
  if (one.picture === null) return [...told, make("p", {}, "read without a tree")];
  if (one.kept > one.trees.length) {
    told.push(make("p", {}, `the likeliest ${one.trees.length} of ${one.kept} trees`));
  }
  const alt = one.trees.map((t) => `${(100 * t.weight).toFixed(1)} %: ${spelled(t, one.words)}`);
  return [...told, drawn(one.picture, alt.join("; "))];
}

/** A picture that the server drew. @param {string} svg @param {string} alt */
function drawn(svg, alt) {
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const image = make("img", { src: address, alt });
  const width = Number(/ width="([\d.]+)"/.exec(svg)?.[1]);
  image.style.minWidth = `${0.7 * width}px`; // before that it shrinks, then it scrolls
  return make("div", { class: "picture", tabindex: "0" }, image);
}

/** A tree in letters: its heads, or brackets around its words. @param {Tree} tree @param {string[]} words */
function spelled(tree, words) {
  if (!tree.spans) return `heads ${tree.heads?.join(" ")}`;
  const several = tree.spans.filter(([first, last]) => first < last);
  const marks = (/** @type {0 | 1} */ end, /** @type {number} */ i) =>
    several.filter((span) => span[end] === i).length;
  return words.map((word, i) => "(".repeat(marks(0, i)) + word + ")".repeat(marks(1, i))).join(" ");
}

/** @param {string[]} sides */
function example(sides) {
  const button = make("button", { type: "button", class: "button" });
  button.append(...sides.flatMap((text, i) => (i ? [" / ", apart(text)] : [apart(text)])));
  button.addEventListener("click", () => {
    fill({ sides, temperature: temperature.value });
    form.requestSubmit();
  });
  return button;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = typed();
  const empty = question.sides.indexOf("");
  if (empty >= 0) {
    inputs[empty].focus();
    tell(`Type a ${setup.sides[empty]}.`, true);
    return;
  }
  if (written(question) !== location.hash) history.pushState(null, "", written(question));
  ask(question);
});

addEventListener("popstate", () => {
  const question = linked();
  if (question) {
    fill(question);
    ask(question);
  }
});

find("#runs").textContent = setup.runs
  .map((/** @type {{name: string, variant: string}} */ run) => `${run.name} (${run.variant})`)
  .join(" · ");
find("#temperature").hidden = setup.runs.every(
  (/** @type {{temperature: number | null}} */ run) => run.temperature === null,
);
find("#examples").append(...setup.examples.map(example));
const first = linked();
if (first) {
  fill(first);
  ask(first);
} else {
  inputs[0].focus();
}
