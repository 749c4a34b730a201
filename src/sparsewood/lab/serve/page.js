// @ts-check
// The page of `sparsewood serve`: sends a question to the server and shows the answers of its runs.
// User input is only ever inserted as text nodes.

/** @typedef {{heads?: number[], spans?: [number, number][], weight: number}} Tree */
/** @typedef {{words: string[], trees: Tree[], kept: number, unknown: string[],
 *    status: string | null, gap: number | null, figure: object | null,
 *    picture: string | null}} Side */
/** @typedef {{name: string, variant: string, temperature: number | null,
 *    prediction: Record<string, number>, sides: Side[], attention: string | null, notes: string[],
 *    error: string | null}} Said */
/** @typedef {{sides: string[], temperature: string}} Question */

const DRAWN = 5; // trees in a picture; a figure has all of them
const [LEADING, TINY] = [3, 0.0005]; // answers that are always shown; smaller probabilities are left out
const NEAR = 0.8; // share of a limit from which on the page says how long a text is
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
  const room = make("span", { class: "room", role: "status" });
  find("#sides").append(make("div", {}, make("label", {}, name, field), room));
  field.addEventListener("input", () => tellRoom(field, room));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  return field;
}

/**
 * Say how long a text is once it comes near the limit, before it is sent.
 * @param {HTMLTextAreaElement} field
 * @param {HTMLElement} room
 */
function tellRoom(field, room) {
  const [words, characters] = lengthOf(field.value.trim());
  const of = (/** @type {number} */ n, /** @type {number} */ most, /** @type {string} */ what) =>
    `${n.toLocaleString("en")} of at most ${most.toLocaleString("en")} ${what}`;
  const told = [
    words > NEAR * setup.words ? of(words, setup.words, "words") : "",
    characters > NEAR * setup.characters ? of(characters, setup.characters, "characters") : "",
  ].filter(Boolean);
  const over = words > setup.words || characters > setup.characters;
  room.textContent = told.join(", ") + (over ? ": too long, shorten it" : "");
  room.classList.toggle("wrong", over);
}

/** The words and characters of a text; the server may split it into more words. @param {string} text */
function lengthOf(text) {
  const words = setup.operations ? text.match(/[[\]()]|[^\s,[\]()]+/g) : text.match(/\S+/g);
  const operators = setup.operations ? text.match(/\[\s*[A-Za-z]/g) : null; // one word with its bracket
  return [(words?.length ?? 0) - (operators?.length ?? 0), [...text].length];
}

/** @returns {Question} */
function typed() {
  return { sides: inputs.map((input) => input.value.trim()), temperature: temperature.value };
}

/** A question as the fragment of an address. @param {Question} question */
function written(question) {
  const parts = new URLSearchParams(question.sides.map((text) => ["q", text]));
  if (question.temperature) parts.set("temperature", question.temperature);
  return `#${parts}`;
}

/** The question in the address; null if there is none. @returns {Question | null} */
function linked() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const sides = parts.getAll("q");
  if (sides.length !== inputs.length) return null;
  return { sides, temperature: parts.get("temperature") ?? "" };
}

/** Text with its own writing direction. @param {string} text */
function apart(text) {
  return make("bdi", {}, text);
}

/** @param {Question} question */
function fill(question) {
  inputs.forEach((input, i) => {
    input.value = question.sides[i];
    input.dispatchEvent(new Event("input"));
  });
  temperature.value = question.temperature;
}

/** @param {string} text @param {boolean} wrong */
function tell(text, wrong = false) {
  state.textContent = text;
  state.classList.toggle("wrong", wrong);
}

/** Ask the server and show its answer. @param {Question} question */
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
    const lost = error instanceof TypeError; // thrown by `fetch` if the server is not reachable
    show([]);
    tell(lost ? "The server does not respond. Has it been stopped?" : String(error.message), true);
  } finally {
    if (asking === mine) answer.setAttribute("aria-busy", "false");
  }
}

/** The refusal of the server, with the field names of the page. @param {string} detail */
function named(detail) {
  return detail.replace(/^sides\[(\d)\]/, (all, i) => setup.sides[i] ?? all);
}

/** The error of a text that is too long; null if it is not. @param {string} text @param {string} name */
function excess(text, name) {
  const [count, characters] = lengthOf(text);
  if (count <= setup.words && characters <= setup.characters) return null;
  const limits = `${setup.words} words and ${setup.characters.toLocaleString("en")} characters`;
  const typed = `${count.toLocaleString("en")} words and ${characters.toLocaleString("en")} characters`;
  return `${name}: expected at most ${limits}, got ${typed}`;
}

