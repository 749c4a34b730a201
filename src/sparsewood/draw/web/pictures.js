// @ts-check
// The picture of each family, by its name in the data of a figure.
import { arcs } from "./arcs.js";
import { brackets } from "./brackets.js";
import { edges } from "./edges.js";
import { items } from "./items.js";
import { links } from "./links.js";
import { segments } from "./segments.js";
import { tags } from "./tags.js";

/** @type {Record<string, import("./types.js").Picture>} */
export const PICTURES = { arcs, brackets, edges, items, links, segments, tags };
