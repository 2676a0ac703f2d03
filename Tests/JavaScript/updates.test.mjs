// Checks that braid.js applies updates as the engine does. The engine's tests make up the updates, and write them to
// Tests/Golden/updates.json and, for windows, to Tests/Golden/windows.json.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { applying, stages, UpdateFault } from "./braid.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../Golden/${name}.json`, import.meta.url), "utf8")).cases;
const cases = read("updates");
const windows = read("windows");

function frozen(value) {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

test("Each golden update leads from its first snapshot to its second one, and does not change the first one", () => {
  assert.ok(cases.length > 60 && windows.length > 60);
  for (const { name, before, update, after } of [...cases, ...windows]) {
    assert.deepEqual(applying(frozen(update), frozen(before)), after, name);
  }
});

test("Each faulty update is refused for the same reason as by the engine", () => {
  let count = 0;
  for (const { name, before, faults } of [...cases, ...windows]) {
    for (const { update, fault } of faults) {
      assert.throws(() => applying(frozen(update), frozen(before)), (error) => error instanceof UpdateFault && error.message === fault, `${name}: ${fault}`);
      count++;
    }
  }
  assert.ok(count > 206);
});

test("The rows and sections that an update does not change are the same objects before and after it", () => {
  for (const { before, update } of cases) {
    const after = applying(update, before);
    const brought = JSON.stringify(update.stages);
    const rows = new Set(before.sections.flatMap((section) => section.rows));
    for (const section of after.sections) {
      const old = before.sections.find((other) => other.id === section.id);
      for (const row of section.rows) assert.ok(rows.has(row) || brought.includes(JSON.stringify(row)), JSON.stringify(row));
      if (update.stages.length === 0) assert.equal(section, old);
    }
  }
  const row = (id) => ({ id, cell: "C" });
  const section = (id, ...rows) => ({ id, header: null, footer: null, rowCount: rows.length, rows });
  const before = { revision: 0, totalRowCount: 3, sections: [section("A", row("a"), row("b")), section("B", row("c"))], state: {} };
  const after = applying({ from: 0, to: 1, stages: [{ deleteRows: [[0, 0]] }], totalRowCount: 2 }, before);
  assert.equal(after.sections[1], before.sections[1]);
  assert.equal(after.sections[0].rows[0], before.sections[0].rows[1]);
  assert.equal(after.state, before.state);
});

test("For each stage, a view receives the snapshots before and after it, with correct row counts", () => {
  let count = 0;
  for (const { before, update, after } of cases) {
    let shown = before;
    for (const { number, stage, previous, snapshot } of stages(update, before)) {
      assert.equal(previous, shown);
      assert.equal(stage, update.stages[number]);
      assert.equal(snapshot.totalRowCount, snapshot.sections.reduce((sum, section) => sum + section.rows.length, 0));
      for (const section of snapshot.sections) assert.equal(section.rowCount, section.rows.length);
      shown = snapshot;
      count++;
    }
    assert.deepEqual(shown.sections, after.sections);
  }
  assert.ok(count > 80);
});

test("An update with an unknown operation of a newer server is refused", () => {
  const before = { revision: 0, totalRowCount: 0, sections: [], state: {} };
  assert.throws(() => applying({ from: 0, to: 1, stages: [{ swapRows: [[0, 1]] }], totalRowCount: 0 }, before), /swapRows/);
});

test("One stage can delete half of 100,000 rows", () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => ({ id: String(index), cell: "C" }));
  const before = { revision: 0, totalRowCount: rows.length, sections: [{ id: "A", header: null, footer: null, rowCount: rows.length, rows }], state: {} };
  const deleteRows = Array.from({ length: 50_000 }, (_, index) => [0, 2 * index]);
  const after = applying({ from: 0, to: 1, stages: [{ deleteRows, insertRows: [{ at: [0, 0], row: { id: "x", cell: "C" } }] }], totalRowCount: 50_001 }, before);
  assert.equal(after.sections[0].rows[1], rows[1]);
  assert.equal(after.sections[0].rows[50_000], rows[99_999]);
});
