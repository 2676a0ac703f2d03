// Tests of subscriptions with the real server: lost connections, restarts, resets and ended sessions.
import assert from "node:assert/strict";
import test from "node:test";
import { applying, BraidClient, ConnectionError, Problem } from "./braid.mjs";
import { atOnce, Listener, Proxy, seeded, Server } from "./server.mjs";

const tell = (session, text) => session.patchModels({ invited: [{ name: text }] });

/**
 * Checks that the received updates have no gap and no repetition: No update begins before the end of the previous one,
 * each leads from the previous snapshot to its own, and the last one ends at `to`.
 */
function assertGapless(listener, from, to) {
  let revision = from;
  for (const [update, snapshot, previous] of listener.of("update")) {
    assert.ok(update.from >= revision, `${update.from} after ${revision}`);
    assert.deepEqual(applying(update, previous), snapshot);
    assert.equal(snapshot.revision, update.to);
    revision = update.to;
  }
  assert.equal(revision, to);
}

test("A subscriber receives the snapshot, then each update as it happens, and nothing after it is closed", async (t) => {
  const server = await Server.start(t);
  const party = new BraidClient({ url: server.url }).session("party");
  const listener = new Listener(t, party);
  await listener.status("live");
  assert.deepEqual(listener.told.map(([name, value]) => (name === "status" ? value : name)), ["connecting", "snapshot", "live"]);
  for (const name of ["Ann", "Bob"]) await tell(party, name);
  await listener.revision(2);
  assert.deepEqual(listener.subscription.snapshot, await party.snapshot());
  assertGapless(listener, 0, 2);
  listener.subscription.close();
  assert.equal(listener.subscription.status, "closed");
  const told = listener.told.length;
  await tell(party, "Carl");
  const other = new Listener(t, party, { from: listener.subscription.snapshot });
  await other.revision(3);
  assert.equal(listener.told.length, told);
  assert.deepEqual(other.of("snapshot"), [], "it went on from the snapshot that was there");
  other.subscription.close();
});

test("A stream is compressed, and still each event arrives at once", async (t) => {
  const server = await Server.start(t);
  const codings = new Map();
  const noting = async (url, options) => {
    const response = await fetch(url, options);
    codings.set(new URL(url).pathname, response.headers.get("content-encoding"));
    return response;
  };
  const party = new BraidClient({ url: server.url, fetch: noting }).session("party");
  const listener = new Listener(t, party);
  await listener.status("live");
  for (let revision = 1; revision <= 10; revision++) {
    await tell(party, `guest ${revision}`);
    // The loop sends the next command only after the subscriber has received this event.
    await listener.revision(revision);
  }
  assertGapless(listener, 0, 10);
  assert.deepEqual(listener.subscription.snapshot, await party.snapshot());
  assert.equal(codings.get("/v1/sessions/party/updates"), "gzip");
});

test("An update after revisions without visible changes applies to the snapshot that the listener receives", async (t) => {
  const server = await Server.start(t);
  const list = await new BraidClient({ url: server.url }).sessions.open({ rows: [{ id: "a" }] });
  const listener = new Listener(t, list);
  await listener.status("live");
  await list.addRow([0, 1], { id: "b" }, { notify: false });
  const late = new Listener(t, list, { from: list.opened });
  await late.status("live");
  assert.equal(late.subscription.revision, 1);
  await list.addRow([0, 2], { id: "c" });
  await listener.revision(2);
  assertGapless(listener, 0, 2);
});

test("After a restart of the killed server, the subscriber continues without a gap or a repetition", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: server.url, random: () => 0.01 });
  const party = client.session("party");
  const listener = new Listener(t, party);
  await listener.status("live");
  for (let round = 0; round < 3; round++) {
    for (let number = 0; number < 5; number++) await tell(party, `guest ${round} ${number}`);
    // At this moment, the subscriber may have received only some of the updates.
    await server.kill();
    await listener.status("waiting");
    await server.start();
    await tell(party, `after ${round}`);
    await listener.revision((round + 1) * 6);
  }
  assertGapless(listener, 0, 18);
  assert.equal(listener.of("snapshot").length, 1);
  assert.deepEqual(listener.subscription.snapshot, await party.snapshot());
  assert.ok(listener.of("status").some(([status]) => status === "waiting"));
  listener.subscription.close();
});

