/** Pixels. Some browsers fail beyond about ten million; higher content scrolls in an element of this height. */
const tallest = 6_000_000;
/** Pixels from both ends that are never scaled. */
const exact = 50_000;
/** Pixels. In scaled content, a longer scroll event is a dragged scroll bar; others move the content as far. */
const farthest = 3_000;
/** Pixels by which a scaled content's scroll bar may be off while scrolling. */
const drift = 100_000;

/** Scrolls content of any height in an element of limited height: what is at `y` is drawn at `y - shift`. */
export class Scrolling {
  #scroller;
  #element;
  #height = 0;
  #last = 0;
  shift = 0;

  constructor(scroller, element) {
    this.#scroller = scroller;
    this.#element = element;
  }

  get #isScaled() {
    return this.#height > tallest;
  }

  get #at() {
    return this.#scroller.scrollTop - this.#element.offsetTop;
  }

  /** In the content, at the scroller's upper edge; negative above the element. */
  get top() {
    return this.#at + this.shift;
  }

  set top(top) {
    if (this.#isScaled && !this.#isExact(top) && Math.abs(this.#barAt(top) - this.#at) < drift) this.shift = Math.round(top - this.#at);
    else this.#settle(top);
  }

  set height(height) {
    const { top } = this;
    const wasScaled = this.#isScaled;
    this.#height = height;
    const shown = `${Math.min(height, tallest)}px`;
    if (this.#element.style.height !== shown) this.#element.style.height = shown;
    if (wasScaled || this.#isScaled) this.top = top;
  }

  /** After scrolling: corrects the scroll bar. The view stays; the caller must draw again. */
  settle() {
    if (this.#isScaled) this.#settle(this.top);
  }

  /** Call first in a `scroll` listener. */
  scrolled() {
    const by = this.#at - this.#last;
    this.#last = this.#at;
    if (!this.#isScaled) return;
    if (Math.abs(by) > farthest) this.shift = Math.round(this.#contentAt(this.#at) - this.#at);
    else if ((this.#isExact(this.top) || this.#isExact(this.#contentAt(this.#at))) && Math.abs(this.#barAt(this.top) - this.#at) > 1) this.#settle(this.top);
  }

  #settle(top) {
    const at = Math.round(this.#barAt(top));
    if (at !== this.#at) this.#scroller.scrollTop = at + this.#element.offsetTop;
    this.#last = this.#at;
    this.shift = this.#isScaled ? Math.round(top - this.#at) : 0;
  }

  /** So close to an end that nothing is scaled. */
  #isExact(top) {
    return top <= exact || top >= this.#height - this.#scroller.clientHeight - exact;
  }

  /** The scroll bar's place for a `top`; `#contentAt` is the inverse. */
  #barAt(top) {
    return mapped(top, this.#height, Math.min(this.#height, tallest), this.#scroller.clientHeight);
  }
  #contentAt(at) {
    return mapped(at, Math.min(this.#height, tallest), this.#height, this.#scroller.clientHeight);
  }
}

/** From a height to another: near the ends the distance stays, between it is scaled. */
function mapped(place, from, to, seen) {
  if (from === to || place <= exact) return place;
  if (place >= from - seen - exact) return to - (from - place);
  return exact + (place - exact) * ((to - seen - 2 * exact) / (from - seen - 2 * exact));
}
