import { h } from "./dom.js";
import { itemsOf, Layout } from "./layout.js";
import { Scrolling } from "./scroll.js";

const margin = 800;
/**
 * A list of at most this many items is in the page completely, so that the browser's search and screen readers find all
 * of it.
 */
const allAtOnce = 160;
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const easing = "cubic-bezier(.2, .8, .2, 1)";

/**
 * A list that looks like UITableView's inset-grouped style. Of a long list, only the items near the visible part are in
 * the page.
 * A CSS transform places each item. When a new frame is shown, each item glides from its old place; the items' keys
 * tell which items are the same.
 */
export class List {
  #elements = new Map();
  #heights = new Map();
  #layout = new Layout([], this.#heights);
  #frame = null;
  #scroll;
  /** The estimated height of each row outside of the frame's window: the average height of the first measured rows. */
  #rowHeight;
  /**
   * The running animation of each element. A new animation replaces it and starts where the element is at that moment.
   */
  #glides = new WeakMap();
  /**
   * The row that a person drags with the pointer, and its vertical position in the list: `{key, y}`. Otherwise null.
   */
  held = null;
  hidden = new Map();
  /** Called after each scroll event of the list. */
  scrolled = () => {};

  /** `make(item, element)` fills the element of an item. `scroller` is the element that scrolls. */
  constructor(scroller, label, make) {
    this.scroller = scroller;
    this.make = make;
    this.content = h("div", { class: "list", role: "grid", "aria-label": label, tabindex: -1 });
    scroller.append(this.content);
    this.#scroll = new Scrolling(scroller, this.content);
    scroller.addEventListener("scroll", () => {
      this.#scroll.scrolled();
      this.#place();
      this.scrolled();
    }, { passive: true });
    scroller.addEventListener("scrollend", () => {
      this.#scroll.settle();
      this.#place();
    });
    let width = 0;
    this.sizes = new ResizeObserver(() => {
      if (width !== scroller.clientWidth) {
        this.#heights.clear();
        this.#rowHeight = undefined;
      }
      width = scroller.clientWidth;
      this.remeasure();
    });
    this.sizes.observe(scroller);
  }

  get layout() {
    return this.#layout;
  }
  get frame() {
    return this.#frame;
  }
  /**
   * The vertical position of the first item, relative to the browser's viewport. It is negative if the first item is
   * above the viewport.
   */
  get origin() {
    return this.content.getBoundingClientRect().top - this.#scroll.shift;
  }
  element(key) {
    return this.#elements.get(key);
  }
  close() {
    this.sizes.disconnect();
  }