test("A subscriber whose connections break again and again receives each update exactly once", async (t) => {
  const server = await Server.start(t);
  const random = seeded(11);
  const proxy = await Proxy.start(t, server.port, (toServer) => (!toServer && random() < 0.4 ? "tear" : "pass"));
  const party = new BraidClient({ url: server.url }).session("party");
  const listener = new Listener(t, new BraidClient({ url: proxy.url, wait: atOnce }).session("party"));
  let last = 0;
  // The server sends several updates in one piece if the machine is busy. After 60 updates, the test therefore waits for
  // each update, until the proxy has torn enough pieces.
  while (last < 60 || proxy.lost <= 3) {
    await tell(party, `guest ${++last}`);
    if (last > 60) await listener.revision(last);
  }
  await listener.revision(last);
  assert.equal(listener.of("snapshot").length, 1);
  assertGapless(listener, listener.of("snapshot")[0][0].revision, last);
  assert.deepEqual(listener.subscription.snapshot, await party.snapshot());
  listener.subscription.close();
});

test("Three clients on bad networks, with old tables, all end with the server's table, and each command is applied once", async (t) => {
  const server = await Server.start(t);
  const list = await new BraidClient({ url: server.url }).sessions.open({ table: "attendees", id: "all" });
  let added = 0;
  const clients = await Promise.all(
    [1, 2, 3].map(async (seed) => {
      const random = seeded(seed);
      const proxy = await Proxy.start(t, server.port, (toServer) => (random() < 0.15 ? (toServer ? "lose" : "tear") : "pass"));
      const session = new BraidClient({ url: proxy.url, wait: atOnce, retries: 100 }).session("all");
      const listener = new Listener(t, session);
      const play = async () => {
        for (let number = 0; number < 15; number++) {
          // The command refers to the subscriber's table, which may not contain the latest changes yet.
          const base = listener.subscription.snapshot ?? list.opened;
          const section = base.sections.findIndex(({ id }) => id === (random() < 0.5 ? "attending" : "invited"));
          const rows = base.sections[section]?.rows ?? [];
          const row = Math.floor(random() * rows.length);
          const kind = random();
          try {
            if (kind < 0.4) {
              await session.transaction([{ "dataSource": { addRow: { at: [1, 0], model: { name: `${seed}-${number}` } } } }]);
              added++;
            } else if (rows.length === 0) continue;
            else if (kind < 0.7) await session.edit({ delete: { section, row } }, { base });
            else await session.move({ from: { section, row }, to: { section: "attending", row: 0 } }, { base });
          } catch (error) {
            // The server may refuse the command: another client was faster, or the table description does not allow it.
            if (!(error instanceof Problem) || error.status >= 500 || error.status === 400) throw error;
          }
        }
      };
      return { listener, play };
    }),
  );
  await Promise.all(clients.map(({ play }) => play()));
  const last = await list.snapshot();
  for (const { listener } of clients) {
    await listener.revision(last.revision);
    assert.deepEqual(listener.subscription.snapshot, last);
    assert.equal(listener.of("snapshot").length, 1);
    assertGapless(listener, listener.of("snapshot")[0][0].revision, last.revision);
    listener.subscription.close();
  }
  const names = last.sections.flatMap(({ rows }) => rows.map(({ id }) => id)).filter((id) => /^[123]-/.test(id));
  assert.equal(new Set(names).size, names.length);
  assert.ok(added > 5 && last.revision > 15);
});

test("A connection on which nothing arrives any more is closed, and the subscriber connects again", async (t) => {
  const server = await Server.start(t);
  let isStalled = false;
  const proxy = await Proxy.start(t, server.port, (toServer) => (isStalled && !toServer ? "stall" : "pass"));
  const party = new BraidClient({ url: server.url }).session("party");
  const listener = new Listener(t, new BraidClient({ url: proxy.url, wait: atOnce }).session("party"), { silence: 500 });
  await listener.status("live");
  isStalled = true;
  await tell(party, "Ann");
  await listener.status("waiting");
  isStalled = false;
  await listener.revision(1);
  assertGapless(listener, 0, 1);
  listener.subscription.close();
});

