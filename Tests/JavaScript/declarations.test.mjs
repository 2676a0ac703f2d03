// Checks that braid.d.ts declares exactly the members of braid.js.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { BraidClient, declarations, module, Session, Subscription } from "./braid.mjs";

/** Returns the names of the methods, properties and accessors in the body of a declaration. */
function members(name) {
  const start = declarations.search(new RegExp(`^(?:export )?(?:declare class|interface) ${name}\\b(?!.*\\{\\}$)`, "m"));
  assert.ok(start >= 0, name);
  const body = declarations.slice(start, declarations.indexOf("\n}", start));
  return [...body.matchAll(/^  (?:readonly )?(\w+)\??(?=[(:<])/gm)].map(([, name]) => name).filter((name) => name !== "constructor").sort();
}

const methods = (type) => Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor");

test("The module exports exactly the declared classes and functions", () => {
  const declared = [...declarations.matchAll(/^export declare (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(module).sort(), declared.sort());
});

test("Sessions, their requests, clients and subscriptions have exactly the declared members", () => {
  const client = new BraidClient({ url: "http://x" });
  const session = client.session("x");
  const commands = methods(session.request.constructor).sort();
  assert.deepEqual(members("Commands"), commands);
  assert.deepEqual([...members("Session"), ...commands].sort(), [...new Set([...methods(Session), ...Object.keys(session)])].sort());
  const internal = ["delay", "fetch", "presence", "wait"];
  assert.deepEqual(members("BraidClient"), [...methods(BraidClient), ...Object.keys(client)].filter((name) => !internal.includes(name)).sort());
  const subscription = session.subscribe();
  assert.deepEqual(members("Subscription"), [...methods(Subscription), ...Object.keys(subscription)].sort());
  subscription.close();
  for (const group of ["tables", "sessions"]) assert.ok(Object.keys(client[group]).every((name) => declarations.includes(`    ${name}(`)));
});

const compiler = spawnSync("tsc", ["--version"]).error === undefined;

test("TypeScript accepts correct uses of the declarations and refuses wrong ones", { skip: !compiler && "there is no TypeScript compiler here" }, () => {
  const file = fileURLToPath(new URL("declarations.ts", import.meta.url));
  const { status, stdout } = spawnSync("tsc", ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--moduleResolution", "node", file], { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});
