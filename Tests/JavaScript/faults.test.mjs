// Tests of how the client recovers from each fault that a server in test mode can produce.
import assert from "node:assert/strict";
import test from "node:test";
import { applying, BraidClient, Problem } from "./braid.mjs";
import { atOnce, Listener, Server } from "./server.mjs";

/**
 * Starts a server in test mode. Returns it with a client whose retries do not wait, and with two objects for the
 * session "party".
 */
async function started(t, options = {}) {
  const server = await Server.start(t, { fixtures: "Examples/attendees", options: ["--test-mode"] });
  const client = new BraidClient({ url: server.url, wait: atOnce, retries: 100, ...options });
  return { server, client, party: client.session("party"), other: new BraidClient({ url: server.url }).session("party") };
}

async function setFaults(server, ...faults) {
  const response = await fetch(`${server.url}/v1/test/faults`, {
    method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ faults }),
  });
  assert.equal(response.status, 200, await response.text());
}

async function applied(server) {
  const { faults } = await (await fetch(`${server.url}/v1/test/faults`)).json();
  return faults.map((fault) => fault.applied);
}

const tell = (session, name) => session.patchModels({ invited: [{ name }] });

test("A command whose answer is lost is sent again with its key, and is applied once", async (t) => {
  const { server, party } = await started(t);
  await setFaults(server, { match: { headers: { "idempotency-key": "*" } }, times: 2, action: { loseAnswer: {} } });
  const { revision } = await tell(party, "Ann");
  assert.equal(revision, 1);
  assert.deepEqual(await applied(server), [2]);
  assert.equal((await party.snapshot()).revision, 1);
  assert.equal((await party.journal()).records.length, 1);
});

test("If the connection is closed before the server applies a command, the command is sent again", async (t) => {
  const { server, party } = await started(t);
  await setFaults(server, { match: { method: "PATCH" }, times: 3, action: { close: {} } });
  assert.equal((await tell(party, "Ann")).revision, 1);
  assert.deepEqual(await applied(server), [3]);
});

test("A truncated answer does not count as a complete answer", async (t) => {
  const { server, party } = await started(t);
  const whole = await party.snapshot();
  await setFaults(server, { match: { path: "/v1/sessions/party/snapshot" }, times: 2, action: { truncate: { bytes: 100 } } });
  assert.deepEqual(await party.snapshot(), whole);
  assert.deepEqual(await applied(server), [2]);
});

test("A request to a busy server is sent again after the time that the server asked for", async (t) => {
  const waits = [];
  const { server, party } = await started(t, { random: () => 0, wait: async (milliseconds) => void waits.push(milliseconds) });
  await setFaults(
    server, { times: 1, action: { respond: { status: 503, retryAfter: 7 } } }, { times: 1, action: { respond: { status: 429, retryAfter: 3 } } },
  );
  assert.equal((await tell(party, "Ann")).revision, 1);
  assert.deepEqual(waits, [7000, 3000]);
});

test("A refusal is thrown, and the request is not sent again", async (t) => {
  const { server, party } = await started(t);
  await setFaults(server, { action: { respond: { type: "editing-not-allowed" } } });
  await assert.rejects(tell(party, "Ann"), (problem) => problem instanceof Problem && problem.status === 403 && problem.type === "/problems/editing-not-allowed");
  assert.deepEqual(await applied(server), [1]);
});

test("If an answer takes too long, the request is aborted and sent again", async (t) => {
  const { server, party } = await started(t, { timeout: 500 });
  await setFaults(server, { times: 1, delay: { milliseconds: 600_000 } });
  assert.equal((await tell(party, "Ann")).revision, 1);
  assert.deepEqual(await applied(server), [1]);
  assert.equal((await party.snapshot()).revision, 1, "the delayed request is not carried out before its time");
});

