/** One instance. */
export interface Problem {
  /** The name of a native family: the first of `structure.native` in Python. */
  family: string;
  /** Options of the family: the second of `structure.native`. */
  options: ArrayLike<number>;
  /** The shape of the scores. */
  shape: ArrayLike<number>;
  /** The size of the instance: `structure.full_size(shape)`. */
  size: ArrayLike<number>;
  /** The shape of one structure. */
  event: ArrayLike<number>;
  /** Scores by part, flat; -Infinity forbids a part. */
  scores: ArrayLike<number>;
}

/** Structures, the best first. */
export interface Ranking {
  /** Structures of shape `event`, flat. */
  structures: Int32Array[];
  /** The parts of each structure, as indices into `scores`. */
  parts: Int32Array[];
  /** Scores of the structures. */
  scores: Float64Array;
}

/** A sparse distribution over structures. */
export interface Posterior {
  /** Structures of shape `event`, flat. */
  structures: Int32Array[];
  /** The parts of each structure, as indices into `scores`. */
  parts: Int32Array[];
  /** Weights of the structures. */
  weights: Float64Array;
  /** Marginals of the parts, flat. */
  marginals: Float64Array;
  /** The duality gap. */
  gap: number;
  status: "solved" | "capped" | "stalled" | "limited";
  /** Number of calls of the MAP oracle. */
  calls: number;
  /** Temperature of the solution; below the requested one if `maxSupport` binds. */
  temperature: number;
  /** Whether the weights are canonical. */
  canonical: boolean;
}

/** Options of `sparsemap`; 0 means no cap. */
export interface Request {
  temperature?: number;
  /** Maximum number of structures, reached by stopping early. */
  maxActive?: number;
  maxIter?: number;
  /** Maximum number of structures, reached by lowering the temperature. */
  maxSupport?: number;
  /** Tolerance on the gap. */
  tol?: number;
  canonical?: boolean;
}

/** SparseMAP, MAP and the k best structures, computed by the native core. */
export class Solver {
  constructor(module: WebAssembly.Module);
  /** `bytes`: the content of sparsewood.wasm. */
  static load(bytes: BufferSource): Promise<Solver>;
  /** The highest-scoring structure: a ranking of one. */
  map(problem: Problem): Ranking;
  /** The k highest-scoring structures, or all if there are fewer. */
  kbest(problem: Problem, k: number): Ranking;
  /**
   * The distribution q over structures that maximises <scores / temperature, u> - |u|² / 2 with
   * u the marginals of the parts (those that carry the penalty).
   */
  sparsemap(problem: Problem, request?: Request): Posterior;
}
