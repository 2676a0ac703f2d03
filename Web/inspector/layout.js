import { titleText } from "./frames.js";

/** Pixels, for a row without a measured or declared height. */
const usual = 46;

/**
 * From top to bottom: `{key, kind: "header" | "row" | "footer" | "hidden" | "gap", s, r?, row, …}`; `row` counts the
 * table's rows before the item, a gap stands for rows outside of the window. `hidden`: ids of hidden sections by the
 * next displayed one's id, null at the end. `rowHeight`: of a gap's rows.
 */
export function itemsOf({ snapshot, keys }, hidden = new Map(), rowHeight = usual) {
  const { window, sections, totalRowCount } = snapshot;
  const items = [];
  let index = 0;
  let row = 0;
  const putHidden = (before) =>
    (hidden.get(before) ?? []).forEach((id) => items.push({ key: `hidden ${id}`, kind: "hidden", id, row, estimate: 40 }));
  const putGap = (key, rows, s) => {
    if (rows > 0) items.push({ key: `gap ${key}`, kind: "gap", s, row, rows, rowHeight, estimate: rows * rowHeight });
    row += Math.max(rows, 0);
    index += Math.max(rows, 0);
  };
  if (window) putGap("above", window.offset - (sections[0]?.offset ?? 0));
  sections.forEach((section, s) => {
    putHidden(section.id);
    const key = keys.sections[s].id;
    const { offset = 0 } = section;
    items.push({
      key: `${key} header`,
      kind: "header",
      s,
      row,
      content: section.header,
      estimate: section.header ? 40 : 22,
      index: titleText(section.header) ? ++index : undefined,
    });
    if (window) putGap(`${key} above`, offset, s);
    section.rows.forEach((content, r) =>
      items.push({
        key: keys.sections[s].rows[r].id,
        kind: "row",
        s,
        r,
        row: row++,
        content,
        index: ++index,
        isFirst: offset + r === 0,
        isLast: offset + r === section.rowCount - 1,
        fixed: typeof content.height === "number" ? content.height : undefined,
        estimate: typeof content.height === "number"
          ? content.height
          : typeof content.estimatedHeight === "number"
          ? Math.max(content.estimatedHeight, 1)
          : usual,
      })
    );
    if (window) putGap(`${key} below`, section.rowCount - offset - section.rows.length, s);
    if (section.footer) items.push({ key: `${key} footer`, kind: "footer", s, row, content: section.footer, estimate: 32, index: ++index });
  });
  putHidden(null);
  if (window) putGap("below", totalRowCount - row);
  return { items, count: index };
}

/** Declared but not displayed: by the next displayed section's id, null at the end. */
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

/** Where items are, by measured or else estimated heights. */
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

  /** Items at least partly in between, `[first, end)`. */
  between(top, bottom) {
    const first = this.indexAt(top);
    let end = first;
    while (end < this.items.length && this.tops[end] < bottom) end++;
    return [first, end];
  }

  /** By binary search; 0 above the table, the number of items below. */
  indexAt(y) {
    let low = 0, high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Among all rows of the table. */
  rowAt(y) {
    const i = Math.min(this.indexAt(y), this.items.length - 1);
    const { kind, row, rows, rowHeight } = this.items[i];
    return kind === "gap" ? row + Math.min(rows - 1, Math.max(0, Math.floor((y - this.tops[i]) / rowHeight))) : row;
  }
}
