// Tests of the client's commands with the real server.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import http from "node:http";
import test from "node:test";
import { applying, BraidClient, ConnectionError, position, Problem } from "./braid.mjs";
import { atOnce, Proxy, seeded, Server } from "./server.mjs";

const ids = (snapshot, section) => snapshot.sections.find(({ id }) => id === section).rows.map(({ id }) => id);

test("Each command of a session has its effect, and its update leads to the server's snapshot", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: server.url });
  const party = client.session("party");
  let shown = await party.snapshot();
  const check = async (answer) => {
    shown = applying(answer.update, shown);
    assert.deepEqual(shown, await party.snapshot());
    return answer;
  };
  await check(await party.edit({ delete: { section: "attending", row: 1 } }));
  await check(await party.move({ from: { id: "Yvonne" }, to: { section: "attending", row: 0 } }));
  await check(await party.patchModels({ invited: [{ name: "Zoe" }, { name: "Ann" }] }));
  await check(await party.patchHeaders({ invited: "PERHAPS" }));
  await check(await party.patchFooters({ attending: "At seven" }));
  await check(await party.patchState({ mood: "good" }));
  await check(await party.setDisplayedSections(["invited", "attending"]));
  await check(await party.transaction([{ edits: { delete: { id: "Sara" } } }, { patchState: { mood: null } }]));
  await check(await party.tap({ id: "Zoe" }));
  await check(await party.displayedRows([{ id: "Zoe" }]));
  const description = await party.table();
  await check(await party.setTable({ table: { ...description, state: { mood: "new" } } }));
  assert.equal(shown.state.mood, "new");
  await check(await party.setTable({ version: 1 }));
  assert.deepEqual(await party.table(), description);
  assert.equal((await party.summary()).tableVersion, 1);
  const { sections } = description;
  const narrow = { ...description, sections: sections.filter((id) => id !== "invited"), bindings: [{ on: "allOtherSections", cell: "TitleDetailCell" }] };
  const lost = await party.setTable({ table: narrow }, { dryRun: true }).catch((error) => error);
  assert.equal(lost.kind, "models-do-not-fit");
  await check(await party.reset());
  assert.deepEqual(ids(shown, "attending"), ["Jonathan", "Omar", "Sara"]);
  assert.deepEqual(await client.fixtures(), { revision: 0, watching: false, files: [] });
  assert.equal((await party.summary()).revision, shown.revision);
  const { records } = await party.journal();
  assert.deepEqual(records.map(({ command }) => Object.keys(command)[0]).slice(0, 3), ["edits", "moves", "patchModels"]);
  assert.equal((await party.journal({ after: 1, limit: 1 })).records[0].revision, 2);
  assert.equal((await party.journalFile()).trimEnd().split("\n").length, records.length + 1);
  const page = await party.models({ section: "attending", limit: 2 });
  assert.deepEqual(page.models.map(({ id }) => id), ["Jonathan", "Omar"]);
  assert.deepEqual((await party.models({ after: page.next, limit: 1 })).models.map(({ id }) => id), ["Sara"]);
  const since = await party.updates({ ...shown, revision: 0 });
  assert.deepEqual([since.from, since.to, since.updates.length], [0, shown.revision, shown.revision]);
  assert.equal((await party.updates(0, { coalesce: true })).updates.length, 1);
  assert.deepEqual((await party.updates(position(shown), { wait: 1 })).updates, []);
  const window = { section: "attending", offset: 1, limit: 1 };
  assert.deepEqual((await party.snapshot({ window })).sections[0].rows.map(({ id }) => id), ["Omar"]);
});

