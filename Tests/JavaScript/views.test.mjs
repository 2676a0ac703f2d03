// Tests of views with the real server: a client chooses what it sees.
import assert from "node:assert/strict";
import test from "node:test";
import { BraidClient } from "./braid.mjs";
import { Listener, Server } from "./server.mjs";

const TABLE = {
  table: "t", cells: { C: {} }, state: { round: 0 }, view: { without: -1, sort: null },
  bindings: [{ cell: "C", models: [], where: "model.group != view.without", sortedBy: { $eval: "view.sort" }, editing: "delete" }],
};

async function open(server) {
  const models = { table: Array.from({ length: 12 }, (_, row) => ({ id: `r${row}`, group: row % 3 })) };
  return new BraidClient({ url: server.url }).sessions.open({ id: "s", table: TABLE, models });
}

/** Waits until the subscription shows what a snapshot shows. */
async function assertIsCurrent(session, listener, round) {
  const { subscription } = listener;
  const { revision } = await session.patchState({ round });
  await listener.until(() => subscription.status === "live" && subscription.snapshot.revision >= revision);
  assert.deepEqual(subscription.snapshot, await session.snapshot({ window: subscription.window }));
}

test("A chosen view counts for snapshots, updates and commands", async (t) => {
  const server = await Server.start(t);
  const session = await open(server);
  assert.deepEqual(session.view(), {});
  assert.deepEqual(session.view({ without: 0 }), { without: 0 });
  assert.deepEqual(session.view({ sort: "-id" }), { without: 0, sort: "-id" });
  const snapshot = await session.snapshot();
  assert.deepEqual([snapshot.totalRowCount, snapshot.sections[0].rows[0].id], [8, "r8"]);
  const { update } = await session.edit({ delete: { section: 0, row: 0 } }, { base: snapshot });
  assert.deepEqual(update.stages, [{ deleteRows: [[0, 0]] }]);
  assert.equal((await session.updates(snapshot)).updates.length, 1);
  await assert.rejects(session.edit({ delete: { id: "r0" } }), { kind: "row-not-found" });
  session.view({ sort: 7, without: "x" });
  await assert.rejects(session.snapshot(), { status: 400 });
});

test("A subscription changes over to another view by one update, also that of a window, while updates come", async (t) => {
  const server = await Server.start(t);
  const session = await open(server);
  for (const window of [undefined, { offset: 1, limit: 4 }]) {
    const listener = new Listener(t, session, { window });
    await listener.status("live");
    const { subscription } = listener;
    for (const [round, view] of [{ without: 1 }, { without: 2, sort: "-id" }, { without: -1, sort: null }].entries()) {
      session.view(view);
      await session.patchModels({ table: Array.from({ length: 12 }, (_, row) => ({ id: `r${row}`, group: (row + round) % 3 })) });
      await assertIsCurrent(session, listener, round);
      // Its position belongs to the new view.
      await session.edit({ delete: { section: 0, row: 0 } }, { base: subscription.snapshot });
    }
    assert.equal(listener.of("snapshot").length, 1, "no second snapshot");
    subscription.close();
  }
});
