// @ts-check
// The figure as a notebook widget, synchronised with Python.
import { mount } from "./mount.js";

/**
 * @param {{model: any, el: HTMLElement}} widget as given by anywidget
 * @returns {Promise<(() => void) | undefined>} a function that cleans up
 */
async function render({ model, el }) {
  const host = el.appendChild(document.createElement("div"));
  host.addEventListener("keydown", (event) => {
    // Otherwise keys are commands of the notebook: arrows leave the cell, "dd" deletes it.
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  const asked = () => ({ temperature: model.get("temperature"), most: model.get("most"), scores: model.get("scores") });
  const figure = await mount(host, { ...model.get("data"), ...asked() });
  if (!figure) return undefined;
  const plain = (/** @type {Float64Array} */ scores) => Array.from(scores, (score) => (score === -Infinity ? null : score));
  const now = () => {
    const { settings, scores } = figure.state();
    return { temperature: settings.temperature, most: settings.most, scores: plain(scores) };
  };
  let telling = false;
  const tell = () => {
    const { structures, weights, pinned } = figure.state();
    const told = {
      ...now(),
      structures: structures.map((structure) => Array.from(structure)),
      weights: Array.from(weights),
      pinned: pinned.map((key) => (key === "" ? [] : key.split(",").map(Number))),
    };
    telling = true;
    for (const [name, value] of Object.entries(told)) model.set(name, value);
    telling = false;
    model.save_changes();
  };
  const hear = () => {
    // Ignore echoes of our own changes.
    if (!telling && JSON.stringify(asked()) !== JSON.stringify(now())) figure.set(asked());
  };
  const heard = ["temperature", "most", "scores"].map((name) => `change:${name}`);
  for (const name of heard) model.on(name, hear);
  host.addEventListener("sparsewood-change", tell);
  tell();
  return () => {
    for (const name of heard) model.off(name, hear);
    figure.destroy();
  };
}

export default { render };
