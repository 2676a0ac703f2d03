// Tests of windows with the real server: rows are inserted and deleted, and the window moves.
import assert from "node:assert/strict";
import test from "node:test";
import { applying, BraidClient } from "./braid.mjs";
import { Listener, seeded, Server } from "./server.mjs";

const TABLE = {
  table: "t", sections: ["a", "b", "c"], cells: { C: {} }, state: { round: 0 },
  bindings: [{ on: { sections: ["a", "b", "c"] }, cell: "C", models: {}, editing: "delete", moving: { to: "anySection" } }],
};

async function open(server, count) {
  const models = Object.fromEntries(["a", "b", "c"].map((name) => [name, Array.from({ length: count }, (_, row) => ({ id: `${name}${row}` }))]));
  return new BraidClient({ url: server.url }).sessions.open({ id: "s", table: TABLE, models });
}

const rows = (snapshot) => snapshot.sections.flatMap(({ rows }) => rows.map(({ id }) => id));

/** Waits until the subscription shows its current window, and compares the snapshot with that of the server. */
async function assertIsTheWindow(session, listener, round) {
  const { subscription } = listener;
  const { revision } = await session.patchState({ round });
  await listener.until(() => subscription.status === "live" && subscription.snapshot.revision >= revision);
  assert.deepEqual(subscription.snapshot, await session.snapshot({ window: subscription.window }));
}

test("A window can be read, and a subscription keeps it up to date", async (t) => {
  const server = await Server.start(t);
  const session = await open(server, 10);
  const snapshot = await session.snapshot({ window: { section: "b", offset: 2, limit: 3 } });
  assert.deepEqual(rows(snapshot), ["b2", "b3", "b4"]);
  assert.deepEqual([snapshot.sections[0].rowCount, snapshot.sections[0].offset, snapshot.totalRowCount], [10, 2, 30]);
  const listener = new Listener(t, session, { window: { around: "b3", aroundSection: "b", before: 1, after: 1 } });
  await listener.status("live");
  await session.insertRow("b", 0, { id: "new" });
  await session.deleteRow("b", "b3");
  await assertIsTheWindow(session, listener, 1);
  assert.deepEqual(listener.subscription.snapshot.window, { offset: 13, anchor: { section: "b", id: "b4" } });
  assert.equal(listener.subscription.window.around, "b4");
  for (const [update, after, before] of listener.of("update")) assert.deepEqual(applying(update, before), after);
  listener.subscription.close();
});

test("When a window moves, one update leads from the old rows to the new ones, and contains only rows that enter", async (t) => {
  const server = await Server.start(t);
  const session = await open(server, 100);
  const listener = new Listener(t, session, { window: { offset: 0, limit: 20 } });
  await listener.status("live");
  listener.subscription.move({ offset: 5, limit: 20 });
  // Until the new window has arrived, the visible rows are those of the old window, so they must not move the window.
  listener.subscription.show(0, 3);
  assert.equal(listener.subscription.window.offset, 5);
  await listener.until(() => listener.subscription.snapshot.window.offset === 5);
  const [update] = listener.of("update")[0];
  assert.deepEqual(update.stages.map((stage) => [stage.deleteRows.length, stage.insertRows.length]), [[5, 5]]);
  assert.equal(listener.of("snapshot").length, 1, "no second snapshot");
  // The window moves if the visible rows come near its edge, and stays if they are in its middle.
  const followed = listener.subscription.window;
  listener.subscription.show(12, 14);
  assert.equal(listener.subscription.window.around, "a13");
  const requested = listener.subscription.window;
  listener.subscription.show(13, 15);
  assert.equal(listener.subscription.window, requested, "the requested window contains these rows");
  await listener.until(() => listener.subscription.snapshot.window.anchor?.id === "a13");
  const shown = listener.subscription.window;
  listener.subscription.show(13, 15);
  assert.equal(listener.subscription.window, shown, "the visible rows are far from the edge");
  assert.notEqual(shown, followed);
  await assertIsTheWindow(session, listener, 1);
  listener.subscription.close();
});

test("If all rows of a window are deleted, the window follows the rows that are inserted next", async (t) => {
  const server = await Server.start(t);
  const session = await open(server, 1);
  const listener = new Listener(t, session, { window: { around: "b0", before: 1, after: 2 } });
  await listener.status("live");
  for (const name of ["a", "b", "c"]) await session.deleteRow(name, `${name}0`);
  await assertIsTheWindow(session, listener, 1);
  assert.deepEqual(listener.subscription.snapshot.window, { offset: 0 });
  for (let number = 0; number < 6; number++) await session.insertRow("a", number, { id: String(number) });
  await assertIsTheWindow(session, listener, 2);
  assert.equal(listener.subscription.window.around, "0");
  listener.subscription.move({ offset: 1, limit: 3 });
  await listener.until(() => listener.subscription.snapshot.window.offset === 1);
  assert.deepEqual(rows(listener.subscription.snapshot), ["1", "2", "3"]);
  assert.equal(listener.of("snapshot").length, 1, "no second snapshot");
  listener.subscription.close();
});

for (const seed of [1, 2, 3]) {
  test(`A window is the server's after random edits and moves of the window (${seed})`, async (t) => {
    const server = await Server.start(t);
    const session = await open(server, 12);
    const random = seeded(seed);
    const below = (bound) => Math.floor(random() * bound);
    const windows = [
      () => ({ offset: below(30), limit: 1 + below(15) }), () => ({ offset: -1 - below(12), limit: 20 }),
      () => ({ section: "b", offset: below(8), limit: 5 }),
      () => {
        const all = listener.subscription.snapshot.sections.flatMap(({ id, rows }) => rows.map((row) => [id, row.id]));
        if (all.length === 0) return { offset: 0, limit: 5 };
        const [section, id] = all[below(all.length)];
        return { around: id, aroundSection: section, before: below(6), after: below(6) };
      },
    ];
    const listener = new Listener(t, session, { window: { offset: 0, limit: 10 } });
    await listener.status("live");
    for (let round = 1; round <= 25; round++) {
      for (let step = 0; step < 3; step++) {
        const name = "abc"[below(3)];
        const row = below(8);
        const command = [
          () => session.edit({ delete: { section: name, row } }),
          () => session.move({ from: { section: name, row }, to: { section: "abc"[below(3)], row: below(8) } }),
          () => session.insertRow(name, row, { id: `n${round}.${step}` }),
          () => session.setDisplayedSections(below(2) === 0 ? ["a", "b", "c"] : ["c", "b"]),
        ][below(4)];
        await command().catch((error) => assert.ok(error.status < 500, error.message));
        if (below(3) === 0) listener.subscription.move(windows[below(windows.length)]());
      }
      await assertIsTheWindow(session, listener, round);
    }
    assert.equal(listener.subscription.status, "live");
    listener.subscription.close();
  });
}

test("After a restart of the server, a subscription continues its window, even if the anchor was deleted", async (t) => {
  const server = await Server.start(t);
  const session = await open(server, 10);
  const listener = new Listener(t, session, { window: { around: "b3", aroundSection: "b", before: 2, after: 2 } });
  await listener.status("live");
  await server.kill();
  await listener.status("waiting");
  listener.subscription.pause();
  await server.start();
  await session.deleteRow("b", "b3");
  listener.subscription.resume();
  await assertIsTheWindow(session, listener, 1);
  assert.equal(listener.subscription.snapshot.window.offset, 11);
  listener.subscription.close();
});
