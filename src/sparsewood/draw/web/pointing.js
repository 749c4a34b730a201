// @ts-check
// Pointer and keyboard events on the parts of a picture.

/**
 * @typedef {{hover: (part: number | null) => void, choose: (part: number | null) => void,
 *   chosen: () => number | null, score: (part: number) => number, change: (part: number, score: number) => void,
 *   step: (part: number, steps: number) => void, edit: () => void}} Actions
 */

const DRAGGED = 3; // pixels until a press counts as a drag
const SAMPLES = 48; // points per line for distances
const NEARER = 2; // pixels by which another part must be closer than the chosen one

/**
 * @param {EventTarget | null} target
 * @returns {number | null} the part that an element belongs to
 */
function partAt(target) {
  const group = target instanceof Element ? target.closest("[data-part]") : null;
  return group ? Number(group.getAttribute("data-part")) : null;
}

/**
 * The part whose line is nearest, as many lines meet where arcs end.
 * @param {SVGSVGElement} svg
 * @param {MouseEvent} event
 * @param {number | null} chosen
 * @returns {number | null}
 */
function nearestPart(svg, event, chosen) {
  let [nearest, least] = [partAt(event.target), Infinity];
  for (const hit of document.elementsFromPoint(event.clientX, event.clientY)) {
    const part = svg.contains(hit) ? partAt(hit) : null;
    if (part === null) continue;
    const away = hit instanceof SVGPathElement ? distanceTo(hit, event) : 0;
    const handicap = part === chosen ? 0 : NEARER;
    if (away + handicap < least) [nearest, least] = [part, away + handicap];
  }
  return nearest;
}

/**
 * @param {SVGPathElement} path
 * @param {MouseEvent} event
 */
function distanceTo(path, event) {
  const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(path.getScreenCTM()?.inverse());
  const length = path.getTotalLength();
  let least = Infinity;
  for (let i = 0; i <= SAMPLES; i++) {
    const { x, y } = path.getPointAtLength((length * i) / SAMPLES);
    least = Math.min(least, Math.hypot(x - place.x, y - place.y));
  }
  return least;
}

/**
 * @param {SVGSVGElement} svg
 * @param {number} perPixel change of a score per pixel dragged
 * @param {Actions} actions
 */
export function listenToParts(svg, perPixel, actions) {
  /** @type {{part: number, y: number, score: number, moved: boolean} | null} */
  let drag = null;
  svg.addEventListener("pointerover", (event) => {
    if (!drag) actions.hover(nearestPart(svg, event, actions.chosen()));
  });
  svg.addEventListener("pointerleave", () => {
    if (!drag) actions.hover(null);
  });
  svg.addEventListener("pointerdown", (event) => {
    const part = nearestPart(svg, event, actions.chosen());
    if (event.button !== 0) return;
    actions.choose(part);
    if (part === null) return;
    event.preventDefault(); // do not select text
    focusPart(svg, part);
    svg.setPointerCapture(event.pointerId);
    drag = { part, y: event.clientY, score: actions.score(part), moved: false };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!drag) return actions.hover(nearestPart(svg, event, actions.chosen()));
    const up = drag.y - event.clientY;
    if (!drag.moved && Math.abs(up) < DRAGGED) return;
    drag.moved = true;
    if (drag.score > -Infinity) actions.change(drag.part, drag.score + up * perPixel);
  });
  for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) {
    svg.addEventListener(end, () => {
      drag = null;
    });
  }
  svg.addEventListener("focusin", (event) => actions.choose(partAt(event.target)));
  svg.addEventListener("keydown", (event) => {
    const part = partAt(event.target);
    if (part !== null && pressed(svg, part, event, actions)) event.preventDefault();
  });
}

/**
 * @param {SVGSVGElement} svg
 * @param {number} part
 * @param {KeyboardEvent} event
 * @param {Actions} actions
 * @returns {boolean} whether the key was handled
 */
function pressed(svg, part, event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const parts = [...svg.querySelectorAll("[data-part]")].map(partAt).sort((a, b) => Number(a) - Number(b));
  const place = parts.indexOf(part);
  const steps = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case "ArrowUp": actions.step(part, steps); return true;
    case "ArrowDown": actions.step(part, -steps); return true;
    case "ArrowRight": focusPart(svg, parts[Math.min(place + 1, parts.length - 1)]); return true;
    case "ArrowLeft": focusPart(svg, parts[Math.max(place - 1, 0)]); return true;
    case "Home": focusPart(svg, parts[0]); return true;
    case "End": focusPart(svg, parts[parts.length - 1]); return true;
    case "Delete": actions.change(part, -Infinity); return true;
    case "Enter":
    case " ": actions.edit(); return true;
    case "Escape": actions.choose(null); return true;
    default: return false;
  }
}

/**
 * @param {SVGSVGElement} svg
 * @param {number | null} part
 */
export function focusPart(svg, part) {
  const group = svg.querySelector(`[data-part="${part}"]`);
  if (group instanceof SVGElement) group.focus({ preventScroll: false });
}

/**
 * Only one part is in the tab order; the others are reached by arrow keys.
 * @param {SVGSVGElement} svg
 * @param {number | null} chosen
 */
export function roveParts(svg, chosen) {
  const groups = [...svg.querySelectorAll("[data-part]")];
  const reached = groups.find((group) => partAt(group) === chosen) ?? groups[0];
  for (const group of groups) {
    const index = group === reached ? "0" : "-1";
    if (group.getAttribute("tabindex") !== index) group.setAttribute("tabindex", index);
  }
}
