// The types that the web files share.
import type { Panel } from "./shapes.js";

/** What a figure shows: one instance, and what its things are called. */
export interface Data {
  /** As the native solver calls it. */
  family: string;
  options: number[];
  /** Of the scores. */
  shape: number[];
  /** Of the instance. */
  size: number[];
  /** The shape of one structure. */
  event: number[];
  /** Flat; -Infinity forbids a part. */
  scores: Float64Array;
  picture: "arcs" | "brackets" | "edges" | "items" | "links" | "segments" | "tags";
  /** What one structure is called. */
  noun: string;
  /** The family as Python writes it. */
  structure: string;
  /** Of the sentence; items of a set, rows of a matching. */
  words: string[];
  /** The columns of a matching or an alignment. */
  other: string[] | null;
  labels: string[] | null;
  /** A structure to compare with, flat. */
  given: number[] | null;
  temperature: number;
  /** How many structures to keep; null: as many as it takes. */
  most: number | null;
  /** What keeps them few: a lower temperature, or an early stop. */
  cap: "support" | "active";
  title: string;
}

export interface View {
  /** Pixels to draw in. */
  width: number;
  /** A card: as small as it must be to fit. */
  small?: boolean;
  /** Parts that are drawn though their marginal is 0. */
  also?: number[];
  /** Parts that all structures of the support use: in a card they may be faint. */
  certain?: Set<number>;
}

/** How a family is drawn. */
export interface Picture {
  /** All parts of a marginal above 0, and those of `view.also`, each shape with part and strength. */
  summary(data: Data, marginals: Float64Array, view: View): Panel;
  /** One structure; shapes with their part. */
  card(data: Data, structure: Int32Array, parts: Int32Array, view: View): Panel;
  /** A part in words. */
  name(data: Data, part: number): string;
  /** What each dimension of the scores is called, and the names along it; by default numbers. */
  axes?(data: Data): { label: string; names: string[] }[];
  /** The lines of a dependency tree in CoNLL-U. */
  conllu?(data: Data, structure: Int32Array): string;
}

declare global {
  /** The core, gzipped, in base64; the page defines it. */
  const SPARSEWOOD_WASM: string;
}
