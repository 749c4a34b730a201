// @ts-check
// Which picture each family has, by the name that the data of a figure give it.
import { arcs } from "./arcs.js";

/** @type {Record<string, import("./types.js").Picture>} */
export const PICTURES = { arcs };
