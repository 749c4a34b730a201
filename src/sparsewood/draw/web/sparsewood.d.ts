/** One instance. */
export interface Problem {
  /** The name of a native family: the first of `structure.native` in Python. */
  family: string;
  /** Of the family: the second. */
  options: ArrayLike<number>;
  /** Of the scores. */
  shape: ArrayLike<number>;
  /** Of the instance: `structure.full_size(shape)`. */
  size: ArrayLike<number>;
  /** The shape of one structure. */
  event: ArrayLike<number>;
  /** By part, flat; -Infinity forbids one. */
  scores: ArrayLike<number>;
}

/** Structures, the best first. */
export interface Ranking {
  /** Each of the shape `event`, flat. */
  structures: Int32Array[];
  /** Those that each uses, as indices of `scores`. */
  parts: Int32Array[];
  /** Of the structures. */
  scores: Float64Array;
}

/** A sparse distribution over structures. */
export interface Posterior {
  /** Each of the shape `event`, flat. */
  structures: Int32Array[];
  /** Those that each uses, as indices of `scores`. */
  parts: Int32Array[];
  /** Of the structures. */
  weights: Float64Array;
  /** Of the parts, flat. */
  marginals: Float64Array;
  /** The duality gap. */
  gap: number;
  status: "solved" | "capped" | "stalled" | "limited";
  /** Of the MAP oracle. */
  calls: number;
  /** Of the answer: below the one asked for where `maxSupport` binds. */
  temperature: number;
  /** Whether the weights are. */
  canonical: boolean;
}

/** What `sparsemap` is asked for; a cap of 0 is none. */
export interface Request {
  temperature?: number;
  /** Structures are added until there are so many. */
  maxActive?: number;
  maxIter?: number;
  /** The temperature falls until so many structures suffice. */
  maxSupport?: number;
  /** On the gap. */
  tol?: number;
  canonical?: boolean;
}

/** SparseMAP, MAP and the k best structures, as the native core finds them. */
export class Solver {
  constructor(module: WebAssembly.Module);
  /** `bytes`: of sparsewood.wasm. */
  static load(bytes: BufferSource): Promise<Solver>;
  /** The highest-scoring structure: a ranking of one. */
  map(problem: Problem): Ranking;
  /** The k highest-scoring structures, or all where there are fewer. */
  kbest(problem: Problem, k: number): Ranking;
  /**
   * The distribution q over structures that maximises <scores / temperature, u> - |u|² / 2 with
   * u the marginals of the parts (those that carry the penalty).
   */
  sparsemap(problem: Problem, request?: Request): Posterior;
}