test("The client's calls of the data source change rows and sections as expected", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: server.url });
  const list = await client.sessions.open({ rows: [{ id: "a" }, { id: "b" }] });
  assert.equal(list.opened.session, list.id);
  const models = async () => (await list.snapshot()).sections.map(({ rows }) => rows.map(({ id }) => id).join(""));
  assert.deepEqual((await list.addRow([0, 1], { id: "c" })).notification, { section: 0 });
  await list.updateRow([0, 0], { id: "A" });
  await list.updateRows([{ at: [0, 1], model: { id: "C" } }]);
  assert.deepEqual(await models(), ["ACb"]);
  assert.deepEqual(await list.model([0, 2]), { id: "b" });
  await list.removeRow([0, 2]);
  await list.addSection({ rows: [{ id: "d" }] }, null);
  await list.updateRowsOfSection(1, [{ id: "e" }, { id: "f" }]);
  await list.updateSectionData(1, { header: "E" });
  assert.equal((await list.sectionData(1)).header, "E");
  assert.equal((await list.addRow([0, 0], { id: "hidden" }, { notify: false })).notification, null);
  assert.deepEqual(await models(), ["AC", "ef"]);
  await list.updateSection(0, { rows: [{ id: "g" }] });
  assert.deepEqual(await models(), ["g", "ef"]);
  await list.registerCell("object", "Cell");
  await list.removeSection(0);
  await list.updateAllSections([{ rows: [{ id: "h" }] }]);
  assert.deepEqual(await models(), ["h"]);
  const [{ id }] = (await list.snapshot()).sections;
  const put = await list.putRows(id, [{ id: "h", n: 1 }, { id: "i" }], { at: "start" });
  assert.deepEqual(put.rows, { section: id, inserted: 1, replaced: 1, moved: 0, unchanged: 0 });
  assert.equal((await list.insertRows(id, { after: "i" }, [{ id: "j" }, { id: "k" }], { notify: true })).rows.inserted, 2);
  await list.putRows(id, [{ id: "l" }]);
  assert.deepEqual(await models(), ["ijkhl"]);
  assert.equal((await list.removeRow([9, 9])).outcome, "ignored");
  await list.removeAllSections();
  assert.deepEqual(await models(), []);
});

test("Tables and sessions can be listed, created and deleted; templates and diffs need no session", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: `${server.url}/` });
  assert.deepEqual(await client.health(), { status: "ready" });
  const description = await client.tables.get("attendees");
  assert.deepEqual(await client.tables.put("guests", { ...description, table: "guests" }), { table: "guests", version: 1 });
  assert.ok((await client.tables.list()).some(({ table }) => table === "guests"));
  const taken = await client.tables.put("guests", { ...description, table: "guests" }, { ifNoneMatch: "*" }).catch((error) => error);
  assert.equal(taken.kind, "etag-mismatch");
  assert.deepEqual((await client.tables.versions("guests")).map(({ version }) => version), [1]);
  assert.deepEqual(await client.tables.get("guests", { version: 1 }), { ...description, table: "guests" });
  assert.deepEqual(await client.tables.validate(description), { table: "attendees", valid: true });
  const { warnings } = await client.tables.validate({ table: "x", cells: { C: {} }, bindings: [{ cell: "C", header: "${titel}" }] });
  assert.equal(warnings[0].pointer, "/bindings/0/header");
  const opened = await client.sessions.open({ table: "guests", id: "guests-1" });
  assert.deepEqual(await client.session("guests-1").snapshot(), opened.opened);
  await assert.rejects(client.session("ünï /?#").snapshot(), { status: 404, instance: "/v1/sessions/%C3%BCn%C3%AF%20%2F%3F%23/snapshot" });
  const page = await client.sessions.list({ limit: 1 });
  assert.equal(page.sessions.length, 1);
  assert.ok((await client.sessions.list({ after: page.next })).sessions.length > 1);
  await opened.delete();
  await client.tables.delete("guests");
  await assert.rejects(opened.snapshot(), { status: 404, kind: "session-not-found" });
  assert.equal(await client.render("${name}!", { name: "Omar" }), "Omar!");
  const party = await client.session("party").snapshot();
  const empty = { ...party, sections: [], totalRowCount: 0 };
  assert.deepEqual((await client.diff(party, empty)).stages, [{ deleteSections: [0, 1, 2] }]);
});

test("A refusal is a Problem that names the faults, and the client does not send the request again", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: server.url, wait: () => assert.fail("it is sent again") });
  const refused = await client.session("party").edit({ delete: { section: "invited", row: 0 } }).catch((error) => error);
  assert.ok(refused instanceof Problem && refused instanceof Error);
  assert.deepEqual([refused.status, refused.kind, refused.type, refused.tries], [403, "editing-not-allowed", "/problems/editing-not-allowed", 1]);
  assert.equal(refused.message, refused.detail);
  assert.ok(refused.requestId && refused.instance === "/v1/sessions/party/edits");
  const invalid = await client.tables.validate({ table: "x", bindings: [{ on: 1 }] }).catch((error) => error);
  assert.ok(invalid.pointer.startsWith("/bindings/0"));
  assert.equal(invalid.pointer, invalid.errors[0].pointer);
});

