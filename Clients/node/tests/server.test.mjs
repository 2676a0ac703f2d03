// Run in the repository's root; Scripts/test-kits installs the kit.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BraidClient, ConnectionError, Problem } from "braid-server-client";
import { BraidServer, fault, VerificationFailed } from "braid-server-testing";

const fixtures = "Examples/attendees";
const binary = process.env.BRAID_SERVER_BINARY;
const { atOnce, Listener } = await import(resolve("Tests/JavaScript/server.mjs"));
const client = { wait: atOnce };
const server = await BraidServer.find({ fixtures, client });
const EDITS = "/v1/sessions/*/edits";
const UPDATES = "/v1/sessions/*/updates";
const ids = async (session) => (await session.snapshot()).sections.map(({ rows }) => rows.map(({ id }) => id));

test("A change of one fork does not change another fork of the same session", async (t) => {
  const [mine, theirs] = [await server.fork("party", { test: t }), await server.fork("party", { test: t })];
  await mine.edit({ delete: { id: "Sara" } });
  assert.equal((await mine.snapshot()).sections[1].rows.length, 2);
  assert.equal((await theirs.snapshot()).sections[1].rows.length, 3);
  assert.equal((await server.session("party").summary()).revision, 0);
});

test("A fork of an earlier revision has the table of that revision", async (t) => {
  const party = await server.fork("party", { test: t });
  const before = await ids(party);
  await party.edit({ delete: { id: "Sara" } });
  const earlier = await server.fork(party.id, { revision: 0, id: "earlier", test: t });
  assert.equal(earlier.id, "earlier");
  assert.deepEqual(await ids(earlier), before);
  assert.notDeepEqual(await ids(party), before);
});

test("The forks of a test end with the test, and a fork that the test has already ended causes no error", async (t) => {
  let session;
  await t.test("inner", async (inner) => {
    session = await server.fork("party", { test: inner });
    const ended = await server.fork("party", { test: inner });
    await ended.delete();
  });
  await assert.rejects(session.summary(), (error) => error instanceof Problem && error.kind === "session-not-found");
});

for (const [name, rule, isReplayed] of [
  ["close", fault.close, false],
  ["loseAnswer", fault.loseAnswer, true],
  ["truncate", (options) => fault.truncate(20, options), true],
  ["respond", (options) => fault.respond(503, { retryAfter: 1, ...options }), false],
  ["refuseConnections", (options) => fault.refuseConnections(20, options), false],
]) {
  test(`A command is applied once: ${name}`, async (t) => {
    const party = await server.fork("party", { test: t });
    await server.requests.clear();
    await server.faults.set([rule({ id: "first", path: EDITS, times: 1 })], { test: t });
    // In real time: the server refuses connections for 20 ms, or longer on a busy machine.
    const patient = new BraidClient({ url: server.url, token: server.token, retries: 6_000 });
    patient.delay = () => 10;
    const { revision, outcome } = await patient.session(party.id).edit({ delete: { id: "Sara" } });
    assert.deepEqual({ revision, outcome }, { revision: 1, outcome: "applied" });
    assert.equal(await server.faults.applied("first"), 1);
    await server.requests.verify({ path: EDITS, session: party.id, replayed: true }, { exactly: isReplayed ? 1 : 0 });
  });
}

test("If the answer to a command without an idempotency key is lost, the client throws", async (t) => {
  const party = await server.fork("party", { test: t });
  await server.faults.set([fault.loseAnswer({ path: EDITS, times: 1 })], { test: t });
  await assert.rejects(party.edit({ delete: { id: "Sara" } }, { key: null }), ConnectionError);
  assert.equal((await party.summary()).revision, 1);
});

for (const bytes of [0, 1, 30, 100]) {
  test(`A copy is complete after its stream was cut in an update, ${bytes} bytes in`, async (t) => {
    const party = await server.fork("party", { test: t });
    await server.faults.set([fault.cutStream(3, { bytes, path: UPDATES, session: party.id, times: 1 })], { test: t });
    const listener = new Listener(t, party);
    const copy = listener.subscription;
    await listener.status("live");
    await party.edit({ delete: { id: "Sara" } });
    await party.edit({ delete: { id: "Omar" } });
    await listener.until(() => copy.revision === 2 && listener.of("status").filter(([status]) => status === "live").length === 2);
    assert.deepEqual(copy.snapshot, await party.snapshot());
    assert.equal(listener.of("snapshot").length, 1);
    assert.equal(listener.of("update").length, 2);
  });
}

test("After a new epoch, or if updates are missing, a subscription continues from a snapshot", async (t) => {
  const party = await server.fork("party", { test: t });
  const listener = new Listener(t, party);
  const copy = listener.subscription;
  await listener.status("live");
  const { epoch } = copy.snapshot;
  await server.faults.set([fault.newEpoch({ path: EDITS, times: 1 })], { test: t });
  await party.edit({ delete: { id: "Sara" } });
  await listener.until(() => copy.snapshot.epoch !== epoch && copy.revision === 1 && copy.status === "live");
  assert.deepEqual(copy.snapshot, await party.snapshot());
  // It may have continued before the edit, with a snapshot and an update.
  const updates = listener.of("update").length;
  await server.faults.set([fault.snapshot({ path: UPDATES })], { test: t });
  copy.pause();
  await party.edit({ delete: { id: "Omar" } });
  copy.resume();
  await listener.until(() => copy.revision === 2 && copy.status === "live");
  assert.equal(listener.of("update").length, updates);
});

