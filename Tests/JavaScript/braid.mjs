// Loads modules from Web. Node needs a file name that ends in `.mjs`, so the file is copied.
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const directory = mkdtempSync(join(tmpdir(), "braid-js-"));
process.on("exit", () => rmSync(directory, { recursive: true }));
const file = fileURLToPath(new URL("../../Web/braid.js", import.meta.url));

/** Loads a module that imports no other module. `path` is its path in Web. */
export function loaded(path) {
  const copy = join(directory, `${path.replaceAll("/", "-")}.mjs`);
  copyFileSync(fileURLToPath(new URL(`../../Web/${path}`, import.meta.url)), copy);
  return import(pathToFileURL(copy));
}

export const module = await loaded("braid.js");
export const source = readFileSync(file, "utf8");
export const declarations = readFileSync(file.replace(/\.js$/, ".d.ts"), "utf8");
export const { applying, BraidClient, ConnectionError, position, Problem, Session, stages, Subscription, UpdateFault } = module;
