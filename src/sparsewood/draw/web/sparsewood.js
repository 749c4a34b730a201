// @ts-check
// The JavaScript interface of the solver in sparsewood.wasm.

/**
 * One instance.
 * @typedef {object} Problem
 * @property {string} family the name of a native family: the first of `structure.native` in Python
 * @property {ArrayLike<number>} options of the family: the second of `structure.native`
 * @property {ArrayLike<number>} shape of the scores
 * @property {ArrayLike<number>} size of the instance: `structure.full_size(shape)`
 * @property {ArrayLike<number>} event the shape of one structure
 * @property {ArrayLike<number>} scores by part, flat; -Infinity forbids one
 */

/**
 * Structures, the best first.
 * @typedef {object} Ranking
 * @property {Int32Array[]} structures each of the shape `event`, flat
 * @property {Int32Array[]} parts of each structure, as indices into `scores`
 * @property {Float64Array} scores of the structures
 */

/**
 * A sparse distribution over structures.
 * @typedef {object} Posterior
 * @property {Int32Array[]} structures each of the shape `event`, flat
 * @property {Int32Array[]} parts of each structure, as indices into `scores`
 * @property {Float64Array} weights of the structures
 * @property {Float64Array} marginals of the parts, flat
 * @property {number} gap the duality gap
 * @property {"solved" | "capped" | "stalled" | "limited"} status
 * @property {number} calls number of calls of the MAP oracle
 * @property {number} temperature of the solution; below the requested one if `maxSupport` binds
 * @property {boolean} canonical whether the weights are canonical
 */

/**
 * Options of `sparsemap`; 0 means no cap.
 * @typedef {object} Request
 * @property {number} [temperature]
 * @property {number} [maxActive] maximum number of structures, reached by stopping early
 * @property {number} [maxIter]
 * @property {number} [maxSupport] maximum number of structures, reached by lowering the temperature
 * @property {number} [tol] on the gap
 * @property {boolean} [canonical]
 */

const SOLVER_STATUSES = /** @type {const} */ (["solved", "capped", "stalled", "limited"]);

/** SparseMAP, MAP and the k best structures, computed by the native core. */
export class Solver {
  /** @type {WebAssembly.Module} */ #module;
  /** @type {any} */ #core;

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.#module = module;
    this.#core = this.#instance();
  }

  /**
   * @param {BufferSource} bytes of sparsewood.wasm
   * @returns {Promise<Solver>}
   */
  static async load(bytes) {
    return new Solver(await WebAssembly.compile(bytes));
  }

  /**
   * The highest-scoring structure.
   * @param {Problem} problem
   * @returns {Ranking} of one
   */
  map(problem) {
    return this.kbest(problem, 1);
  }

  /**
   * The k highest-scoring structures, or all if there are fewer.
   * @param {Problem} problem
   * @param {number} k
   * @returns {Ranking}
   */
  kbest(problem, k) {
    checkWhole("k", k, 1);
    const answer = this.#ask(problem, (core) => core.kbest(k));
    return { ...readStructures(answer, problem), scores: answer.list() };
  }

  /**
   * The distribution q over structures that maximises <scores / temperature, u> - |u|² / 2 with
   * u the marginals of the parts (those that carry the penalty).
   * @param {Problem} problem
   * @param {Request} [request]
   * @returns {Posterior}
   */
  sparsemap(problem, request = {}) {
    const { temperature = 1, maxActive = 0, maxIter = 0, maxSupport = 0 } = request;
    const { tol = 1e-9, canonical = false } = request;
    checkRequest(temperature, tol, { maxActive, maxIter, maxSupport });
    const answer = this.#ask(problem, (core) =>
      core.sparsemap(temperature, tol, maxActive, maxIter, maxSupport, +canonical),
    );
    return {
      ...readStructures(answer, problem),
      weights: answer.list(),
      marginals: answer.list(),
      gap: answer.next(),
      status: SOLVER_STATUSES[answer.next()],
      calls: answer.next(),
      temperature: answer.next(),
      canonical: answer.next() === 1,
    };
  }

  /**
   * @param {Problem} problem
   * @param {(core: any) => void} call
   */
  #ask(problem, call) {
    checkProblem(problem);
    const given = problemNumbers(problem);
    const core = this.#core;
    try {
      const at = core.room(given.length);
      new Float64Array(core.memory.buffer, at, given.length).set(given);
      call(core);
      const answer = new Float64Array(core.memory.buffer, core.answer(), core.answer_size());
      return new AnswerReader(answer.slice());
    } catch (error) {
      this.#core = this.#instance(); // a failed instance is in an undefined state
      throw error;
    }
  }

  #instance() {
    /** @type {any} */
    let core = null;
    /** @param {number} at @param {number} length */
    const fail = (at, length) => {
      throw new Error(new TextDecoder().decode(new Uint8Array(core.memory.buffer, at, length)));
    };
    core = new WebAssembly.Instance(this.#module, { sparsewood: { fail } }).exports;
    core._initialize();
    return core;
  }
}

