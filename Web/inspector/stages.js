// Pictures of an update's stages: before on the left, after on the right; of each section the first changed rows with
// their neighbors, and gaps for the rest.
import { h, svg } from "./dom.js";
import { rowName, sectionName } from "./frames.js";

const width = 320, column = 128, line = 20;

/** `moment`: see Timeline. */
export function stagePictures(moment) {
  const late = namesOf(moment.after);
  // By key. After a left side is drawn, what the stage changed gets its new names.
  const names = new Map([...late, ...namesOf(moment.before)]);
  const items = moment.stages.map(({ stage, before, after }, i) => {
    const rename = () => changedKeys(stage, before).forEach((key) => names.set(key, late.get(key) ?? names.get(key)));
    return h("li", {}, h("h3", {}, moment.stages.length > 1 ? `Stage ${i + 1}` : "One stage"), picture(stage, before, after, names, rename));
  });
  return h("ol", { class: "stages" }, items);
}

function namesOf({ snapshot, keys }) {
  const names = new Map();
  snapshot.sections.forEach((section, s) => {
    names.set(keys.sections[s].id, sectionName(section));
    section.rows.forEach((row, r) => names.set(keys.sections[s].rows[r].id, rowName(row, r)));
  });
  return names;
}

/** Of rows and sections with new content. */
function changedKeys({ reloadRows = [], updateRows = [], moveRows = [], reloadSections = [], updateSections = [] }, { sections }) {
  const rows = [...reloadRows, ...updateRows, ...moveRows.filter(({ row }) => row).map(({ from }) => ({ at: from }))];
  return [...rows.map(({ at: [s, r] }) => sections[s].rows[r].id), ...[...reloadSections, ...updateSections].map(({ at }) => sections[at].id)];
}

/** `rename` runs between left and right. */
function picture(stage, before, after, names, rename) {
  const marks = marksOf(stage, before, after);
  const places = [new Map(), new Map()];
  const side = (list, side) =>
    list.map((entry, i) => {
      if (entry.key) places[side].set(entry.key, i);
      return drawn(entry, side * (width - column), i * line, names);
    });
  const left = side(entries(before, marks.before), 0);
  rename();
  const right = side(entries(after, marks.after), 1);
  const lines = [...places[0]].filter(([key]) => places[1].has(key)).map(([key, from]) => {
    const [y1, y2] = [from, places[1].get(key)].map((i) => i * line + line / 2);
    const bend = (width - 2 * column) / 2;
    return svg("path", {
      class: `link ${marks.before.get(key) === "moved" ? "moved" : ""}`,
      d: `M${column + 3} ${y1}c${bend} 0 ${bend - 6} ${y2 - y1} ${width - 2 * column - 6} ${y2 - y1}`,
    });
  });
  const height = Math.max(left.length, right.length, 1) * line;
  return svg("svg", { class: "stage", viewBox: `-1 0 ${width + 2} ${height}`, role: "img", "aria-label": spoken(stage) }, lines, left, right);
}

/** What happens to rows and sections, by key, on each side. */
function marksOf(stage, before, after) {
  const marks = { before: new Map(), after: new Map() };
  const row = (keys, [s, r]) => keys.sections[s].rows[r].id;
  const section = (keys, s) => keys.sections[s].id;
  const both = (key, mark) => {
    marks.before.set(key, mark);
    marks.after.set(key, mark);
  };
  stage.updateSections?.forEach(({ at }) => both(section(before, at), "updated"));
  stage.deleteSections?.forEach((s) => marks.before.set(section(before, s), "deleted"));
  stage.insertSections?.forEach(({ at }) => marks.after.set(section(after, at), "inserted"));
  stage.reloadSections?.forEach(({ at }) => both(section(before, at), "reloaded"));
  stage.moveSections?.forEach(({ from }) => both(section(before, from), "moved"));
  stage.deleteRows?.forEach((at) => marks.before.set(row(before, at), "deleted"));
  stage.insertRows?.forEach(({ at }) => marks.after.set(row(after, at), "inserted"));
  stage.reloadRows?.forEach(({ at }) => both(row(before, at), "reloaded"));
  stage.updateRows?.forEach(({ at }) => both(row(before, at), "updated"));
  stage.moveRows?.forEach(({ from }) => both(row(before, from), "moved"));
  return marks;
}