test("With a base the server finds the row, with a key it applies a command once, and a dry run changes nothing", async (t) => {
  const server = await Server.start(t);
  const party = new BraidClient({ url: server.url }).session("party");
  const old = await party.snapshot();
  await party.edit({ delete: { section: "attending", row: 0 } });
  const dry = await party.edit({ delete: { section: "attending", row: 2 } }, { base: old, dryRun: true });
  assert.deepEqual([dry.outcome, dry.at], ["applied", [1, 1]]);
  const first = await party.edit({ delete: { section: "attending", row: 2 } }, { base: old, key: "once" });
  assert.deepEqual(first.at, [1, 1]);
  assert.deepEqual(await party.edit({ delete: { section: "attending", row: 2 } }, { base: old, key: "once" }), first);
  assert.deepEqual(ids(await party.snapshot(), "attending"), ["Omar"]);
  await party.patchModels({ invited: [] });
  await assert.rejects(party.edit({ delete: { section: "attending", row: 2 } }, { base: old }), { kind: "row-gone" });
  await assert.rejects(party.tap({ id: "Omar" }, { ifMatch: old }), { status: 412 });
});

test("If the network loses requests and answers, each command is still applied exactly once", async (t) => {
  const server = await Server.start(t);
  const random = seeded(8);
  const proxy = await Proxy.start(t, server.port, (toServer) => (random() < 0.3 ? (toServer || random() < 0.5 ? "lose" : "tear") : "pass"));
  const client = new BraidClient({ url: proxy.url, wait: atOnce, retries: 100 });
  const list = await client.sessions.open({ id: "list", rows: [] });
  for (let number = 0; number < 60; number++) {
    const answer = await list.addRow([0, number], { id: String(number) });
    assert.equal(answer.revision, number + 1);
  }
  const stored = await new BraidClient({ url: server.url }).session("list").snapshot();
  assert.deepEqual(stored.sections[0].rows.map(({ id }) => Number(id)), Array.from({ length: 60 }, (_, number) => number));
  assert.ok(proxy.lost > 30);
  await list.delete();
  await assert.rejects(list.snapshot(), { status: 404 });
});

/** Returns a client behind a network. After each call of `lose`, the network loses the next answer. */
async function onLosingNetwork(t, server) {
  let isLosing = false;
  const proxy = await Proxy.start(t, server.port, (toServer) => {
    if (toServer || !isLosing) return "pass";
    isLosing = false;
    return "lose";
  });
  return { client: new BraidClient({ url: proxy.url, wait: atOnce }), lose: () => (isLosing = true) };
}

test("A command without a key is not sent again after a lost answer, but a dry run is", async (t) => {
  const server = await Server.start(t);
  const { client, lose } = await onLosingNetwork(t, server);
  const list = await client.sessions.open({ rows: [] });
  lose();
  await assert.rejects(list.addRow([0, 0], { id: "a" }, { key: null }), { name: "ConnectionError", tries: 1 });
  lose();
  assert.equal((await list.addRow([0, 1], { id: "b" }, { key: null, dryRun: true })).outcome, "applied");
  assert.deepEqual((await list.snapshot()).sections[0].rows.map(({ id }) => id), ["a"]);
  const count = async () => (await client.sessions.list({ limit: 1000 })).sessions.length;
  const before = await count();
  lose();
  await assert.rejects(client.sessions.open({ rows: [] }, { key: null }), { name: "ConnectionError", tries: 1 });
  assert.equal(await count(), before + 1);
});

test("A 404 for a repeated DELETE of a token, session or table means success", async (t) => {
  const server = await Server.start(t);
  const { client, lose } = await onLosingNetwork(t, server);
  const description = await client.tables.get("attendees");
  await client.tables.put("guests", { ...description, table: "guests" });
  const list = await client.sessions.open({ rows: [] });
  const { tokenId } = await list.tokens.create({ role: "viewer", expiresIn: 60 });
  for (const remove of [() => list.tokens.delete(tokenId), () => list.delete(), () => client.tables.delete("guests")]) {
    lose();
    await remove();
    await assert.rejects(remove(), { status: 404, tries: 1 }, "it was gone before");
  }
});

