// A frame is a snapshot and one key for each section and each row. The page finds the element of a row by the row's
// key.
//
// To follow the keys through an update, the page applies the update with the client's functions to a table that
// contains keys in place of rows. The page can therefore animate rows without ids, and can draw the stages of an
// update.
import { applying, stages } from "/braid.js";

let made = 0;
const newKey = () => `k${++made}`;
const newRow = () => ({ id: newKey() });
const newSection = (section) => ({ id: newKey(), header: null, footer: null, rowCount: section.rows.length, rows: section.rows.map(newRow) });

/**
 * The frame of a snapshot that does not follow from an update. A row keeps its key if `before`, the previous frame,
 * contains a row with the same id in the same section.
 */
export function frame(snapshot, before) {
  const known = new Map();
  const name = (...path) => JSON.stringify(path.map(({ id }) => id));
  before?.snapshot.sections.forEach((section, s) => {
    known.set(name(section), before.keys.sections[s].id);
    section.rows.forEach((row, r) => row.id !== undefined && known.set(name(section, row), before.keys.sections[s].rows[r]));
  });
  const sections = snapshot.sections.map((section) => ({
    ...newSection(section),
    id: known.get(name(section)) ?? newKey(),
    rows: section.rows.map((row) => known.get(name(section, row)) ?? newRow()),
  }));
  return { snapshot, keys: { ...snapshot, sections } };
}

/**
 * Returns the members of a moment (one revision in the timeline) for `update`, which changes the frame `before` into
 * `snapshot`. `frame` and `after` are the frame after the update. The moment keeps `before` and `after`, even if its
 * `frame` is replaced later. `stages` contains the keys before and after each stage. `reloaded` contains the keys of
 * the rows that the update reloads.
 */
export function following(before, update, snapshot) {
  let { keys } = before;
  const reloaded = new Set();
  const passed = update.stages.map((stage) => {
    for (const { at: [s, r] } of stage.reloadRows ?? []) reloaded.add(keys.sections[s].rows[r].id);
    const from = keys;
    const moving = ofKeys(stage, keys);
    if (Object.keys(moving).length > 0) { for (const step of stages({ stages: [moving] }, from)) keys = step.snapshot; }
    return { stage, before: from, after: keys };
  });
  const after = { snapshot, keys };
  return { before, after, frame: after, stages: passed, reloaded };
}

/**
 * The same stage for a table of keys. Inserted rows and the rows of reloaded sections receive new keys; moved and
 * changed rows keep their keys.
 */
function ofKeys(stage, keys) {
  const { updateSections: _, reloadRows: __, updateRows: ___, ...result } = stage;
  if (stage.insertRows) result.insertRows = stage.insertRows.map(({ at }) => ({ at, row: newRow() }));
  if (stage.moveRows) result.moveRows = stage.moveRows.map(({ from, to }) => ({ from, to }));
  if (stage.insertSections) result.insertSections = stage.insertSections.map(({ at, section }) => ({ at, section: newSection(section) }));
  if (stage.reloadSections) {
    result.reloadSections = stage.reloadSections.map(({ at, section }) => ({ at, section: { ...newSection(section), id: keys.sections[at].id } }));
  }
  return result;
}

/** The frame after one row has been moved. The list shows this frame while a row is dragged. */
export function withMovedRow(frame, from, to) {
  const { snapshot } = frame;
  const { revision, totalRowCount, sections, window } = snapshot;
  const extent = (section, by) => ({ section, offset: sections[section].offset, rowCount: sections[section].rowCount + by });
  const update = { from: revision, to: revision, totalRowCount, stages: [{ moveRows: [{ from, to }] }] };
  if (window && from[0] !== to[0]) update.extents = [extent(from[0], -1), extent(to[0], 1)];
  return following(frame, update, applying(update, snapshot)).frame;
}

/**
 * The index of a row among all rows of its section. `r` is the row's index in the snapshot, which may contain only a
 * window.
 */
export const indexIn = (section, r) => (section.offset ?? 0) + r;

/** A row's name in labels: its title, name or text, its id, or its row number. */
export function rowName(row, r) {
  const content = row.viewModel ?? row.model;
  const named = content && typeof content === "object" ? content.title ?? content.name ?? content.text : content;
  if (typeof named === "string" && named.trim() !== "") return named;
  return row.id ?? (typeof named === "number" ? String(named) : `row ${r + 1}`);
}

/** A section's name in labels: the text of its header, or its id. */
export function sectionName(section) {
  return titleText(section.header) || section.id;
}

/**
 * The text of a header or footer. For a header or footer with a view, this is its view model, or the title or text in
 * it.
 */
export function titleText(title) {
  if (!title) return "";
  if (typeof title.title === "string") return title.title;
  const model = title.viewModel;
  if (typeof model === "string") return model;
  return typeof model?.title === "string" ? model.title : typeof model?.text === "string" ? model.text : "";
}