test("A cell event without a change arrives exactly once, even if the connection is lost after it", async (t) => {
  const server = await Server.start(t);
  const table = { table: "t", cells: { C: { events: { go: {} } } }, bindings: [{ cell: "C", models: [{ id: "1" }] }] };
  const session = await new BraidClient({ url: server.url }).sessions.open({ table });
  let isLosing = false;
  const proxy = await Proxy.start(t, server.port, (toServer) => (isLosing && !toServer ? "lose" : "pass"));
  const listener = new Listener(t, new BraidClient({ url: proxy.url, wait: atOnce }).session(session.id));
  await listener.status("live");
  await session.event({ id: "1" }, { go: {} });
  await listener.until(() => listener.of("cellEvent").length > 0);
  isLosing = true;
  await session.patchState({ x: 1 });
  await listener.until(() => listener.of("status").some(([status]) => status === "waiting"));
  isLosing = false;
  await listener.revision(2);
  assert.equal(listener.of("cellEvent").length, 1);
});

test("An emitted event arrives exactly once with its payload, even if the connection is lost after it", async (t) => {
  const server = await Server.start(t);
  const onTap = [{ emit: { name: "opened", payload: { id: "${model.id}" } } }, { emit: { name: "bare" } }];
  const table = { table: "t", bindings: [{ cell: "C", models: [{ id: "1" }], onTap }] };
  const session = await new BraidClient({ url: server.url }).sessions.open({ table });
  let isLosing = false;
  const proxy = await Proxy.start(t, server.port, (toServer) => (isLosing && !toServer ? "lose" : "pass"));
  const listener = new Listener(t, new BraidClient({ url: proxy.url, wait: atOnce }).session(session.id));
  await listener.status("live");
  await session.tap({ id: "1" });
  await listener.until(() => listener.of("emitted").length > 1);
  isLosing = true;
  await session.patchState({ x: 1 });
  await listener.until(() => listener.of("status").some(([status]) => status === "waiting"));
  isLosing = false;
  await listener.revision(2);
  assert.deepEqual(listener.of("emitted").map(([event]) => event), [{ name: "opened", payload: { id: "1" } }, { name: "bare" }]);
});

test("A tap without a change arrives exactly once with its row, even if the connection is lost after it", async (t) => {
  const server = await Server.start(t);
  const table = { table: "t", cells: { C: {} }, bindings: [{ cell: "C", models: [{ id: "1" }, { id: "2" }] }] };
  const session = await new BraidClient({ url: server.url }).sessions.open({ table });
  let isLosing = false;
  const proxy = await Proxy.start(t, server.port, (toServer) => (isLosing && !toServer ? "lose" : "pass"));
  const listener = new Listener(t, new BraidClient({ url: proxy.url, wait: atOnce }).session(session.id));
  await listener.status("live");
  await session.tap({ id: "2" });
  await listener.until(() => listener.of("tap").length > 0);
  isLosing = true;
  await session.patchState({ x: 1 });
  await listener.until(() => listener.of("status").some(([status]) => status === "waiting"));
  isLosing = false;
  await listener.revision(2);
  assert.deepEqual(listener.of("tap"), [[{ at: [0, 1], id: "2", cell: "C", model: { id: "2" } }]]);
});

test("An error in a listener does not stop the stream, and a closed subscription calls no listener", async (t) => {
  const thrown = [];
  const later = globalThis.queueMicrotask;
  t.mock.method(globalThis, "queueMicrotask", (action) => later(() => {
    try {
      action();
    } catch (error) {
      thrown.push(error.message);
    }
  }));
  const snapshots = [0, 1, 2].map((revision) => `id: e.${revision}\nevent: snapshot\ndata: {"revision":${revision},"sections":[]}\n\n`).join("");
  const fetch = async () => new Response(snapshots, { headers: { "Content-Type": "text/event-stream" } });
  const client = new BraidClient({ url: "http://x", fetch });
  await new Promise((resolve) => {
    const listener = new Listener(t, client.session("x"), {
      onSnapshot: ({ revision }) => {
        if (revision === 1) listener.subscription.close(), setImmediate(resolve);
        throw new Error(`fault ${revision}`);
      },
    });
  });
  assert.deepEqual(thrown, ["fault 0", "fault 1"]);
});

