// Types shared by the web files.
import type { Panel } from "./shapes.js";

/** The data of a figure: one instance with its names. */
export interface Data {
  /** The name of the native family. */
  family: string;
  options: number[];
  /** The shape of the scores. */
  shape: number[];
  /** The size of the instance. */
  size: number[];
  /** The shape of one structure. */
  event: number[];
  /** Flat; -Infinity forbids a part. */
  scores: Float64Array;
  picture: "arcs" | "brackets" | "edges" | "items" | "links" | "segments" | "tags";
  /** The name of one structure. */
  noun: string;
  /** The name of one part. */
  part: string;
  /** The repr of the family in Python. */
  structure: string;
  /** Words of the sentence, items of a set, or rows of a matching. */
  words: string[];
  /** The columns of a matching or an alignment. */
  other: string[] | null;
  labels: string[] | null;
  /** A structure to compare with, flat. */
  given: number[] | null;
  temperature: number;
  /** Maximum number of structures; null: no limit. */
  most: number | null;
  /** How to limit them: lower the temperature, or stop early. */
  cap: "support" | "active";
  title: string;
}

export interface View {
  /** Pixels to draw in. */
  width: number;
  /** A card: shrink the picture to fit. */
  small?: boolean;
  /** Parts that are drawn even if their marginal is 0. */
  also?: number[];
  /** Parts that all structures of the support use: in a card they may be faint. */
  certain?: Set<number>;
}

/** How a family is drawn. */
export interface Picture {
  /** All parts with a positive marginal or in `view.also`; shapes have part and strength. */
  summary(data: Data, marginals: Float64Array, view: View): Panel;
  /** One structure; shapes have their part. */
  card(data: Data, structure: Int32Array, parts: Int32Array, view: View): Panel;
  /** The name of a part. */
  name(data: Data, part: number): string;
  /** The label of each dimension of the scores, and the names along it; by default numbers. */
  axes?(data: Data): { label: string; names: string[] }[];
  /** The lines of a dependency tree in CoNLL-U. */
  conllu?(data: Data, structure: Int32Array): string;
}

declare global {
  /** The core, gzipped, in base64; the page defines it. */
  const SPARSEWOOD_WASM: string;
}