test("An error answer of a proxy is a Problem, whatever its body is, and the request is sent again", async () => {
  const bodies = [
    '{"type":5}', '{"detail":{"toString":1}}', '{"title":[{"toString":1}]}', '{"instance":{},"requestId":1,"line":"1"}', '{"errors":5}', '{"errors":"ab"}',
    '{"errors":[null,{"pointer":5}]}', "[]", '"x"', "null", "<html>",
  ];
  for (const body of bodies) {
    const client = new BraidClient({ url: "http://x", fetch: async () => new Response(body, { status: 503 }), wait: atOnce, retries: 1 });
    const problem = await client.tables.list().catch((error) => error);
    assert.ok(problem instanceof Problem, `${body}: ${problem}`);
    const { document, ...said } = Object.fromEntries(Object.entries(problem).filter(([, value]) => value !== undefined));
    assert.deepEqual(document, body.startsWith("{") ? JSON.parse(body) : {});
    assert.deepEqual(said, { name: "Problem", status: 503, type: "about:blank", kind: "about:blank", errors: [], tries: 2 }, body);
    assert.equal(problem.message, "The server answered 503.");
  }
  // The date in `Retry-After` is in the past by the client's clock, so the problem's `retryAfter` must be 0.
  const late = { status: 503, headers: { "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT" } };
  const client = new BraidClient({ url: "http://x", fetch: async () => new Response("", late), retries: 0 });
  await assert.rejects(client.tables.list(), { status: 503, retryAfter: 0 });
});

test("A log-in page of a network in place of an answer is an error, even if the answer has no content", async () => {
  for (const page of ["<html>Log in", ""]) {
    const fetch = async () => new Response(page, { headers: { "Content-Type": "text/html" } });
    const client = new BraidClient({ url: "http://x", fetch, wait: atOnce, retries: 1 }), session = client.session("x");
    for (const ask of [() => session.delete(), () => session.tokens.delete("t"), () => client.tables.delete("t"), () => session.tap({ id: "a" }), () => session.snapshot()]) {
      await assert.rejects(ask(), { name: "ConnectionError", message: "The answer is no JSON." });
    }
  }
});

test("After a log-in page of a network, the client sends the command again with the same key", async () => {
  const keys = [];
  const page = () => new Response("<html>Log in", { headers: { "Content-Type": "text/html" } });
  const answers = [page, () => Response.json({ revision: 1 }), page, page, page];
  const fetch = async (_, { headers }) => (keys.push(headers["Idempotency-Key"]), answers.shift()());
  const client = new BraidClient({ url: "http://x", fetch, wait: atOnce, retries: 1 });
  assert.deepEqual(await client.session("x").tap({ id: "a" }), { revision: 1 });
  assert.equal(keys[0], keys[1]);
  await assert.rejects(client.session("x").tap({ id: "a" }, { key: null }), { name: "ConnectionError", message: "The answer is no JSON.", tries: 1 });
  await assert.rejects(client.session("x").journalFile(), { name: "ConnectionError", message: "The answer is no application/x-ndjson.", tries: 2 });
});