test("A quiet stream stays open as long as the server's comments arrive", async (t) => {
  let now = 0, timers = [], stream;
  t.mock.method(Date, "now", () => now);
  t.mock.method(globalThis, "setTimeout", (action, delay) => timers.push({ action, time: now + delay }));
  const heard = () => new Promise(setImmediate);
  const pass = (milliseconds) => {
    now += milliseconds;
    for (const timer of timers.splice(0)) timer.time <= now ? timer.action() : timers.push(timer);
    return heard();
  };
  const body = () => new ReadableStream({ start: (controller) => (stream = controller) });
  const fetch = async (_, { signal }) => {
    signal.addEventListener("abort", () => stream.error(signal.reason));
    return new Response(body(), { headers: { "Content-Type": "text/event-stream" } });
  };
  const client = new BraidClient({ url: "http://x", fetch, wait: () => new Promise(() => {}) });
  const listener = new Listener(t, client.session("x"), { silence: 40_000 });
  await heard();
  for (let comments = 0; comments < 5; comments++) {
    await pass(30_000);
    stream.enqueue(new TextEncoder().encode(":\n\n"));
    await heard();
    assert.equal(listener.subscription.status, "connecting");
  }
  await pass(40_000);
  assert.equal(listener.subscription.status, "waiting");
});

test("A reset arrives as an update, an ended session ends its subscribers, and a new session with its id is another", async (t) => {
  const server = await Server.start(t);
  const client = new BraidClient({ url: server.url, wait: atOnce });
  const guests = await client.sessions.open({ table: "attendees", id: "guests" });
  const listener = new Listener(t, guests, { from: guests.opened });
  await tell(guests, "Ann");
  await guests.reset();
  await listener.revision(2);
  assert.deepEqual(listener.subscription.snapshot, { ...guests.opened, revision: 2 });
  const last = listener.subscription.snapshot;
  await guests.delete();
  await listener.status("ended");
  await listener.until(() => listener.of("end").length > 0);
  assert.deepEqual(listener.of("end"), [[undefined]]);
  assert.equal(listener.subscription.snapshot, last);
  listener.subscription.close();
  assert.equal(listener.subscription.status, "ended");
  const late = new Listener(t, guests, { from: last });
  await late.until(() => late.of("end").length > 0);
  assert.equal(late.of("end")[0][0].status, 404);
  // The new session has the same id, but its epoch differs from that of the old snapshot.
  const again = await client.sessions.open({ table: "attendees", id: "guests" });
  const anew = new Listener(t, again, { from: last });
  await anew.status("live");
  assert.equal(anew.of("snapshot").length, 1);
  assert.notEqual(anew.subscription.snapshot.epoch, last.epoch);
  assert.deepEqual(anew.subscription.snapshot, again.opened);
  anew.subscription.close();
});

test("If the journal does not reach back far enough, the subscriber receives a snapshot", async (t) => {
  const server = await Server.start(t, { options: ["--journal-limit", "3"] });
  const party = new BraidClient({ url: server.url }).session("party");
  const old = await party.snapshot();
  for (let number = 0; number < 9; number++) await tell(party, `guest ${number}`);
  await server.kill();
  await server.start();
  const listener = new Listener(t, party, { from: old });
  await listener.status("live");
  const [[snapshot, previous]] = listener.of("snapshot");
  assert.equal(previous, old);
  assert.deepEqual(snapshot, await party.snapshot());
  listener.subscription.close();
});

test("If an update does not fit the subscriber's table, the subscriber asks for a snapshot", async (t) => {
  const server = await Server.start(t);
  const party = new BraidClient({ url: server.url, wait: atOnce }).session("party");
  const wrong = await party.snapshot();
  wrong.sections = wrong.sections.slice(1);
  wrong.totalRowCount -= 1;
  const listener = new Listener(t, party, { from: wrong });
  await listener.status("live");
  await tell(party, "Ann");
  await listener.until(() => listener.of("snapshot").length > 0);
  assert.deepEqual(listener.subscription.snapshot, await party.snapshot());
  assert.ok(listener.of("status").some(([, failure]) => failure?.name === "UpdateFault"));
  listener.subscription.close();
});

