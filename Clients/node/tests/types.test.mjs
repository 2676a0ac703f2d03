// The TypeScript declarations must match the module.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as kit from "braid-server-testing";

const folder = dirname(fileURLToPath(import.meta.url));
const hasTypeScript = spawnSync("tsc", ["--version"]).status === 0;
const server = new kit.BraidServer("http://127.0.0.1:1");

/** Own and inherited. */
function names(value) {
  const found = Object.getOwnPropertyNames(value).concat(Object.getOwnPropertyNames(Object.getPrototypeOf(value)));
  return [...new Set(found)].filter((name) => name !== "constructor" && !(name in Object.prototype)).sort();
}

test("TypeScript accepts a correct program and reports the errors of a wrong one", { skip: !hasTypeScript && "there is no TypeScript compiler here" }, () => {
  writeFileSync(join(folder, "program.mts"), `
    import { BraidServer, fault, VerificationFailed, type Entry } from "braid-server-testing";
    const server = await BraidServer.find({ fixtures: "tables", client: { retries: 1 } });
    const party = await server.fork("party", { revision: 3, test: { after() {} } });
    await server.faults.set([fault.respond(503, { retryAfter: 1, path: "/v1/**", times: 2, delay: { milliseconds: 5 } }), fault.cutStream(3, { bytes: 1 })], { seed: 1 });
    const ids: string[] = await server.requests.verify({ method: "POST", session: party.id, replayed: true }, { atLeast: 1 });
    const entries: Entry[] = await server.requests.all();
    const time: Date = await server.clock.advance(1000);
    console.log(ids, entries[0]?.answer?.status, time, await server.faults.applied("a"), VerificationFailed.name, server.log, server.token);
    await server.stop();
    // @ts-expect-error: there is no such condition.
    fault.close({ methd: "POST" });
    // @ts-expect-error: exactly, at least or at most.
    await server.requests.verify({}, {});
    // @ts-expect-error: the folder is missing.
    await BraidServer.start("braid-server", {});
  `);
  const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16", "--moduleResolution", "node16"];
  const { status, stdout } = spawnSync("tsc", [...options, join(folder, "program.mts")], { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});

test("The declarations contain every method of the module, and no other methods", () => {
  const text = readFileSync(join(folder, "../node_modules/braid-server-testing/index.d.ts"), "utf8");
  const declared = (kind, name) => {
    const [, body] = text.match(new RegExp(`^export declare ${kind} ${name}\\b[^{]*\\{\\n(.*?)^\\}`, "ms"));
    return [...body.matchAll(/^  (?:readonly )?(?!static|private|constructor|\/|\*)(\w+)\??[(:]/gm)].map(([, found]) => found).sort();
  };
  assert.deepEqual(declared("const", "fault"), Object.keys(kit.fault).sort());
  assert.deepEqual(declared("class", "BraidServer"), names(server).sort());
  for (const [name, value] of [["Faults", server.faults], ["Requests", server.requests], ["Clock", server.clock]]) {
    assert.deepEqual(declared("class", name), names(value), name);
  }
});
