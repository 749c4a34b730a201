// @ts-check
// The state of a figure: current scores, settings, and solutions.

/**
 * @typedef {import("./types.js").Data} Data
 * @typedef {import("./sparsewood.js").Solver} Solver
 * @typedef {import("./sparsewood.js").Posterior} Posterior
 * @typedef {import("./sparsewood.js").Ranking} Ranking
 * @typedef {{key: string, structure: Int32Array, parts: Int32Array, weight: number, score: number}} Entry
 *   a structure; key: equal for equal ones, weight: 0 outside of the support
 */

const LIMIT = 256; // maximum number of structures, found within a few frames
const DRAWN = 800; // maximum parts of the picture; more would be indistinguishable
const KBEST = 16; // maximum k of the k best, if the number of structures is not limited

/** One instance with its settings; results are computed lazily and cached until a change. */
export class Session {
  /**
   * @param {Data} data
   * @param {Solver} solver
   */
  constructor(data, solver) {
    this.data = data;
    this.solver = solver;
    this.scores = data.scores.slice();
    this.temperature = data.temperature;
    this.most = data.most;
    this.cap = data.cap;
    /** upper limit of the number of structures */
    this.limit = LIMIT;
    /** @type {Map<string, Entry>} pinned structures, shown whatever their weight */
    this.pinned = new Map();
    /** @type {Posterior | null} */
    this.solved = null;
    /** @type {Posterior | null} the previous solution, used until there is a new one */
    this.before = null;
    /** why there is no solution; empty if there is one */
    this.error = "";
    /** @type {Entry[] | null} */
    this.kept = null;
    /** @type {Set<number> | null} */
    this.shared = null;
    /** @type {{k: number, ranking: Ranking} | null} */
    this.ranked = null;
    /** milliseconds of the last solve */
    this.ms = 0;
  }

  /** @param {{temperature?: number, most?: number | null, cap?: "support" | "active"}} settings */
  set(settings) {
    Object.assign(this, settings);
    this.solved = null;
  }

  /**
   * @param {number} part
   * @param {number} score
   */
  setScore(part, score) {
    this.scores[part] = score;
    this.solved = this.ranked = null;
  }

  reset() {
    this.scores.set(this.data.scores);
    this.solved = this.ranked = null;
  }

  get changed() {
    return this.scores.some((score, part) => score !== this.data.scores[part]);
  }

  get problem() {
    return { ...this.data, scores: this.scores };
  }

  /** @returns {Posterior} */
  get posterior() {
    if (!this.solved) {
      this.solved = this.solve();
      this.kept = this.shared = null;
    }
    return this.solved;
  }

  /** The solution, or the previous one if scores forbid all structures. @returns {Posterior} */
  solve() {
    const start = performance.now();
    const most = Math.min(this.most ?? this.limit, this.limit);
    const cooled = this.cap === "support" && this.most !== null;
    // An optimum needs at most one structure more than parts, so a larger limit never binds.
    const free = this.most === null && this.scores.length < this.limit;
    const caps = free ? {} : cooled ? { maxSupport: most } : { maxActive: most };
    try {
      this.before = this.solver.sparsemap(this.problem, { temperature: this.temperature, ...caps });
      this.error = "";
    } catch (error) {
      if (!this.before || !(error instanceof Error)) throw error;
      const none = `No ${this.data.noun} is left: each one uses a forbidden ${this.data.part}.`;
      this.error = error.message.includes("no structure left") ? none : error.message;
    }
    this.ms = performance.now() - start;
    return this.before;
  }

  /** The support by decreasing weight. @returns {Entry[]} */
  get support() {
    const { structures, parts, weights } = this.posterior;
    this.kept ??= structures
      .map((structure, t) => this.entry(structure, parts[t], weights[t]))
      .sort((a, b) => b.weight - a.weight);
    return this.kept;
  }

  /** Parts that all structures of the support use. @returns {Set<number>} */
  get certain() {
    const { parts } = this.posterior;
    if (!this.shared) {
      /** @type {Map<number, number>} */
      const uses = new Map();
      for (const some of parts) for (const part of some) uses.set(part, (uses.get(part) ?? 0) + 1);
      const all = [...uses.keys()].filter((part) => uses.get(part) === parts.length);
      this.shared = new Set(parts.length > 1 ? all : []);
    }
    return this.shared;
  }

  /** The k best structures, with k the maximum size of the support. @returns {Entry[]} */
  get best() {
    const k = this.most ?? Math.min(KBEST, this.posterior.structures.length);
    if (this.error) return [];
    if (!this.ranked || this.ranked.k < k) {
      this.ranked = { k, ranking: this.solver.kbest(this.problem, k) };
    }
    const weights = new Map(this.support.map(({ key, weight }) => [key, weight]));
    const { structures, parts } = this.ranked.ranking;
    return structures.slice(0, k).map((structure, t) => {
      const entry = this.entry(structure, parts[t], 0);
      return { ...entry, weight: weights.get(entry.key) ?? 0 };
    });
  }

  /** The pinned structures with their current weights. @returns {Entry[]} */
  get pins() {
    const weights = new Map(this.support.map(({ key, weight }) => [key, weight]));
    return [...this.pinned.values()].map((entry) => ({
      ...this.entry(entry.structure, entry.parts, weights.get(entry.key) ?? 0),
    }));
  }

  /**
   * @param {Int32Array} structure
   * @param {Int32Array} parts
   * @param {number} weight
   * @returns {Entry}
   */
  entry(structure, parts, weight) {
    let score = 0;
    for (const part of parts) score += this.scores[part];
    return { key: structure.join(), structure, parts, weight, score };
  }

  /** The marginals, with 0 for values too small to draw. @returns {Float64Array} */
  get drawn() {
    const { marginals } = this.posterior;
    if (marginals.length <= DRAWN) return marginals;
    const least = marginals.slice().sort()[marginals.length - DRAWN];
    return least > 0 ? marginals.map((marginal) => (marginal < least ? 0 : marginal)) : marginals;
  }

  /** Whether the solve stopped at a limit of the figure. */
  get limited() {
    const { status, structures } = this.posterior;
    return status === "capped" && structures.length >= this.limit && (this.most ?? Infinity) > this.limit;
  }

  /** The number of structures and whether they are certified, as in Python. */
  get caption() {
    const { structures, status, gap } = this.posterior;
    const kept = countOf(structures.length, this.data.noun);
    if (status === "solved") return `${kept}, certified`;
    return `${kept}, not certified: ${status} (gap ${exponential(gap)})`;
  }
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function countOf(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * A noun with its article.
 * @param {string} noun
 */
export function one(noun) {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/**
 * A small number in Python's format `.1e`, except zero.
 * @param {number} value
 */
export function exponential(value) {
  if (value === 0) return "0";
  return value.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2");
}