test("A revoked token ends the subscription with a 401, and only controllers receive taps and cell events", async (t) => {
  const server = await Server.start(t, { token: "secret" });
  const controller = new BraidClient({ url: server.url, token: "secret" });
  const event = controller.session("event");
  const { token, tokenId } = await event.tokens.create({ role: "participant", expiresIn: 600 });
  const participant = new BraidClient({ url: server.url, token, wait: atOnce });
  const [listener, all] = [new Listener(t, participant.session("event")), new Listener(t, event)];
  await Promise.all([listener.status("live"), all.status("live")]);
  const snapshot = listener.subscription.snapshot;
  const [section, row] = snapshot.sections.flatMap((section, at) => section.rows.map((row, index) => [at, index, row])).find(([, , row]) => row.cell === "TextFieldCell");
  await participant.session("event").event({ section, row }, { textEntered: { text: "Party" } });
  await all.until(() => all.of("cellEvent").length > 0);
  assert.deepEqual(all.of("cellEvent")[0][0].event, { textEntered: { text: "Party" } });
  await participant.session("event").tap({ section, row });
  await all.until(() => all.of("tap").length > 0);
  assert.deepEqual(all.of("tap")[0][0].at, [section, row]);
  assert.deepEqual([...listener.of("cellEvent"), ...listener.of("tap")], []);
  assert.deepEqual((await event.tokens.list()).tokens.map((token) => token.tokenId), [tokenId]);
  await event.tokens.delete(tokenId);
  await listener.until(() => listener.of("end").length > 0);
  const [[problem]] = listener.of("end");
  assert.ok(problem instanceof Problem && problem.status === 401);
  all.subscription.close();
});

test("The subscriber receives the same events wherever the stream is cut, and for each kind of line break", async (t) => {
  const snapshot = { session: "x", epoch: "e", revision: 0, totalRowCount: 0, sections: [], state: { text: "ü\u2028€" } };
  const update = { from: 0, to: 1, stages: [], totalRowCount: 0, state: { text: "😀" } };
  for (const end of ["\n", "\r\n", "\r"]) {
    const lines = ["\uFEFFretry: 7", "", ": hello", "event: snapshot", `data: ${JSON.stringify(snapshot)}`, "id: e.0", "", "event:update", "id:e.1", ...JSON.stringify(update).replace(",", ",\n").split("\n").map((line) => `data:${line}`), "", "event: unknown", "data: {}", "", "event: ended", "data: {}", "", ""];
    const bytes = new TextEncoder().encode(lines.join(end));
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size));
      const body = () => new ReadableStream({ pull: (controller) => (pieces.length > 0 ? controller.enqueue(pieces.shift()) : controller.close()) });
      const client = new BraidClient({ url: "http://x", fetch: async () => new Response(body(), { headers: { "Content-Type": "text/event-stream" } }) });
      const listener = new Listener(t, client.session("x"));
      await listener.until(() => listener.of("end").length > 0);
      assert.deepEqual(listener.subscription.snapshot, { ...snapshot, revision: 1, state: update.state });
      assert.equal(listener.of("update").length, 1);
    }
  }
});

test("A subscriber of an ended session gets no error if the connection breaks after the event `ended`", async (t) => {
  const pieces = ["event: ended\ndata: {}\n\n"];
  const body = () => new ReadableStream({ pull: (controller) => (pieces.length > 0 ? controller.enqueue(new TextEncoder().encode(pieces.shift())) : controller.error(new Error("reset"))) });
  const client = new BraidClient({ url: "http://x", fetch: async () => new Response(body(), { headers: { "Content-Type": "text/event-stream" } }) });
  const listener = new Listener(t, client.session("x"));
  await listener.until(() => listener.of("end").length > 0);
  assert.deepEqual(listener.of("end"), [[undefined]]);
});

test("The subscriber waits longer after each failure, and at least as long as the server asked for", async (t) => {
  const waits = [];
  let count = 0;
  const fetch = async () => {
    count++;
    if (count === 3) return new Response("{}", { status: 503, headers: { "Retry-After": "9" } });
    if (count === 4) return new Response("{}", { status: 429 });
    if (count > 6) return new Response("{}", { status: 404 });
    throw new TypeError("no network");
  };
  const client = new BraidClient({ url: "http://x", fetch, random: () => 1, wait: async (milliseconds) => void waits.push(milliseconds) });
  const listener = new Listener(t, client.session("x"));
  await listener.until(() => listener.of("end").length > 0);
  assert.deepEqual(waits, [1000, 2000, 13_000, 8000, 16_000, 30_000]);
});