/** @param {Said[]} runs */
function show(runs) {
  for (const figure of figures) figure.then((mounted) => mounted?.destroy());
  figures = [];
  answer.replaceChildren(...runs.map(card));
  tell(runs.map(summary).join("; "));
}

/** The answer of a run in a few words. @param {Said} said */
function summary(said) {
  if (said.error) return `${said.name}: no answer`;
  const best = told(said.prediction);
  const trees = said.sides.map((one) => one.kept || "no").join(" and ");
  const kept = `${trees} ${trees === "1" ? "tree" : "trees"}`;
  return `${said.name}: ${best ? `${best}, ` : ""}${kept}`;
}

/** The prediction in words: the best answer, a number, or all labels with a probability of at least 1/2. */
function told(/** @type {Said["prediction"]} */ prediction) {
  const answers = ranked(prediction);
  const several = setup.answer === "labels";
  const best = several ? answers.filter(([, p]) => p >= 0.5) : answers.slice(0, 1);
  if (several && !best.length) return "no label";
  return best.map(([label, value]) => `${label} ${shown(value)}`).join(", ");
}

/** The answers, best first; objects sort numeric keys. @param {Said["prediction"]} found */
function ranked(found) {
  return Object.entries(found).sort((a, b) => b[1] - a[1]);
}

/** @param {number} value */
function shown(value) {
  if (setup.answer === "number") return String(Number(value.toPrecision(4)));
  return setup.probabilities ? `${(100 * value).toFixed(1)} %` : value.toFixed(3);
}

/** The answer of a run. @param {Said} said */
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
    said.attention ? drawn(said.attention, "attention between the sentences") : null,
  );
  if (said.temperature !== null) made.addEventListener("change", (event) => offer(said, made, event));
  return made;
}

/**
 * A button that asks again at the temperature of a figure.
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

/** Probabilities as bars; a number as text. @param {Said["prediction"]} prediction */
function numbers(prediction) {
  if (setup.answer !== "number") return bars(prediction);
  return make("p", { class: "told" }, make("strong", {}, told(prediction)));
}

/** @param {Said["prediction"]} prediction */
function bars(prediction) {
  const shares = ranked(prediction).filter(([, p], i) => i < LEADING || !setup.probabilities || p >= TINY);
  const rows = shares.flatMap(([label, value]) => {
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
  /** @type {HTMLElement[]} */
  const told = [];
  if (name) told.push(make("h3", {}, name));
  if (one.unknown.length) {
    const words = one.unknown.flatMap((word) => [apart(word), " "]);
    told.push(make("p", { class: "unknown" }, "unknown words: ", ...words));
  }
  if (one.figure) {
    if (/** @type {any} */ (one.figure).given) told.push(legend());
    const figure = make("div", { class: "figure sparsewood-live" });
    // A figure is drawn to its width, which is known only once it is in the page.
    queueMicrotask(() => figures.push(globalThis.sparsewood.mount(figure, one.figure)));
    return [...told, figure];
  }
  if (one.picture === null) return [...told, make("p", {}, "read without a tree")];
  if (one.kept > one.trees.length) {
    told.push(make("p", {}, `the most probable ${one.trees.length} of ${one.kept} trees`));
  }
  if (/sparsewood-(agree|differ)/.test(one.picture)) told.push(legend());
  const alt = one.trees.map((t) => `${(100 * t.weight).toFixed(1)} %: ${spelled(t, one.words)}`);
  return [...told, drawn(one.picture, alt.join("; "))];
}

/** What the colours of arcs say, as in reports. */
function legend() {
  return make("p", {}, make("span", { class: "key agree" }, "Solid blue"),
    " arcs agree with the given tree, ", make("span", { class: "key differ" }, "dashed orange"), " arcs differ.");
}

/** A picture drawn by the server. @param {string} svg @param {string} alt */
function drawn(svg, alt) {
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const image = make("img", { src: address, alt });
  const width = Number(/ width="([\d.]+)"/.exec(svg)?.[1]);
  image.style.minWidth = `${0.7 * width}px`; // wider pictures shrink to this width, then scroll
  return make("div", { class: "picture", tabindex: "0" }, image);
}

/** A tree as text: its heads, or brackets around its words. @param {Tree} tree @param {string[]} words */
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