test("Delays, slow answers and paused streams do not change the result", async (t) => {
  const party = await server.fork("party", { test: t });
  const rules = [
    fault.delay(20, { jitter: 10, path: EDITS }), fault.throttle(20_000, { path: "/v1/sessions/*/snapshot" }), fault.pauseStream(2, 30, { path: UPDATES }),
  ];
  await server.faults.set(rules, { seed: 7, test: t });
  const listener = new Listener(t, party);
  const copy = listener.subscription;
  await listener.status("live");
  await party.edit({ delete: { id: "Sara" } });
  await listener.until(() => copy.revision === 1);
  assert.deepEqual(copy.snapshot, await party.snapshot());
  assert.equal(await server.faults.applied(), 3);
  assert.ok(!listener.of("status").some(([status]) => status === "waiting"));
});

test("Rules are removed at the end of their test, and a faulty rule is refused", async (t) => {
  await t.test("inner", (inner) => server.faults.set([fault.respond(404, { id: "kept", path: "/nowhere" })], { test: inner }));
  assert.deepEqual(await server.faults.all(), []);
  await assert.rejects(server.faults.applied("kept"), RangeError);
  await assert.rejects(server.faults.set([fault.respond(99)]), Problem);
});

test("A failed verification names the nearest request and the differences", async (t) => {
  const party = await server.fork("party", { test: t });
  await server.requests.clear();
  await party.edit({ delete: { id: "Sara" } }, { key: "k1" });
  const found = await server.requests.verify({ method: "POST", path: EDITS, headers: { "idempotency-key": "k*" } }, { atLeast: 1 });
  assert.equal(found.length, 1);
  await server.requests.verify({ status: 412 }, { atMost: 0 });
  const failed = server.requests.verify({ method: "POST", path: EDITS, body: { delete: { id: "Omar" } } }, { exactly: 1 });
  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof VerificationFailed && error.name === "VerificationFailed");
    return error.count === 0 && /edits/.test(error.message) && /"Omar", was "Sara"/.test(error.message);
  });
  assert.equal((await server.requests.all()).filter(({ path }) => path.endsWith("/edits")).length, 1);
});

test("The clock can be set and advanced, and a reset restores the fixtures", async () => {
  const before = await ids(server.session("party"));
  const christmas = new Date("2026-12-24T18:00:00Z");
  assert.ok((await server.clock.set(christmas)) - christmas < 60_000);
  assert.ok((await server.clock.advance(86_400_000)) - christmas >= 86_400_000);
  await server.session("party").edit({ delete: { id: "Sara" } });
  await server.reset();
  assert.deepEqual(await ids(server.session("party")), before);
  assert.ok(Math.abs((await server.clock.now()) - christmas) > 86_400_000);
});

test("A server is found by its URL, and the error of a server that does not start names the reason", async (t) => {
  const found = await BraidServer.find({ fixtures, environment: { BRAID_SERVER_URL: server.url, BRAID_SERVER_TOKEN: server.token } });
  assert.equal((await found.session("party").summary()).id, "party");
  await found.stop();
  assert.equal((await server.session("party").summary()).id, "party");
  await assert.rejects(BraidServer.start("/nowhere", { fixtures }), /ENOENT/);
  const folder = mkdtempSync(join(tmpdir(), "braid-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "bad.table.json"), "{");
  await assert.rejects(BraidServer.start(binary, { fixtures: folder }), /bad\.table\.json/);
});

test("A server can be stopped", async () => {
  const other = await BraidServer.start(binary, { fixtures, options: ["--log-level", "info"] });
  assert.equal((await other.session("party").summary()).revision, 0);
  await other.stop();
  await other.stop();
  assert.match(other.log, /\/v1\/sessions\/party/);
  await assert.rejects(new BraidClient({ url: other.url, token: other.token, retries: 0 }).session("party").summary(), ConnectionError);
});

test("A program that started a server can end without stopping the server, and then the server ends too", () => {
  const program = `
    import { BraidServer } from "braid-server-testing";
    console.log((await BraidServer.find({ fixtures: "Examples/attendees" })).url);
  `;
  const folder = dirname(fileURLToPath(import.meta.url));
  const file = join(folder, "program.mjs");
  writeFileSync(file, program);
  const url = execFileSync(process.execPath, [file], { encoding: "utf8", timeout: 120_000 }).trim();
  const deadline = Date.now() + 60_000;
  const isServed = () => spawnSync("curl", ["-s", "-o", "/dev/null", `${url}/healthz`]).status === 0;
  while (isServed()) assert.ok(Date.now() < deadline, "the server still runs");
});
