// @ts-check
// All scores as a heat map: a cell per part, coloured by score, with a dot for its marginal.
import { make } from "./dom.js";
import { printable, textWidth } from "./text.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {{label: string, names: string[]}} Axis
 */

const LABEL = 74; // maximum width of the names of rows and columns in pixels
const HUE = "#12937f";

/** A canvas over the first two dimensions of the scores, with the maximum over further ones. */
export class Matrix {
  /**
   * @param {Session} session
   * @param {Axis[]} axes
   * @param {{hover: (part: number | null) => void, choose: (part: number) => void}} actions
   */
  constructor(session, axes, actions) {
    this.session = session;
    this.axes = axes;
    const { shape } = session.data;
    this.rows = shape.length > 1 ? shape[0] : 1;
    this.columns = shape.length > 1 ? shape[1] : shape[0];
    this.deep = session.data.scores.length / (this.rows * this.columns);
    this.canvas = make("canvas", { role: "img", "aria-label": "All scores; choose a part by the lists above" });
    this.element = make("details", { class: "sparsewood-matrix" },
      make("summary", {}, "All scores"),
      make("p", { class: "sparsewood-faint" }, "Rows: ", axes.length > 1 ? axes[0].label : "", ", columns: ",
        axes[Math.min(1, axes.length - 1)].label,
        ". Stronger colours are higher scores; the dot is the marginal. Click to choose a part."),
      make("div", { class: "sparsewood-scroll" }, this.canvas));
    this.canvas.addEventListener("pointermove", (event) => actions.hover(this.partAt(event)));
    this.canvas.addEventListener("pointerleave", () => actions.hover(null));
    this.canvas.addEventListener("click", (event) => {
      const part = this.partAt(event);
      if (part !== null) actions.choose(part);
    });
    this.element.addEventListener("toggle", () => this.update(this.chosen));
    /** @type {number | null} */
    this.chosen = null;
    const longest = Math.max(...axes.slice(0, 2).flatMap(({ names }) => names.map((name) => textWidth(name, 11))));
    this.room = Math.min(LABEL, Math.ceil(longest) + 10); // for names
  }

  get cell() {
    return Math.max(9, Math.min(22, Math.floor(700 / this.columns)));
  }

  /** @param {MouseEvent} event */
  partAt(event) {
    const row = Math.floor((event.offsetY - this.room) / this.cell);
    const column = Math.floor((event.offsetX - this.room) / this.cell);
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return null;
    return this.best(row, column);
  }

  /**
   * @param {number} row
   * @param {number} column
   */
  best(row, column) {
    const first = (row * this.columns + column) * this.deep;
    let part = first;
    for (let i = first; i < first + this.deep; i++) {
      if (this.session.scores[i] > this.session.scores[part]) part = i;
    }
    return part;
  }

  /** @param {number | null} chosen */
  update(chosen) {
    this.chosen = chosen;
    if (!this.element.open) return;
    const [cell, density] = [this.cell, window.devicePixelRatio || 1];
    const [width, height] = [this.room + cell * this.columns + 2, this.room + cell * this.rows + 2];
    Object.assign(this.canvas, { width: width * density, height: height * density });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.scale(density, density);
    const ink = getComputedStyle(this.canvas).color;
    this.names(pen, ink);
    this.cells(pen, ink);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  names(pen, ink) {
    pen.font = "11px Helvetica, Arial, sans-serif";
    pen.fillStyle = ink;
    const shown = (/** @type {string} */ name) => {
      const text = printable(name);
      return text.length > 11 ? `${text.slice(0, 10)}…` : text;
    };
    pen.textAlign = "right";
    if (this.rows > 1) {
      this.axes[0].names.forEach((name, i) => {
        pen.fillText(shown(name), this.room - 6, this.room + this.cell * (i + 0.5) + 4, this.room - 8);
      });
    }
    pen.textAlign = "left";
    this.axes[this.rows > 1 ? 1 : 0].names.forEach((name, j) => {
      pen.save();
      pen.translate(this.room + this.cell * (j + 0.5) + 4, this.room - 6);
      pen.rotate(-Math.PI / 2);
      pen.fillText(shown(name), 0, 0, this.room - 8);
      pen.restore();
    });
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} ink
   */
  cells(pen, ink) {
    const { scores, posterior } = this.session;
    const finite = scores.filter((score) => score > -Infinity);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const part = this.best(row, column);
        const [x, y] = [this.room + column * this.cell, this.room + row * this.cell];
        if (scores[part] === -Infinity) continue;
        pen.globalAlpha = 0.04 + 0.8 * ((scores[part] - low) / (high - low || 1)) ** 2;
        pen.fillStyle = HUE;
        pen.fillRect(x, y, this.cell - 1, this.cell - 1);
        pen.globalAlpha = 1;
        const first = (row * this.columns + column) * this.deep;
        const marginal = posterior.marginals.subarray(first, first + this.deep).reduce((a, b) => a + b, 0);
        pen.fillStyle = ink;
        if (marginal > 0) {
          pen.beginPath();
          const radius = ((this.cell - 1) / 2) * (0.2 + 0.55 * Math.min(1, marginal));
          pen.arc(x + (this.cell - 1) / 2, y + (this.cell - 1) / 2, radius, 0, 2 * Math.PI);
          pen.fill();
        }
        if (this.chosen !== null && this.chosen >= first && this.chosen < first + this.deep) {
          pen.strokeStyle = ink;
          pen.lineWidth = 2;
          pen.strokeRect(x, y, this.cell - 1, this.cell - 1);
        }
      }
    }
  }
}