for (const [what, action] of [
  ["after an event", { events: 3 }], ["between the bytes of an event", { events: 2, bytes: 10 }], ["after every event", { events: 1 }],
]) {
  test(`A stream that is cut ${what} is resumed: nothing is missed or told twice`, async (t) => {
    const { server, party, other } = await started(t);
    await setFaults(server, { times: 10, action: { cutStream: action } });
    const listener = new Listener(t, party);
    await listener.status("live");
    for (let number = 1; number <= 20; number++) {
      await tell(other, `guest ${number}`);
      if (number % 5 === 0) await listener.revision(number);
    }
    await listener.revision(20);
    let revision = listener.of("snapshot")[0][0].revision;
    for (const [update, snapshot, previous] of listener.of("update")) {
      assert.equal(update.from, revision);
      assert.deepEqual(applying(update, previous), snapshot);
      revision = update.to;
    }
    assert.equal(revision, 20);
    assert.equal(listener.of("snapshot").length, 1);
    assert.ok((await applied(server))[0] > 1);
  });
}

test("If the stream sends a snapshot again, the snapshot replaces the subscriber's snapshot", async (t) => {
  const { server, party, other } = await started(t);
  await setFaults(
    server, { id: "cut", times: 1, action: { cutStream: { events: 3 } } },
    { id: "reset", match: { headers: { "last-event-id": "*" } }, times: 1, action: { snapshot: {} } },
  );
  const listener = new Listener(t, party);
  await listener.status("live");
  await tell(other, "Ann");
  await listener.until(() => listener.of("snapshot").length === 2);
  assert.deepEqual(await applied(server), [1, 1]);
  assert.deepEqual(listener.subscription.snapshot, await other.snapshot());
  await tell(other, "Bob");
  await listener.revision(2);
  assert.deepEqual(listener.subscription.snapshot, await other.snapshot());
});

test("A list of updates says if it contains a snapshot in place of updates", async (t) => {
  const { server, party } = await started(t);
  const shown = await party.snapshot();
  await tell(party, "Ann");
  await setFaults(server, { match: { query: { since: "*" } }, times: 1, action: { snapshot: {} } });
  assert.deepEqual((await party.updates(shown)).snapshot, await party.snapshot());
  assert.equal((await party.updates(shown)).updates.length, 1);
});

test("After a change of the epoch, a subscriber starts again with a snapshot", async (t) => {
  const { server, party, other } = await started(t);
  const listener = new Listener(t, party);
  await listener.status("live");
  const { epoch } = listener.subscription.snapshot;
  await setFaults(server, { match: { method: "PATCH" }, times: 1, action: { newEpoch: {} } });
  assert.equal((await tell(other, "Ann")).revision, 1);
  await listener.until(() => listener.subscription.snapshot.epoch !== epoch && listener.subscription.revision === 1);
  await tell(other, "Bob");
  await listener.revision(2);
  assert.deepEqual(listener.subscription.snapshot, await other.snapshot());
});

test("The client waits for a server that refuses connections, as during a restart", async (t) => {
  const { server, party, other } = await started(t);
  const listener = new Listener(t, party);
  await listener.status("live");
  await setFaults(server, { match: { method: "PATCH" }, times: 1, action: { refuseConnections: { milliseconds: 300 } } });
  // The client pauses for 20 milliseconds before it tries again, so a thousand attempts last long enough.
  const patient = new BraidClient({ url: server.url, retries: 1_000, wait: () => new Promise((resolve) => setTimeout(resolve, 20)) });
  assert.equal((await tell(patient.session("party"), "Ann")).revision, 1);
  assert.deepEqual(await applied(server), [1]);
  await listener.revision(1);
  assert.deepEqual(listener.subscription.snapshot, await other.snapshot());
  assert.ok(listener.of("status").some(([status]) => status === "waiting"));
});

test("After a silence, a stream continues without a gap", async (t) => {
  const { server, party, other } = await started(t);
  await setFaults(server, { times: 1, action: { pauseStream: { events: 2, milliseconds: 200 } } });
  const listener = new Listener(t, party);
  await listener.status("live");
  await tell(other, "Ann");
  await listener.revision(1);
  assert.deepEqual(await applied(server), [1]);
  assert.equal(listener.of("status").filter(([status]) => status === "connecting").length, 1, "on the same connection");
});

test("A slow answer arrives completely", async (t) => {
  const { server, party } = await started(t);
  const whole = await party.snapshot();
  await setFaults(server, { times: 1, action: { throttle: { bytesPerSecond: 4_000 } } });
  const start = performance.now();
  assert.deepEqual(await party.snapshot(), whole);
  assert.ok(performance.now() - start > 100);
});