test("After a log-in page of a network, or a stream that ends at once, the subscriber connects again", async (t) => {
  const waits = [];
  const page = ["<html>Log in", { headers: { "Content-Type": "text/html" } }];
  const answers = [page, page, ["", { headers: { "Content-Type": "text/event-stream; charset=utf-8" } }], ["{}", { status: 404 }]];
  const fetch = async () => new Response(...answers.shift());
  const client = new BraidClient({ url: "http://x", fetch, random: () => 1, wait: async (milliseconds) => void waits.push(milliseconds) });
  const listener = new Listener(t, client.session("x"));
  await listener.until(() => listener.of("end").length > 0);
  assert.deepEqual(waits, [1000, 2000, 4000]);
  const failures = listener.of("status").filter(([status]) => status === "waiting").map(([, failure]) => failure);
  assert.ok(failures.every((failure) => failure instanceof ConnectionError));
  const [noStream, ended] = ["The answer is no stream of events.", "The server ended the stream."];
  assert.deepEqual(failures.map(({ message }) => message), [noStream, noStream, ended]);
});

test("After an event that it cannot read, the subscriber starts again with a snapshot, and waits longer each time", async (t) => {
  const snapshot = { session: "x", epoch: "e", revision: 0, totalRowCount: 0, sections: [], state: {} };
  const first = `event: snapshot\ndata: ${JSON.stringify(snapshot)}\nid: e.0\n\n`;
  const senseless = ['event: update\ndata: {"from": 0, "to\nid: e.1\n\n', "event: update\ndata: null\n\n", "event: cellEvent\ndata: <html>\n\n"];
  const streams = [...senseless.map((event) => first + event), 'event: update\ndata: {"from": 0, "to": 1}\n\n', "event: snapshot\ndata: <html>\n\n"];
  const [positions, waits] = [[], []];
  const fetch = async (_, { headers }) => {
    positions.push(headers["Last-Event-ID"]);
    const stream = streams.shift();
    return stream ? new Response(stream, { headers: { "Content-Type": "text/event-stream" } }) : new Response("{}", { status: 404 });
  };
  const client = new BraidClient({ url: "http://x", fetch, random: () => 1, wait: async (milliseconds) => void waits.push(milliseconds) });
  const listener = new Listener(t, client.session("x"));
  await listener.until(() => listener.of("end").length > 0);
  assert.deepEqual(positions, [undefined, undefined, undefined, undefined, undefined, undefined]);
  assert.deepEqual(waits, [1000, 1000, 1000, 2000, 4000]);
  const failures = listener.of("status").filter(([status]) => status === "waiting").map(([, failure]) => failure);
  assert.deepEqual(failures.map(({ name }) => name), Array(5).fill("UpdateFault"));
  assert.match(failures[0].message, /^the event "update" makes no sense: /);
});

test("A paused subscription has no connection, and continues without a gap when it is resumed", async (t) => {
  const server = await Server.start(t);
  const party = new BraidClient({ url: server.url }).session("party");
  const followers = async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return metrics.split("\n").filter((line) => line.startsWith("braid_subscribers{") && !line.endsWith(" 0")).length;
  };
  const listener = new Listener(t, party);
  const { subscription } = listener;
  await listener.status("live");
  assert.equal(await followers(), 1);
  subscription.pause();
  assert.equal(subscription.status, "paused");
  while (await followers()) await new Promise(setImmediate);
  await tell(party, "Ann");
  await tell(party, "Bob");
  assert.equal(listener.of("update").length, 0);
  // However often pause and resume are called, there is only one connection in the end.
  for (const change of ["resume", "pause", "pause", "resume", "resume"]) subscription[change]();
  await listener.status("live");
  assertGapless(listener, 0, 2);
  assert.equal(await followers(), 1);
  assert.equal(listener.of("snapshot").length, 1);
  assert.deepEqual(listener.of("status").map(([status]) => status), ["connecting", "live", "paused", "paused", "connecting", "live"]);
  subscription.close();
  subscription.resume();
  subscription.pause();
  assert.equal(subscription.status, "closed");
});

test("A subscription that is paused at once connects only after it is resumed", async (t) => {
  let asked = 0;
  const fetch = async () => (asked++, new Response("", { status: 503 }));
  const listener = new Listener(t, new BraidClient({ url: "http://x", fetch, wait: () => new Promise(() => {}) }).session("x"));
  listener.subscription.pause();
  await new Promise(setImmediate);
  assert.equal(asked, 0);
  listener.subscription.resume();
  await listener.status("waiting");
  assert.equal(asked, 1);
});