/** Reads the numbers of a result. */
class AnswerReader {
  /** @param {Float64Array} numbers */
  constructor(numbers) {
    this.numbers = numbers;
    this.at = 0;
  }

  next() {
    return this.numbers[this.at++];
  }

  list() {
    const count = this.next();
    return this.numbers.subarray(this.at, (this.at += count));
  }
}

/**
 * A problem in the format that wasm.cpp reads.
 * @param {Problem} problem
 * @returns {Float64Array}
 */
function problemNumbers({ family, options, shape, size, scores }) {
  const name = Array.from(family, (letter) => letter.charCodeAt(0));
  const lists = [name, options, shape, size].map((list) => Array.from(list));
  const before = lists.flatMap((list) => [list.length, ...list]);
  const all = new Float64Array(before.length + scores.length);
  all.set(before);
  all.set(scores, before.length);
  return all;
}

/**
 * @param {AnswerReader} answer
 * @param {Problem} problem
 */
function readStructures(answer, { event }) {
  const counts = answer.list();
  const parts = answer.list();
  const events = answer.list();
  const length = events.length / counts.length;
  checkSame("numbers of an event", [product(event)], [length]);
  let at = 0;
  return {
    structures: Array.from(counts, (_, i) =>
      Int32Array.from(events.subarray(i * length, (i + 1) * length)),
    ),
    parts: Array.from(counts, (count) => Int32Array.from(parts.subarray(at, (at += count)))),
  };
}

/** @param {ArrayLike<number>} sizes */
function product(sizes) {
  return Array.from(sizes).reduce((a, b) => a * b, 1);
}

/**
 * Checks that are impossible after the cast to integers; the core does the others.
 * @param {Problem} problem
 */
function checkProblem({ family, options, shape, size }) {
  for (const side of Array.from(shape)) checkWhole("a side of the shape", side, 1);
  for (const side of Array.from(size)) checkWhole("a side of the size", side, 1);
  if (!Array.from(options).every(Number.isSafeInteger)) {
    throw new Error(`${family}: options must be whole numbers, got (${options})`);
  }
}

/**
 * @param {string} name
 * @param {number[]} given
 * @param {number[]} expected
 */
function checkSame(name, given, expected) {
  if (given.join(", ") !== expected.join(", ")) {
    throw new Error(`${name}: expected (${expected.join(", ")}), got (${given.join(", ")})`);
  }
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} least
 */
function checkWhole(name, value, least) {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new Error(`${name} must be a whole number of at least ${least}, got ${value}`);
  }
}

/**
 * @param {number} temperature
 * @param {number} tol
 * @param {{maxActive: number, maxIter: number, maxSupport: number}} caps
 */
function checkRequest(temperature, tol, caps) {
  if (!(temperature > 0 && temperature < Infinity)) {
    throw new Error(`temperature must be positive and finite, got ${temperature}`);
  }
  if (!(tol >= 0 && tol < Infinity)) {
    throw new Error(`tol must be at least 0 and finite, got ${tol}`);
  }
  for (const [name, cap] of Object.entries(caps)) checkWhole(name, cap, 0);
  if (caps.maxSupport && (caps.maxActive || caps.maxIter)) {
    throw new Error("maxSupport needs the optimum, which maxActive and maxIter may miss: choose one");
  }
}
