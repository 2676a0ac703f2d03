// The client as a module: a file that ends in .js is none to every Node, and is to be served under that name.
import { readFileSync } from "node:fs";

export const source = readFileSync(new URL("../../Sources/BraidServer/Inspector/braid.js", import.meta.url), "utf8");
export const module = await import(`data:text/javascript,${encodeURIComponent(source)}`);
export const { applying, BraidClient, ConnectionError, position, Problem, stages, UpdateFault } = module;
