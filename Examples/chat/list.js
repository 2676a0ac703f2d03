// The functions and the list that the pages of the chat and of the feed share.

/** Returns the session with an id. The page's address can name the session's server: `?server=http://…`. */
export async function openSession(id) {
  const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:8080";
  const { BraidClient } = await import(`${server}/braid.js`);
  return new BraidClient({ url: server }).session(id);
}

export function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/**
 * A scrolling list of a table's rows. Only the rows of the window have elements. Two empty elements take the place of
 * the rows before and after the window, so that the scroll bar shows where the window is in the table.
 */
export class WindowList {
  #scroller;
  #render;
  #above = document.createElement("div");
  #below = document.createElement("div");
  /** The element of each row in the window, and the row that the element shows, by the row's id. */
  #elements = new Map();
  #rowHeight = 60;
  #offset = 0;
  /**
   * The rows that were visible, each with its place on the screen. `#scrolledTo` is the scroll position that `show` has
   * set.
   */
  #anchors = [];
  #scrolledTo;

  /** `render(row)` returns the element of a row. The height of this element must not change later. */
  constructor(scroller, render) {
    this.#scroller = scroller;
    this.#render = render;
  }

  /** Whether the end of the table is visible. */
  get isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    return scrollTop + clientHeight > scrollHeight - 20;
  }

  /** Whether the beginning of the table is visible. */
  get isAtStart() {
    return this.#scroller.scrollTop < 20;
  }

  /** The indexes of the first and the last visible row, among all rows of the table. */
  get visible() {
    const { scrollTop, clientHeight } = this.#scroller;
    return [this.#indexAt(scrollTop), this.#indexAt(scrollTop + clientHeight)];
  }

  /** Shows the snapshot of a window. The visible rows that it contains stay where they are on the screen. */
  show({ sections, totalRowCount, window }) {
    // If the person has not scrolled since the last `show`, this method uses the rows' old places again. So the
    // rounding errors of several updates do not add up: browsers round the scroll position to whole pixels.
    if (this.#scroller.scrollTop !== this.#scrolledTo) this.#anchors = this.#rowsInSight();
    const rows = sections.flatMap((section) => section.rows);
    const elements = new Map();
    for (const row of rows) {
      const known = this.#elements.get(row.id);
      elements.set(row.id, known?.row === row ? known : { row, element: this.#render(row) });
    }
    const isFirst = this.#elements.size === 0;
    this.#elements = elements;
    this.#offset = window.offset;
    this.#scroller.replaceChildren(this.#above, ...[...elements.values()].map(({ element }) => element), this.#below);
    if (isFirst && rows.length > 0) this.#rowHeight = this.#height / rows.length;
    this.#above.style.height = `${window.offset * this.#rowHeight}px`;
    this.#below.style.height = `${(totalRowCount - window.offset - rows.length) * this.#rowHeight}px`;
    const anchor = this.#anchors.find(({ id }) => elements.has(id));
    if (anchor) this.#scroller.scrollTop += elements.get(anchor.id).element.getBoundingClientRect().top - anchor.top;
    this.#scrolledTo = anchor && this.#scroller.scrollTop;
  }

  showEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  showStart() {
    this.#scroller.scrollTop = 0;
  }

  /** The height of all rows of the window together. */
  get #height() {
    return this.#below.offsetTop - this.#above.offsetTop - this.#above.offsetHeight;
  }

  #rowsInSight() {
    const { top, bottom } = this.#scroller.getBoundingClientRect();
    return [...this.#elements].map(([id, { element }]) => ({ id, top: element.getBoundingClientRect().top, bottom: element.getBoundingClientRect().bottom }))
      .filter((row) => row.bottom > top && row.top < bottom);
  }

  #indexAt(y) {
    const top = this.#above.offsetHeight;
    if (y < top) return Math.floor(y / this.#rowHeight);
    let index = this.#offset;
    for (const { element } of this.#elements.values()) {
      if (element.offsetTop + element.offsetHeight - this.#scroller.offsetTop > y) return index;
      index++;
    }
    return index + Math.max(0, Math.floor((y - top - this.#height) / this.#rowHeight));
  }
}
