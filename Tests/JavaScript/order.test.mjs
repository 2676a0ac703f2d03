// Tests of the order in which the client sends a session's commands, with the real server.
import assert from "node:assert/strict";
import test from "node:test";
import { BraidClient } from "./braid.mjs";
import { atOnce, Proxy, Server } from "./server.mjs";

/**
 * A session behind a network that can be down. `losses(count)` resolves after the network has lost that many requests.
 */
async function behindNetwork(t) {
  const server = await Server.start(t);
  const network = { isDown: false, lost: 0, waiting: [] };
  network.losses = (count) => new Promise((resolve) => network.waiting.push([network.lost + count, resolve]));
  const proxy = await Proxy.start(t, server.port, (toServer) => {
    if (!network.isDown) return "pass";
    if (toServer) network.lost++;
    network.waiting = network.waiting.filter(([count, resolve]) => network.lost < count || resolve());
    return "lose";
  });
  const direct = await new BraidClient({ url: server.url }).sessions.open({ id: "list", rows: [] });
  const client = new BraidClient({ url: proxy.url, wait: atOnce, retries: 10_000 });
  return { network, direct, client, session: client.session("list") };
}

test("Two commands that are called while the server is away arrive in the order of the calls, in all 50 runs", async (t) => {
  const { network, direct, client, session } = await behindNetwork(t);
  for (let run = 0; run < 50; run++) {
    network.isDown = true;
    const losses = network.losses(4);
    // The order does not depend on which object of the session the commands are called on.
    const commands = [session, client.session("list")].map((session, index) => session.patchState({ value: 2 * run + index }));
    await losses;
    network.isDown = false;
    assert.deepEqual((await Promise.all(commands)).map(({ revision }) => revision), [2 * run + 1, 2 * run + 2]);
  }
  assert.deepEqual((await direct.snapshot()).state, { value: 99 });
});

test("After a refused command, the next command is sent", async (t) => {
  const { network, session } = await behindNetwork(t);
  network.isDown = true;
  const refused = assert.rejects(session.edit({ delete: { id: "nobody" } }), { name: "Problem" });
  const next = session.patchState({ value: 1 });
  await network.losses(2);
  network.isDown = false;
  await refused;
  assert.equal((await next).revision, 1);
});

test("A waiting command that is aborted is never sent, and the commands keep their order", async (t) => {
  const { network, direct, session } = await behindNetwork(t);
  network.isDown = true;
  const controller = new AbortController();
  const first = session.patchState({ first: true });
  const aborted = session.patchState({ aborted: true }, { signal: controller.signal });
  const last = session.patchState({ last: true });
  await network.losses(2);
  controller.abort(new Error("enough"));
  await assert.rejects(aborted, { message: "enough" });
  network.isDown = false;
  assert.deepEqual([(await first).revision, (await last).revision], [1, 2]);
  assert.deepEqual((await direct.snapshot()).state, { first: true, last: true });
  await assert.rejects(session.patchState({}, { signal: AbortSignal.abort(new Error("before")) }), { message: "before" });
});

test("A waiting command is sent with the values that it had when it was called", async (t) => {
  const { direct, session } = await behindNetwork(t);
  const first = session.patchState({ first: true });
  const patch = { value: 1 };
  const second = session.patchState(patch);
  patch.value = 2;
  await Promise.all([first, second]);
  assert.equal((await direct.snapshot()).state.value, 1);
});

test("Reads, requests for tokens and commands of other sessions do not wait, but the end of the session does", async () => {
  const sent = [];
  const answers = new Map();
  const fetch = (url, { method }) => {
    sent.push(`${method} ${new URL(url).pathname}`);
    return new Promise((resolve) => answers.set(sent.at(-1), () => resolve(Response.json({}))));
  };
  const client = new BraidClient({ url: "http://x", fetch });
  const [session, other] = [client.session("a"), client.session("ab")];
  const all = [
    session.tap({ id: "1" }), session.edit({ delete: { id: "1" } }), session.snapshot(), session.tokens.create({ role: "viewer", expiresIn: 1 }),
    other.tap({ id: "1" }), session.delete(),
  ];
  const [tap, edit, end] = ["POST /v1/sessions/a/taps", "POST /v1/sessions/a/edits", "DELETE /v1/sessions/a"];
  const free = ["GET /v1/sessions/a/snapshot", "POST /v1/sessions/a/tokens", "POST /v1/sessions/ab/taps"];
  for (const [step, expected] of [[undefined, [tap, ...free]], [tap, [edit]], [edit, [end]], [end, []]]) {
    answers.get(step)?.();
    await new Promise(setImmediate);
    assert.deepEqual(sent.splice(0).sort(), expected.sort(), step);
  }
  for (const answer of answers.values()) answer();
  await Promise.all(all);
});