test("The client sends a request again to a busy server with the same key, after the time that the server asked for", async (t) => {
  const answers = [[503, { "Retry-After": "2" }], [429, {}], [502, {}], [408, {}], [503, {}, { type: "/problems/outcome-unknown" }], [409, { "Retry-After": "1" }, { type: "/problems/idempotency-key-in-use" }], [200, {}, { revision: 1 }]];
  const keys = [];
  const server = http.createServer((request, response) => {
    const [status, headers, body = {}] = answers.shift();
    keys.push(request.headers["idempotency-key"]);
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const waits = [];
  const client = new BraidClient({ url: `http://127.0.0.1:${server.address().port}`, random: () => 0.5, wait: async (milliseconds) => void waits.push(milliseconds) });
  assert.deepEqual(await client.session("x").tap({ id: "a" }), { revision: 1 });
  assert.deepEqual(waits, [2250, 500, 1000, 2000, 4000, 9000]);
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  // The server asks for a pause of an hour. The client throws the error instead of waiting.
  answers.push([503, { "Retry-After": "3600" }]);
  await assert.rejects(client.session("x").tap({ id: "a" }), { status: 503, tries: 1, retryAfter: 3_600_000 });
  // A request for a token has no key, so the client does not send it again if the server may have handled it.
  for (const [status, type] of [[502], [503, "/problems/outcome-unknown"]]) {
    answers.push([status, {}, { type }]);
    await assert.rejects(client.session("x").tokens.create({ role: "viewer", expiresIn: 1 }), { status, tries: 1 });
  }
});

test("The client gives up after its retries, and does not send an aborted request again", async (t) => {
  const client = new BraidClient({ url: "http://127.0.0.1:1", retries: 2, wait: atOnce });
  const failed = await client.session("x").snapshot().catch((error) => error);
  assert.ok(failed instanceof ConnectionError);
  assert.equal(failed.tries, 3);
  const server = await Server.start(t);
  const proxy = await Proxy.start(t, server.port, () => "stall");
  const controller = new AbortController();
  const stalled = new BraidClient({ url: proxy.url }).session("party").snapshot({ signal: controller.signal });
  setImmediate(() => controller.abort(new Error("enough")));
  await assert.rejects(stalled, { message: "enough" });
  const slow = new BraidClient({ url: proxy.url, timeout: 20, retries: 1, wait: atOnce }).session("party").snapshot();
  await assert.rejects(slow, (error) => error instanceof ConnectionError && error.tries === 2 && /20 milliseconds/.test(error.message));
});

test("A long poll times out only after the server's waiting time plus the time for an answer", async (t) => {
  const timers = [];
  const timer = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", (action, milliseconds, ...values) => (timers.push(milliseconds), timer(action, milliseconds, ...values)));
  const client = new BraidClient({ url: "http://x", timeout: 5000, fetch: async () => Response.json({ from: 0, to: 0, updates: [] }) });
  await client.session("x").updates(0, { wait: 60 });
  await client.session("x").updates(0);
  assert.deepEqual(timers, [65_000, 5000]);
});

test("A wait of more than 24 days is shortened to the longest time of a timer", async (t) => {
  const timers = [];
  const timer = globalThis.setTimeout;
  // Browsers and Node fire a timer of more than 24 days at once.
  t.mock.method(globalThis, "setTimeout", (action, milliseconds, ...values) => {
    if (milliseconds < 1000) return timer(action, milliseconds, ...values);
    timers.push(milliseconds);
    return timer(() => {}, 0);
  });
  const answers = [() => Response.json({ status: "ready" }), () => new Response("{}", { status: 503, headers: { "Retry-After": "9".repeat(400) } })];
  const waiting = new Promise((resolve) => {
    const fetch = async () => answers.shift()();
    const client = new BraidClient({ url: "http://x", fetch, timeout: Infinity });
    client.health().then(() => {
      const subscription = client.session("x").subscribe({ silence: Infinity, onStatus: (status) => status === "waiting" && queueMicrotask(() => resolve(subscription)) });
    });
  });
  (await waiting).close();
  const longest = 2 ** 31 - 1;
  assert.deepEqual(timers, [longest, longest, longest]);
});

test("A request can be made without sending it, then sent later, or run in a shell as a curl command", async (t) => {
  const server = await Server.start(t, { token: "secret" });
  const client = new BraidClient({ url: server.url, token: "secret" });
  const party = client.session("party");
  const model = { name: `It's "$HOME" \\ \`x\`\nü` };
  const request = party.request.patchModels({ invited: [model] }, { key: "k" });
  assert.deepEqual(request, {
    method: "PATCH", path: "/v1/sessions/party/models", headers: { "Content-Type": "application/json", "Idempotency-Key": "k" }, body: { invited: [model] },
  });
  assert.equal((await client.send(request)).revision, 1);
  assert.equal((await party.snapshot()).sections[2].rows[0].id, model.name);
  const line = client.curl(request);
  assert.ok(!line.includes("secret"));
  const words = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }\n${line}`], { env: { BRAID_TOKEN: "t" } }).toString().split("\0");
  assert.deepEqual(words, [
    "-X", "PATCH", `${server.url}/v1/sessions/party/models`, "-H", "Authorization: Bearer t", "-H", "Content-Type: application/json",
    "-H", "Idempotency-Key: k", "-d", JSON.stringify({ invited: [model] }), "",
  ]);
  assert.ok(!client.curl(party.request.tap({ id: "Omar" }, { key: null })).includes("Idempotency"));
  assert.ok(!client.curl(party.request.tap({ id: "Omar" })).includes("-X"));
});

test("A fork of a session can be opened, and snapshots at earlier positions can be read", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: server.url });
  const party = client.session("party");
  const first = await party.snapshot();
  await party.edit({ delete: { id: "Omar" } });
  const second = await party.snapshot();
  assert.deepEqual(await party.snapshot({ at: 0 }), first);
  assert.deepEqual(await party.snapshot({ at: first }), first);
  assert.deepEqual(await party.snapshot({ at: position(second) }), second);
  const window = await party.snapshot({ at: first, window: { section: "attending", limit: 1 } });
  assert.deepEqual(ids(window, "attending"), ids(first, "attending").slice(0, 1));
  const fork = await client.sessions.open({ from: { session: "party" }, id: "fork" });
  assert.deepEqual(fork.opened.sections, second.sections);
  assert.equal(fork.opened.revision, 0);
  const earlier = await client.sessions.open({ from: { session: "party", revision: 0 } });
  assert.deepEqual(earlier.opened.sections, first.sections);
  await assert.rejects(party.snapshot({ at: "another.0" }), { status: 410, kind: "revision-not-available" });
});