  /**
   * Shows `frame`, a snapshot with a key for each row, and flashes the rows whose keys `reloaded` contains. The items
   * at the upper edge of the visible part normally stay where they are.
   */
  show(frame, { animated = true, reloaded = new Set() } = {}) {
    const focused = this.content.contains(document.activeElement) ? document.activeElement : null;
    const from = animated && this.#frame && !reducedMotion.matches ? this.#places() : null;
    const anchors = this.content.classList.contains("carrying") ? [] : this.#anchors();
    this.#frame = frame;
    this.#lay();
    this.#place(anchors, from);
    this.#learnRowHeight();
    // In browsers without `moveBefore`, moving an element in the page removes its focus, so the focus is set again.
    if (focused?.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
    for (const key of from ? reloaded : []) {
      this.#elements.get(key)?.animate({ backgroundColor: ["var(--flash)", "var(--card)"] }, { duration: 900, easing: "ease-out" });
    }
  }

  #lay() {
    const { items, count } = itemsOf(this.#frame, this.hidden, this.#rowHeight);
    if (this.#heights.size > 2 * items.length + 1000) this.#heights.clear();
    this.#layout = new Layout(items, this.#heights);
    this.content.setAttribute("aria-rowcount", count);
  }

  /** Measures the items in the page again, after the width of the list or the edit mode has changed. */
  remeasure() {
    for (const key of this.#elements.keys()) this.#heights.delete(key);
    this.#place();
    this.#learnRowHeight();
  }

  /**
   * Estimates the height of unknown rows from the first measured rows. The estimate stays until the width of the list
   * changes, so that the scroll bar does not jump.
   */
  #learnRowHeight() {
    if (this.#rowHeight !== undefined || !this.#layout.items.some(({ kind }) => kind === "gap")) return;
    const heights = this.#layout.items.filter(({ kind }) => kind === "row").map(({ key }) => this.#heights.get(key)).filter(Boolean);
    if (heights.length === 0) return;
    this.#rowHeight = Math.max(1, Math.round(heights.reduce((sum, height) => sum + height) / heights.length));
    const anchors = this.#anchors();
    this.#lay();
    this.#place(anchors);
  }

  /**
   * The visible items, each with its distance from the upper edge of the visible part. The result is empty at the
   * beginning of the list, and null if only unknown rows at the end are visible.
   */
  #anchors() {
    const { top } = this.#scroll;
    if (top <= 0) return [];
    const { items, tops, height } = this.#layout;
    const bottom = top + this.scroller.clientHeight;
    const [first, end] = this.#layout.between(top, bottom);
    const known = items.slice(first, end).map(({ key, kind }, i) => ({ key, kind, y: tops[first + i] - top })).filter(({ kind }) => kind !== "gap");
    return known.length === 0 && bottom >= height ? null : known;
  }

  /**
   * Scrolls so that an item of `anchors` is where it was. The method prefers the first item whose next item is the same
   * as before.
   */
  #hold(anchors) {
    if (!anchors) return this.scrollToEdge(true);
    const known = new Map(anchors.length > 0 ? this.#layout.items.map(({ key }, i) => [key, i]) : []);
    const left = anchors.filter(({ key }) => known.has(key));
    const place = (anchor) => known.get(anchor?.key);
    const anchor = left.find((anchor, i) => place(left[i + 1]) === place(anchor) + 1) ?? left[0];
    if (!anchor) return;
    const top = this.#layout.tops[place(anchor)] - anchor.y;
    if (top !== this.#scroll.top) this.#scroll.top = top;
  }

  scrollTo(key) {
    const i = this.#layout.items.findIndex((item) => item.key === key);
    if (i < 0) return;
    const { tops } = this.#layout;
    const { clientHeight } = this.scroller;
    if (tops[i] < this.#scroll.top + 60) this.#scroll.top = tops[i] - 60;
    else if (tops[i + 1] > this.#scroll.top + clientHeight - 80) this.#scroll.top = tops[i + 1] - clientHeight + 80;
    this.#place([]);
  }

  /** Scrolls to the beginning or the end of the table, even if the rows there are not loaded yet. */
  scrollToEdge(isEnd) {
    this.scroller.scrollTop = isEnd ? this.scroller.scrollHeight : 0;
  }

  /** Scrolls to the first row of the frame if only rows outside of the frame's window are visible. */
  reveal() {
    const first = this.#layout.items.findIndex(({ kind }) => kind === "row");
    if (first < 0 || this.visibleRows().length > 0) return;
    this.#scroll.top = this.#layout.tops[first] - 60;
    this.#place([]);
  }

  /** The items of the visible rows. */
  visibleRows() {
    const { top } = this.#scroll;
    const [first, end] = this.#layout.between(top, top + this.scroller.clientHeight);
    return this.#layout.items.slice(first, end).filter((item) => item.kind === "row");
  }

  /** The indexes of the first and the last visible row, among all rows of the table. */
  visibleRange() {
    if (this.#layout.items.length === 0) return null;
    const { top } = this.#scroll;
    return [this.#layout.rowAt(top), this.#layout.rowAt(top + this.scroller.clientHeight)];
  }

  /**
   * The vertical position of each item relative to the browser's viewport: `seen` for items in the page, `unseen` for
   * the computed places of all items.
   */
  #places() {
    const { origin } = this;
    return {
      top: this.content.getBoundingClientRect().top,
      seen: new Map([...this.#elements].map(([key, element]) => [key, element.getBoundingClientRect().top])),
      unseen: new Map(this.#layout.items.map(({ key }, i) => [key, origin + this.#layout.tops[i]])),
    };
  }

  #range() {
    const { items } = this.#layout;
    if (items.length <= allAtOnce) return [0, items.length];
    const { top } = this.#scroll;
    return this.#layout.between(top - margin, top + this.scroller.clientHeight + margin);
  }

  /**
   * Places the items near the visible part. The items of `anchors` stay where they are even if heights above them
   * change. With `from`, the items' earlier places, the items glide to their new places.
   */
  #place(anchors = this.#anchors(), from = null) {
    if (!this.#frame) return;
    let range;
    // A measured height that differs from its estimate moves the items below, so this step repeats, at most four times,
    // until all items in the range are measured.
    for (let round = 0; round < 4; round++) {
      this.#scroll.height = this.#layout.height;
      this.#hold(anchors);
      range = this.#range();
      this.#fill(...range);
      if (!this.#measure(...range)) break;
      this.#layout.update();
    }
    const { items, tops } = this.#layout;
    const wanted = new Set();
    for (let i = range[0]; i < range[1]; i++) {
      const { key, kind } = items[i];
      wanted.add(key);
      const element = this.#elements.get(key);
      const y = this.held?.key === key ? this.held.y : kind === "gap" ? this.#fitGap(i, element) : tops[i];
      this.put(element, y);
      if (from && kind !== "gap" && this.held?.key !== key) this.#animate(element, key, y, from);
    }
    for (const [key, element] of this.#elements) if (!wanted.has(key) && !this.#isKept(key, element)) this.#leave(key, element, from);
  }

  /** Puts an element at the vertical position `y` in the list, in pixels. */
  put(element, y) {
    element.style.transform = `translateY(${y - this.#scroll.shift}px)`;
  }

  /**
   * Shows the part of a gap (rows that are not loaded) that is near the visible part. Returns the height in the list at
   * which this part begins.
   */
  #fitGap(i, element) {
    const { top } = this.#scroll;
    const { rowHeight } = this.#layout.items[i];
    const [start, end] = [this.#layout.tops[i], this.#layout.tops[i + 1]];
    const y = Math.max(start, top - margin);
    element.style.height = `${Math.max(0, Math.min(end, top + this.scroller.clientHeight + margin) - y)}px`;
    element.style.setProperty("--row-height", `${rowHeight}px`);
    element.style.backgroundPositionY = `${-((y - start) % rowHeight)}px`;
    return y;
  }

  /** Whether an element outside of the range stays in the page: the dragged row and the item with the focus stay. */
  #isKept(key, element) {
    if (this.held?.key === key) return true;
    const i = element.contains(document.activeElement) ? this.#layout.items.findIndex((item) => item.key === key) : -1;
    if (i >= 0) this.put(element, this.#layout.tops[i]);
    return i >= 0;
  }

  /**
   * Creates the elements of a range of items. The elements are put in reading order, which is also the order of the Tab
   * key.
   */
  #fill(first, end) {
    const { items } = this.#layout;
    const wanted = new Set(items.slice(first, end).map(({ key }) => key));
    // Elements that will be removed are skipped: moving other elements past them could move the element with the focus,
    // and Chromium then scrolls to it.
    const passed = (element) => {
      while (element && !wanted.has(element.dataset.key)) element = element.nextElementSibling;
      return element;
    };
    let next = passed(this.content.firstElementChild);
    for (let i = first; i < end; i++) {
      const item = items[i];
      let element = this.#elements.get(item.key);
      if (!element) this.#elements.set(item.key, element = h("div", { "data-key": item.key }));
      this.make(item, element);
      // If the element is the next one but one, the next element is moved later, when its own turn comes.
      if (element === next || element === passed(next?.nextElementSibling)) next = passed(element.nextElementSibling);
      else if (element.isConnected && this.content.moveBefore) this.content.moveBefore(element, next);
      else this.content.insertBefore(element, next);
    }
  }

  #measure(first, end) {
    let changed = false;
    for (let i = first; i < end; i++) {
      const { key, kind } = this.#layout.items[i];
      if (kind === "gap") continue;
      const height = this.#elements.get(key).offsetHeight;
      if (this.#heights.get(key) !== height) {
        this.#heights.set(key, height);
        changed = true;
      }
    }
    return changed;
  }

  /**
   * Discards the measured height of an item whose content has changed. The list measures the item again when it places
   * the item.
   */
  forget(key) {
    this.#heights.delete(key);
  }

  /** Converts a vertical position in the browser's viewport to a position in the list's element. */
  #local(screenY) {
    return screenY - this.content.getBoundingClientRect().top;
  }

  #animate(element, key, y, { seen, unseen }) {
    const screenY = seen.get(key) ?? unseen.get(key);
    if (screenY === undefined) {
      element.animate({ opacity: [0, 1], scale: [0.96, 1] }, { duration: 320, easing });
      return;
    }
    const [start, end] = [this.#local(screenY), y - this.#scroll.shift];
    this.#glides.get(element)?.cancel();
    if (Math.abs(start - end) > 0.5) {
      this.#glides.set(element, element.animate({ transform: [`translateY(${start}px)`, `translateY(${end}px)`] }, { duration: 360, easing }));
    }
  }

  #leave(key, element, from) {
    this.#elements.delete(key);
    if (!from?.seen.has(key) || element.classList.contains("gap")) return element.remove();
    element.removeAttribute("data-key");
    element.inert = true;
    element.classList.add("leaving");
    element.style.translate = `0 ${this.#local(from.top)}px`;
    element.animate({ opacity: [1, 0], scale: [1, 0.96] }, { duration: 220, easing, fill: "forwards" }).finished.then(() => element.remove());
  }
}
