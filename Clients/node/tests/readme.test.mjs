// Runs the example of Clients/node/README.md.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("The tests in README.md pass, and fail if an expected number is wrong", () => {
  const [, text] = readFileSync("Clients/node/README.md", "utf8").match(/```js\n(.*?)```/s);
  const run = (name, text) => {
    const file = join(dirname(fileURLToPath(import.meta.url)), name);
    writeFileSync(file, text);
    const { NODE_TEST_CONTEXT, ...env } = process.env;
    return spawnSync(process.execPath, ["--test-reporter=tap", file], { encoding: "utf8", env, timeout: 60_000 });
  };
  const good = run("readme-example.mjs", text.replace('"tables"', '"Examples/attendees"'));
  assert.match(good.stdout, /^# pass 2$/m, good.stdout + good.stderr);
  assert.equal(good.status, 0);
  const bad = run("readme-mistake.mjs", text.replace('"tables"', '"Examples/attendees"').replace("exactly: 2", "exactly: 3"));
  assert.match(bad.stdout, /^# fail 1$/m);
  assert.match(bad.stdout, /VerificationFailed/);
});
