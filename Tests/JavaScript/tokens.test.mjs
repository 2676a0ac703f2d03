// Tests of the client with a token provider, with the real server.
import assert from "node:assert/strict";
import test from "node:test";
import { BraidClient } from "./braid.mjs";
import { atOnce, Listener, Server } from "./server.mjs";

/**
 * A client with a token provider that makes a new participant's token for each call. `refused` lists the arguments of
 * the calls.
 */
async function withBackend(t) {
  const server = await Server.start(t, { token: "secret" });
  const controller = new BraidClient({ url: server.url, token: "secret" }).session("party");
  const backend = { refused: [], made: [] };
  const token = async (refused) => {
    backend.refused.push(refused);
    backend.made.push(await controller.tokens.create({ role: "participant", expiresIn: 600 }));
    return backend.made.at(-1).token;
  };
  const revokeLast = async () => {
    const { tokenId, token } = backend.made.at(-1);
    await controller.tokens.delete(tokenId);
    return token;
  };
  return { server, controller, backend, revokeLast, party: new BraidClient({ url: server.url, token, wait: atOnce }).session("party") };
}

test("After its token was revoked, a stream continues with another token and without a gap", async (t) => {
  const { controller, backend, revokeLast, party } = await withBackend(t);
  const listener = new Listener(t, party);
  await listener.status("live");
  const revoked = await revokeLast();
  // The test does not wait for the status "waiting", because this status may be over before the revocation is answered.
  await listener.until(() => backend.refused.length === 2 && listener.subscription.status === "live");
  assert.deepEqual(backend.refused, [undefined, revoked]);
  await controller.patchState({ mood: "good" });
  await listener.revision(1);
  assert.equal(listener.of("snapshot").length, 1);
  assert.deepEqual(listener.of("end"), []);
});

test("A command whose token was revoked is sent once more with another token, even without a key", async (t) => {
  const { backend, revokeLast, party } = await withBackend(t);
  assert.equal((await party.edit({ delete: { id: "Omar" } })).revision, 1);
  const revoked = await revokeLast();
  assert.equal((await party.edit({ delete: { id: "Sara" } }, { key: null })).revision, 2);
  assert.deepEqual(backend.refused, [undefined, revoked]);
});

test("If many requests are refused at the same time, the client asks the provider only once", async (t) => {
  const { backend, revokeLast, party } = await withBackend(t);
  for (const expected of [1, 2]) {
    await Promise.all(Array.from({ length: 8 }, () => party.snapshot()));
    assert.equal(backend.refused.length, expected);
    await revokeLast();
  }
});

test("If the provider returns the same token again, the refusal is thrown", async (t) => {
  const { server } = await withBackend(t);
  let calls = 0;
  const party = new BraidClient({ url: server.url, token: () => (calls++, "wrong") }).session("party");
  const listener = new Listener(t, party);
  await listener.status("ended");
  assert.equal(listener.of("end")[0][0].status, 401);
  assert.equal(calls, 2);
  await assert.rejects(party.reset(), { status: 401, tries: 1 });
  assert.equal(calls, 3);
});

test("If the provider throws, the client asks again later, as after a failed connection", async (t) => {
  const { server } = await withBackend(t);
  let failures = 2;
  const token = () => {
    if (failures-- > 0) throw new Error("not now");
    return "secret";
  };
  assert.equal((await new BraidClient({ url: server.url, token, wait: atOnce }).session("party").reset()).outcome, "unchanged");
  const never = new BraidClient({ url: server.url, token: async () => Promise.reject(new Error("never")), wait: atOnce, retries: 1 });
  await assert.rejects(never.session("party").snapshot(), ({ name, message, cause }) => name === "ConnectionError" && message === "The token provider failed." && cause.message === "never");
});

test("The client does not wait for the provider longer than for an answer, or after the request was aborted", async () => {
  const client = new BraidClient({ url: "http://x", token: () => new Promise(() => {}), timeout: 20, retries: 0 });
  await assert.rejects(client.tables.list(), { name: "ConnectionError", message: "No answer came within 20 milliseconds." });
  await assert.rejects(client.tables.list({ signal: AbortSignal.abort(new Error("enough")) }), { message: "enough" });
});
