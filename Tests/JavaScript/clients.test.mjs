// Runs the JavaScript blocks in docs/clients/web.md, unchanged, with the real server.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { applying, BraidClient, source } from "./braid.mjs";
import { Server } from "./server.mjs";

const document = readFileSync(new URL("../../docs/clients/web.md", import.meta.url), "utf8");
const blocks = [...document.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);

/**
 * Runs a block of JavaScript that may use the values of `names`. Returns the lines that the block logged, and the value
 * of `result`.
 */
async function run(t, block, names = {}, result = "undefined") {
  const directory = mkdtempSync(join(tmpdir(), "braid-js-"));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "braid.mjs"), source);
  const logged = [];
  globalThis.documented = { ...names, console: { log: (...values) => logged.push(values.join(" ")) } };
  const imports = block.match(/^import .*$/m)[0].replace('"/braid.js"', '"./braid.mjs"');
  const known = `const { ${Object.keys(globalThis.documented).join(", ")} } = globalThis.documented;`;
  writeFileSync(join(directory, "block.mjs"), `${imports}\n${known}\n${block.replace(/^import .*$/m, "")}\nexport default ${result};\n`);
  return { logged, result: (await import(pathToFileURL(join(directory, "block.mjs")))).default };
}

test("The code in docs/clients/web.md does what the page says", async (t) => {
  assert.equal(blocks.length, 4);
  const server = await Server.start(t);
  // Sets the origin to the server's URL, as in a page that the server has served.
  globalThis.location = { origin: server.url };
  const party = new BraidClient().session("party");
  const first = await party.snapshot();

  const shown = [];
  const stages = [];
  let changed;
  const change = new Promise((resolve) => (changed = resolve));
  const names = { show: (snapshot) => (shown.push(snapshot), snapshot.revision === 3 && changed()), animate: (stage) => stages.push(stage) };
  const { result: subscription } = await run(t, blocks[0], names, "subscription");
  // The first snapshot must arrive before the commands of the next block are sent.
  while (subscription.status !== "live") await new Promise(setImmediate);

  const { logged } = await run(t, blocks[1]);
  assert.deepEqual(logged, ["Sara was at 1,2; 1 stage", 'editing-not-allowed Row 0 of the section "invited" does not allow delete; its editing style is none.']);
  await change;
  subscription.close();
  assert.deepEqual(shown.at(-1), await party.snapshot());
  assert.equal(shown[0].revision, first.revision);
  assert.equal(stages.length, 3);

  const { logged: tried } = await run(t, blocks[2]);
  assert.equal(tried[0], "3");
  let arrived;
  const arrival = new Promise((resolve) => (arrived = resolve));
  const { result: joined } = await run(t, blocks[3], { showFaces: (present) => present.length > 0 && arrived(present) }, "subscription");
  await party.presence.set(null, "another tab");
  assert.deepEqual((await arrival).map(({ data }) => data), ["another tab"]);
  joined.close();
  assert.match(tried[1], /^curl 'http:.*\/rows' -H 'Content-Type: application\/json' -d '\{"at":\[0,1\],"model":\{"id":"c"\}\}'$/);
});
