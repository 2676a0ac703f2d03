import { titleText } from "./frames.js";

/**
 * A frame as one list of items, from top to bottom: `{key, kind: "header" | "row" | "footer" | "hidden", s, r?, …}`.
 * `hidden`: ids of sections that are declared and not displayed, by the id of the section they stand before (or null: at the end).
 */
export function itemsOf({ snapshot, keys }, hidden = new Map()) {
  const items = [];
  const putHidden = (before) => (hidden.get(before) ?? []).forEach((id) => items.push({ key: `hidden ${id}`, kind: "hidden", id, estimate: 40 }));
  let index = 0;
  snapshot.sections.forEach((section, s) => {
    putHidden(section.id);
    const key = keys.sections[s].id;
    items.push({
      key: `${key} header`,
      kind: "header",
      s,
      content: section.header,
      estimate: section.header ? 40 : 22,
      index: titleText(section.header) ? ++index : undefined,
    });
    section.rows.forEach((row, r) =>
      items.push({
        key: keys.sections[s].rows[r].id,
        kind: "row",
        s,
        r,
        content: row,
        index: ++index,
        isFirst: r === 0,
        isLast: r === section.rows.length - 1,
        fixed: typeof row.height === "number" ? row.height : undefined,
        estimate: typeof row.height === "number" ? row.height : typeof row.estimatedHeight === "number" ? Math.max(row.estimatedHeight, 1) : 46,
      })
    );
    if (section.footer) items.push({ key: `${key} footer`, kind: "footer", s, content: section.footer, estimate: 32, index: ++index });
  });
  putHidden(null);
  return { items, count: index };
}

/** Declared sections that are not displayed, by the id of the displayed one behind them (null: none is). */
export function hiddenSections(description, { sections }) {
  const hidden = new Map();
  const displayed = new Set(sections.map(({ id }) => id));
  let waiting = [];
  for (const id of [...(Array.isArray(description?.sections) ? description.sections : []), null]) {
    if (id !== null && !displayed.has(id)) waiting.push(id);
    else if (waiting.length > 0) {
      hidden.set(id, waiting);
      waiting = [];
    }
  }
  return hidden;
}

/** Where each item stands: from heights that were measured, and estimates where none was yet. */
export class Layout {
  constructor(items, heights) {
    this.items = items;
    this.heights = heights;
    this.update();
  }

  update() {
    this.tops = new Float64Array(this.items.length + 1);
    for (let i = 0, y = 0; i < this.items.length; i++) {
      y += this.heights.get(this.items[i].key) ?? this.items[i].estimate;
      this.tops[i + 1] = y;
    }
  }

  get height() {
    return this.tops[this.items.length];
  }

  /** The items of which something stands between two heights: `[first, behind the last)`. */
  between(top, bottom) {
    const first = this.indexAt(top);
    let end = first;
    while (end < this.items.length && this.tops[end] < bottom) end++;
    return [first, end];
  }

  /** The index of the item at a height, by binary search: the first one above the table, their count below it. */
  indexAt(y) {
    let low = 0, high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
