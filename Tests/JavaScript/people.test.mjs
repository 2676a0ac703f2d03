// Tests of undo, redo, authors and presence with the real server.
import assert from "node:assert/strict";
import test from "node:test";
import { BraidClient } from "./braid.mjs";
import { atOnce, Listener, Proxy, Server } from "./server.mjs";

const TABLE = {
  table: "tasks", authors: true, undo: "own", cells: { C: {} },
  bindings: [{ cell: "C", models: [{ id: "a" }, { id: "b" }], editing: "delete", onTap: [{ setState: { tapped: { $eval: "model.id" } } }] }],
};

/** A server with a session, and a function that makes a participant's session. */
async function start(t) {
  const server = await Server.start(t, { token: "secret" });
  const tasks = await new BraidClient({ url: server.url, token: "secret" }).sessions.open({ table: TABLE });
  const participant = async (user, name, url = server.url, options = {}) => {
    const { token } = await tasks.tokens.create({ role: "participant", expiresIn: 600, user, name, claims: {} });
    return new BraidClient({ url, token, ...options }).session(tasks.id);
  };
  return { server, tasks, participant };
}

const shown = async (session) => (await session.snapshot()).sections.flatMap(({ rows }) => rows.map(({ id }) => id)).join("");

test("Everybody can undo and redo their own commands, and updates say whose they are", async (t) => {
  const { tasks, participant } = await start(t);
  const [kim, lee] = [await participant("kim", "Kim"), await participant("lee", "Lee")];
  const listener = new Listener(t, tasks);
  await listener.status("live");
  await kim.edit({ delete: { id: "a" } });
  await lee.edit({ delete: { id: "b" } });
  assert.equal((await kim.undo(undefined, { dryRun: true })).revision, 3);
  assert.equal(await shown(tasks), "");
  assert.equal((await kim.undo()).outcome, "applied");
  assert.equal(await shown(tasks), "a");
  assert.equal((await kim.undo()).outcome, "ignored");
  assert.equal((await kim.redo()).revision, 4);
  await tasks.undo({ revision: 2 });
  await tasks.redo({ revision: 5 });
  await assert.rejects(kim.undo({ revision: 2 }), { status: 403, kind: "undo-not-allowed" });
  await lee.undo({ last: "mine" });
  await lee.tap({ id: "b" });
  await lee.edit({ delete: { id: "b" } });
  await tasks.patchState({ tapped: "nothing" });
  const conflict = await lee.undo({ revision: 8 }).catch((error) => error);
  assert.deepEqual([conflict.kind, conflict.pointer], ["undo-conflict", "/state/tapped"]);
  await listener.revision(10);
  const authors = listener.of("update").map(([{ by }]) => by?.id);
  assert.deepEqual(authors, ["kim", "lee", "kim", "kim", undefined, undefined, "lee", "lee", "lee", undefined]);
  assert.deepEqual(listener.of("update")[0][0].by, { id: "kim", name: "Kim" });
  assert.deepEqual(listener.of("tap")[0][0].by, { id: "lee", name: "Lee", role: "participant" });
  assert.equal((await tasks.journal()).records[0].by.role, "participant");
});

test("Subscribers see who comes, changes and leaves, and a client is present again after a lost connection", async (t) => {
  const { server, tasks, participant } = await start(t);
  const proxy = await Proxy.start(t, server.port);
  const kim = await participant("kim", "Kim", proxy.url, { wait: atOnce });
  const [watching, own] = [new Listener(t, tasks, { presence: true }), new Listener(t, kim, { presence: true, window: { offset: 0, limit: 1 } })];
  const until = (holds) => watching.until(() => holds(watching.subscription.present));
  await Promise.all([watching.status("live"), own.status("live")]);
  assert.deepEqual(await tasks.presence.get(), []);
  const me = await kim.presence.set([0, 0], { typing: true });
  assert.deepEqual([me.user, me.role, me.at, me.data], [{ id: "kim", name: "Kim" }, "participant", { id: "a" }, { typing: true }]);
  await until((present) => present.length === 1);
  assert.deepEqual(watching.subscription.present, [me]);
  assert.deepEqual(await tasks.presence.get(), [me]);
  const mine = await tasks.presence.set();
  await kim.presence.set({ id: "b" });
  await until((present) => present.length === 2 && present[0].at.id === "b");
  assert.deepEqual(watching.subscription.present.map(({ id }) => id), [me.id, mine.id], "a changed one keeps its place");
  await tasks.presence.leave();
  await until((present) => present.length === 1);
  // The server forgets who was present.
  const told = watching.of("presence").length;
  await server.kill();
  await server.start();
  await until(([present]) => watching.of("presence").length > told && present?.at.id === "b");
  // Now the client's row is gone before it comes back.
  await server.kill();
  proxy.fate = () => "lose";
  await server.start();
  await tasks.edit({ delete: { id: "b" } });
  proxy.fate = () => "pass";
  await until(([present]) => present?.id === me.id && present.at === undefined);
  await kim.presence.leave();
  await until((present) => present.length === 0);
  assert.ok(own.of("presence").length > 0, "also in a window");
});

test("A command does not wait until the presence was set", async (t) => {
  const { server, participant } = await start(t);
  const proxy = await Proxy.start(t, server.port, (toServer, bytes) => (bytes.includes("/presence") ? "stall" : "pass"));
  const kim = await participant("kim", "Kim", proxy.url);
  const controller = new AbortController();
  const stalled = kim.presence.set(null, null, { signal: controller.signal });
  assert.equal((await kim.tap({ id: "a" })).revision, 1);
  controller.abort();
  await assert.rejects(stalled, { name: "AbortError" });
});