const shownTouched = 12;

/** Sections, changed rows with neighbors, gaps. */
function entries(keys, marks) {
  return keys.sections.flatMap(({ id, rows }) => {
    const mark = marks.get(id);
    const isWhole = mark === "deleted" || mark === "inserted" || mark === "reloaded";
    const shown = new Set();
    let touched = 0;
    rows.forEach((row, r) => {
      if (!(isWhole ? r < 3 : marks.has(row.id)) || touched >= shownTouched) return;
      touched++;
      for (const i of [r - 1, r, r + 1]) if (i >= 0 && i < rows.length && (!isWhole || i < 3)) shown.add(i);
    });
    const result = [{ kind: "section", key: id, mark }];
    let gap = 0;
    const close = () => {
      if (gap > 0) result.push({ kind: "gap", count: gap });
      gap = 0;
    };
    for (let r = 0; r < rows.length; r++) {
      if (!shown.has(r)) {
        gap++;
        continue;
      }
      close();
      result.push({ kind: "row", key: rows[r].id, mark: isWhole ? mark : marks.get(rows[r].id) });
    }
    close();
    return result;
  });
}

function drawn({ kind, key, mark = "", count }, x, y, names) {
  if (kind === "gap") {
    return svg("text", { class: "gap", x: x + column / 2, y: y + 14 }, `⋮ ${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`);
  }
  const name = names.get(key) ?? "";
  const inset = kind === "row" ? 8 : 0;
  const short = name.length > 17 ? `${name.slice(0, 16)}…` : name;
  return svg(
    "g",
    { class: `stage-${kind} ${mark}` },
    svg("title", {}, mark ? `${name}: ${mark}` : name),
    svg("rect", { x: x + inset, y: y + 2, width: column - inset, height: line - 4, rx: 4 }),
    svg("text", { x: x + inset + 6, y: y + 14 }, short),
  );
}

const spoken = (stage) => Object.entries(stage).map(([name, list]) => `${name.replace(/([A-Z])/, " $1").toLowerCase()}: ${list.length}`).join(", ");

/** Such as `−1 +2 ⇅1 ↻1 •1`: deletes, inserts, moves, reloads, updates. */
export function chips(stages) {
  const count = { deleted: 0, inserted: 0, moved: 0, reloaded: 0, updated: 0 };
  const kinds = { delete: "deleted", insert: "inserted", move: "moved", reload: "reloaded", update: "updated" };
  for (const { stage } of stages) for (const [name, list] of Object.entries(stage)) count[kinds[name.replace(/[A-Z].*/, "")]] += list.length;
  const signs = { deleted: "−", inserted: "+", moved: "⇅", reloaded: "↻", updated: "•" };
  return Object.entries(count).filter(([, number]) => number).map(([kind, number]) =>
    h("span", { class: `chip ${kind}`, title: `${number} ${kind}` }, `${signs[kind]}${number}`)
  );
}

/** For screen readers. */
export function inWords(stages) {
  const count = { deleteRows: 0, insertRows: 0, moveRows: 0, reloadRows: 0, updateRows: 0, deleteSections: 0, insertSections: 0, moveSections: 0 };
  for (const { stage } of stages) for (const name in count) count[name] += stage[name]?.length ?? 0;
  const say = {
    deleteRows: "deleted",
    insertRows: "inserted",
    moveRows: "moved",
    reloadRows: "changed",
    deleteSections: "gone",
    insertSections: "new",
    moveSections: "moved",
  };
  const parts = Object.entries(say).filter(([name]) => count[name]).map(([name, verb]) => {
    const noun = name.endsWith("Rows") ? "row" : "section";
    return `${count[name]} ${noun}${count[name] === 1 ? "" : "s"} ${verb}`;
  });
  return parts.join(", ");
}
