// A frame is a snapshot together with a key for every section and row, by which the page knows its elements.
//
// Keys follow an update as the rows do: by the client's own `applying`, on a table that has keys in the place of rows. So the
// page animates what the update says, also where rows have no ids; and the picture of an update's stages is drawn from the same.
import { applying, stages } from "/braid.js";

let made = 0;
const newKey = () => `k${++made}`;
const newRow = () => ({ id: newKey() });
const newSection = (section) => ({ id: newKey(), header: null, footer: null, rowCount: section.rows.length, rows: section.rows.map(newRow) });

/** The frame of a snapshot that no update leads to. Rows that `before` has too, by their ids, keep their keys. */
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
 * What a moment shows of `update`, which leads from the frame `before` to `snapshot`. `frame` and `after`: the frame after the
 * update. A moment keeps `before` and `after`, also if its `frame` is replaced later.
 * `stages`: the keys before and after each stage; `reloaded`: the keys of rows that are to be loaded anew.
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

/** The same stage for a table of keys: rows that come get new ones, rows that change keep theirs. */
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

/** The frame with one row elsewhere: what is shown while a row is dragged. */
export function withMovedRow(frame, from, to) {
  const { snapshot } = frame;
  const { revision, totalRowCount, sections, window } = snapshot;
  const extent = (section, by) => ({ section, offset: sections[section].offset, rowCount: sections[section].rowCount + by });
  const update = { from: revision, to: revision, totalRowCount, stages: [{ moveRows: [{ from, to }] }] };
  if (window && from[0] !== to[0]) update.extents = [extent(from[0], -1), extent(to[0], 1)];
  return following(frame, update, applying(update, snapshot)).frame;
}

/** The index, among all rows of a section, of one that its snapshot or window has at `r`. */
export const indexIn = (section, r) => (section.offset ?? 0) + r;

/** What a row is called in labels: its title, its id, or where it stands. */
export function rowName(row, r) {
  const content = row.viewModel ?? row.model;
  const named = content && typeof content === "object" ? content.title ?? content.name ?? content.text : content;
  if (typeof named === "string" && named.trim() !== "") return named;
  return row.id ?? (typeof named === "number" ? String(named) : `row ${r + 1}`);
}

/** What a section is called: the text of its header, or its id. */
export function sectionName(section) {
  return titleText(section.header) || section.id;
}

/** The text of a header or footer; a view shows its view model's title or text. */
export function titleText(title) {
  if (!title) return "";
  if (typeof title.title === "string") return title.title;
  const model = title.viewModel;
  if (typeof model === "string") return model;
  return typeof model?.title === "string" ? model.title : typeof model?.text === "string" ? model.text : "";
}
