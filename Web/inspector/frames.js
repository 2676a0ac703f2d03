// A frame: a snapshot, and a key for each section and row, by which their elements are found.
//
// Keys follow through updates because the client's functions also apply the update to a table of keys. So rows without
// ids can be animated, and stages drawn.
import { applying, stages } from "/braid.js";

let made = 0;
const newKey = () => `k${++made}`;
const newRow = () => ({ id: newKey() });
const newSection = (section) => ({ id: newKey(), header: null, footer: null, rowCount: section.rows.length, rows: section.rows.map(newRow) });

/** Without an update: a row keeps its key if `before` has its id in the same section. */
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
 * The members of a moment (see Timeline): `frame` and `after` are the frame after the update (`frame` may be replaced
 * later), `stages` has the keys around each stage, `reloaded` the keys of reloaded rows.
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

/** Inserted and reloaded content gets new keys; moved and changed rows keep theirs. */
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

/** While a row is dragged. */
export function withMovedRow(frame, from, to) {
  const { snapshot } = frame;
  const { revision, totalRowCount, sections, window } = snapshot;
  const extent = (section, by) => ({ section, offset: sections[section].offset, rowCount: sections[section].rowCount + by });
  const update = { from: revision, to: revision, totalRowCount, stages: [{ moveRows: [{ from, to }] }] };
  if (window && from[0] !== to[0]) update.extents = [extent(from[0], -1), extent(to[0], 1)];
  return following(frame, update, applying(update, snapshot)).frame;
}

/** Among all rows of the section; `r` counts in the window. */
export const indexIn = (section, r) => (section.offset ?? 0) + r;

/** Title, name or text, else id, else number. */
export function rowName(row, r) {
  const content = row.viewModel ?? row.model;
  const named = content && typeof content === "object" ? content.title ?? content.name ?? content.text : content;
  if (typeof named === "string" && named.trim() !== "") return named;
  return row.id ?? (typeof named === "number" ? String(named) : `row ${r + 1}`);
}

/** The header's text, else the id. */
export function sectionName(section) {
  return titleText(section.header) || section.id;
}

/** Of a view: its view model, or the title or text in that. */
export function titleText(title) {
  if (!title) return "";
  if (typeof title.title === "string") return title.title;
  const model = title.viewModel;
  if (typeof model === "string") return model;
  return typeof model?.title === "string" ? model.title : typeof model?.text === "string" ? model.text : "";
}
