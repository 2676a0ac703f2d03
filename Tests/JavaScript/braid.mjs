// Loads the JavaScript client from Web/braid.js. Node needs a file name that ends in `.mjs`, so the file is copied.
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const file = fileURLToPath(new URL("../../Web/braid.js", import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "braid-js-"));
process.on("exit", () => rmSync(directory, { recursive: true }));
copyFileSync(file, join(directory, "braid.mjs"));

export const module = await import(pathToFileURL(join(directory, "braid.mjs")));
export const source = readFileSync(file, "utf8");
export const declarations = readFileSync(file.replace(/\.js$/, ".d.ts"), "utf8");
export const { applying, BraidClient, ConnectionError, position, Problem, Session, stages, Subscription, UpdateFault } = module;
