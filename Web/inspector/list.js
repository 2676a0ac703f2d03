import { h } from "./dom.js";
import { itemsOf, Layout } from "./layout.js";

const margin = 800;
/** As many items are all in the page at once: for searching in it, and for screen readers. */
const allAtOnce = 160;
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const easing = "cubic-bezier(.2, .8, .2, 1)";

/**
 * A frame as a list that looks like UITableView's inset-grouped one. Of a long list only what is near the window is in the page.
 * Items are told by their keys, and placed by `transform`: when a frame follows another, each glides from where it stands.
 */
export class List {
  #elements = new Map();
  #heights = new Map();
  #layout = new Layout([], this.#heights);
  #frame = null;
  /** What is on its way goes on from where it is: one animation for each element. */
  #glides = new WeakMap();
  /** The row that follows the pointer: `{key, y}`. */
  held = null;
  hidden = new Map();

  /** `make(item, element)` gives an item's content; `scroller` is what scrolls. */
  constructor(scroller, label, make) {
    this.scroller = scroller;
    this.make = make;
    this.content = h("div", { class: "list", role: "grid", "aria-label": label });
    scroller.append(this.content);
    scroller.addEventListener("scroll", () => this.#staying(() => this.#place()), { passive: true });
    let width = 0;
    this.sizes = new ResizeObserver(() => {
      if (width !== scroller.clientWidth) this.#heights.clear();
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
  element(key) {
    return this.#elements.get(key);
  }
  close() {
    this.sizes.disconnect();
  }

  /** Shows `frame`; `reloaded`: keys of rows to be drawn attention to. */
  show(frame, { animated = true, reloaded = new Set() } = {}) {
    const focused = this.content.contains(document.activeElement) ? document.activeElement : null;
    const from = animated && this.#frame && !reducedMotion.matches ? this.#visiblePlaces() : null;
    const previous = this.#layout;
    this.#frame = frame;
    const { items, count } = itemsOf(frame, this.hidden);
    if (this.#heights.size > 2 * items.length + 1000) this.#heights.clear();
    this.#layout = new Layout(items, this.#heights);
    this.content.setAttribute("aria-rowcount", count);
    this.#place(from && { from, previous });
    // Where elements cannot be moved in the page without being taken out.
    if (focused?.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
    for (const key of from ? reloaded : []) {
      this.#elements.get(key)?.animate({ backgroundColor: ["var(--flash)", "var(--card)"] }, { duration: 900, easing: "ease-out" });
    }
  }

  /** After what changes the heights of many: the window's width, edit mode. */
  remeasure() {
    for (const key of this.#elements.keys()) this.#heights.delete(key);
    this.#staying(() => this.#place());
  }

  /** What is at the window's top stays there, whatever becomes known of the heights above it. */
  #staying(change) {
    const before = this.#layout.tops;
    const { scrollTop } = this.scroller;
    const first = this.#layout.indexAt(scrollTop - this.content.offsetTop);
    change();
    const shift = (this.#layout.tops[first] ?? 0) - (before[first] ?? 0);
    if (shift !== 0 && scrollTop > this.content.offsetTop) this.scroller.scrollTop = scrollTop + shift;
  }

  scrollTo(key) {
    const i = this.#layout.items.findIndex((item) => item.key === key);
    if (i < 0) return;
    const { tops } = this.#layout;
    const { scrollTop, clientHeight } = this.scroller;
    const offset = this.content.offsetTop;
    if (tops[i] + offset < scrollTop + 60) this.scroller.scrollTop = tops[i] + offset - 60;
    else if (tops[i + 1] + offset > scrollTop + clientHeight - 80) this.scroller.scrollTop = tops[i + 1] + offset - clientHeight + 80;
    this.#place();
  }

  /** The rows in the window. */
  visibleRows() {
    const { scrollTop, clientHeight } = this.scroller;
    const [first, end] = this.#layout.between(scrollTop - this.content.offsetTop, scrollTop - this.content.offsetTop + clientHeight);
    return this.#layout.items.slice(first, end).filter((item) => item.kind === "row");
  }

  #visiblePlaces() {
    const origin = this.content.getBoundingClientRect().top;
    return new Map([...this.#elements].map(([key, element]) => [key, element.getBoundingClientRect().top - origin]));
  }

  #range() {
    const { items } = this.#layout;
    if (items.length <= allAtOnce) return [0, items.length];
    const top = this.scroller.scrollTop - this.content.offsetTop;
    return this.#layout.between(top - margin, top + this.scroller.clientHeight + margin);
  }

  #place(animation) {
    if (!this.#frame) return;
    let range;
    // Heights that were estimates move what is behind them: again, until all that is in the window was measured.
    for (let round = 0; round < 4; round++) {
      range = this.#range();
      this.#fill(...range);
      if (!this.#measure(...range)) break;
      this.#layout.update();
    }
    const { items, tops } = this.#layout;
    const wanted = new Set();
    for (let i = range[0]; i < range[1]; i++) {
      const { key } = items[i];
      wanted.add(key);
      const element = this.#elements.get(key);
      const y = this.held?.key === key ? this.held.y : tops[i];
      element.style.transform = `translateY(${y}px)`;
      if (animation && this.held?.key !== key) this.#animate(element, key, y, animation);
    }
    for (const [key, element] of this.#elements) if (!wanted.has(key) && !this.#isKept(key, element)) this.#leave(key, element, animation);
    this.content.style.height = `${this.#layout.height}px`;
  }

  /** The row under the pointer, and the one with the focus, are not taken out because the list was scrolled. */
  #isKept(key, element) {
    if (this.held?.key === key) return true;
    const i = element.contains(document.activeElement) ? this.#layout.items.findIndex((item) => item.key === key) : -1;
    if (i >= 0) element.style.transform = `translateY(${this.#layout.tops[i]}px)`;
    return i >= 0;
  }

  /** Makes the elements of a range, and puts them in the order in which they are read and reached by Tab. */
  #fill(first, end) {
    const { items } = this.#layout;
    const wanted = new Set(items.slice(first, end).map(({ key }) => key));
    // What leaves is passed over: nothing is moved past it, as Chromium scrolls to the element with the focus when that is moved.
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
      // Where one element stands between, it is the one to be moved, as soon as its place comes.
      if (element === next || element === passed(next?.nextElementSibling)) next = passed(element.nextElementSibling);
      else if (element.isConnected && this.content.moveBefore) this.content.moveBefore(element, next);
      else this.content.insertBefore(element, next);
    }
  }

  #measure(first, end) {
    let changed = false;
    for (let i = first; i < end; i++) {
      const { key } = this.#layout.items[i];
      const height = this.#elements.get(key).offsetHeight;
      if (this.#heights.get(key) !== height) {
        this.#heights.set(key, height);
        changed = true;
      }
    }
    return changed;
  }

  /** Heights of items whose content changed are measured anew by the next `show`. */
  forget(key) {
    this.#heights.delete(key);
  }

  #animate(element, key, y, { from, previous }) {
    let start = from.get(key);
    if (start === undefined) {
      const i = previous.items.findIndex((item) => item.key === key);
      if (i < 0) {
        element.animate({ opacity: [0, 1], scale: [0.96, 1] }, { duration: 320, easing });
        return;
      }
      start = previous.tops[i];
    }
    this.#glides.get(element)?.cancel();
    if (Math.abs(start - y) > 0.5) {
      this.#glides.set(element, element.animate({ transform: [`translateY(${start}px)`, `translateY(${y}px)`] }, { duration: 360, easing }));
    }
  }

  #leave(key, element, animation) {
    this.#elements.delete(key);
    if (!animation) return element.remove();
    element.removeAttribute("data-key");
    element.inert = true;
    element.classList.add("leaving");
    element.animate({ opacity: [1, 0], scale: [1, 0.96] }, { duration: 220, easing, fill: "forwards" }).finished.then(() => element.remove());
  }
}
