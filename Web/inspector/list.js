import { h } from "./dom.js";
import { itemsOf, Layout } from "./layout.js";
import { Scrolling } from "./scroll.js";

const margin = 800;
/** So few items are all in the page, for the browser's search and screen readers. */
const allAtOnce = 160;
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const easing = "cubic-bezier(.2, .8, .2, 1)";

/**
 * Looks like UITableView's inset-grouped style. Of a long list, only items near the visible part are in the page,
 * placed by transforms. In a new frame, items glide from their old places, matched by key.
 */
export class List {
  #elements = new Map();
  #heights = new Map();
  #layout = new Layout([], this.#heights);
  #frame = null;
  #scroll;
  /** For unknown rows: the average of the first measured ones. */
  #rowHeight;
  /** By element. A new animation starts where the old one is. */
  #glides = new WeakMap();
  /** The row dragged by pointer, `{key, y}`, or null. */
  held = null;
  hidden = new Map();
  /** After each scroll event. */
  scrolled = () => {};

  /** `make(item, element)` fills an element. */
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
  /** The first item's position in the viewport; negative above it. */
  get origin() {
    return this.content.getBoundingClientRect().top - this.#scroll.shift;
  }
  element(key) {
    return this.#elements.get(key);
  }
  close() {
    this.sizes.disconnect();
  }

  /** Flashes the `reloaded` keys. Items at the upper edge stay where they are, as far as possible. */
  show(frame, { animated = true, reloaded = new Set() } = {}) {
    const focused = this.content.contains(document.activeElement) ? document.activeElement : null;
    const from = animated && this.#frame && !reducedMotion.matches ? this.#places() : null;
    const anchors = this.content.classList.contains("carrying") ? [] : this.#anchors();
    this.#frame = frame;
    this.#lay();
    this.#place(anchors, from);
    this.#learnRowHeight();
    // Without `moveBefore`, a moved element loses its focus.
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

  /** After a change of width or edit mode. */
  remeasure() {
    for (const key of this.#elements.keys()) this.#heights.delete(key);
    this.#place();
    this.#learnRowHeight();
  }

  /** Kept until the width changes, so that the scroll bar does not jump. */
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
   * Visible items with their distance from the upper edge. Empty at the list's beginning, null if only unknown rows at
   * the end are visible.
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

  /** Scrolls an anchor back to its place, preferably one whose next item is still the same. */
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

  /** Loaded or not. */
  scrollToEdge(isEnd) {
    this.scroller.scrollTop = isEnd ? this.scroller.scrollHeight : 0;
  }

  /** If only rows outside of the window are visible. */
  reveal() {
    const first = this.#layout.items.findIndex(({ kind }) => kind === "row");
    if (first < 0 || this.visibleRows().length > 0) return;
    this.#scroll.top = this.#layout.tops[first] - 60;
    this.#place([]);
  }

  /** Their items. */
  visibleRows() {
    const { top } = this.#scroll;
    const [first, end] = this.#layout.between(top, top + this.scroller.clientHeight);
    return this.#layout.items.slice(first, end).filter((item) => item.kind === "row");
  }

  /** First and last, among all rows of the table. */
  visibleRange() {
    if (this.#layout.items.length === 0) return null;
    const { top } = this.#scroll;
    return [this.#layout.rowAt(top), this.#layout.rowAt(top + this.scroller.clientHeight)];
  }

  /** In the viewport: `seen`, as drawn; `unseen`, as computed for all items. */
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

  /** Places items near the visible part; `anchors` stay put. With `from`, earlier places, items glide. */
  #place(anchors = this.#anchors(), from = null) {
    if (!this.#frame) return;
    let range;
    // Measuring moves the items below, so repeat until all in range are measured.
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

  /** `y`: in the list, in pixels. */
  put(element, y) {
    element.style.transform = `translateY(${y - this.#scroll.shift}px)`;
  }

  /** Only the part near the visible part; returns where it begins. */
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

  /** Stays in the page though out of range: the dragged row and the focus. */
  #isKept(key, element) {
    if (this.held?.key === key) return true;
    const i = element.contains(document.activeElement) ? this.#layout.items.findIndex((item) => item.key === key) : -1;
    if (i >= 0) this.put(element, this.#layout.tops[i]);
    return i >= 0;
  }

  /** In reading order, which is the order of Tab. */
  #fill(first, end) {
    const { items } = this.#layout;
    const wanted = new Set(items.slice(first, end).map(({ key }) => key));
    // Not past elements that will go: that could move the focused one, and Chromium would scroll to it.
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
      // If it is the next but one, the next is moved when its turn comes.
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

  /** Measured again when placed. */
  forget(key) {
    this.#heights.delete(key);
  }

  /** From the viewport to the list. */
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
