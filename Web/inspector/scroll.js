/** Pixels: browsers place no element behind some ten million of them. A higher content is scrolled through one of this height. */
const tallest = 6_000_000;
/** So many pixels at both ends of a content that is too high stand where they would without a limit. */
const exact = 50_000;
/** Pixels: where a content that is too high is scrolled by less, it is moved as far; by more, its scroll bar is dragged. */
const farthest = 3_000;
/** Pixels by which the scroll bar of a content that is too high may be off until the scrolling ends. */
const drift = 100_000;

/**
 * The scrolling of an element that stands for a content of any height. An item at the height `y` of the content is drawn at
 * `y - shift` in the element.
 */
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

  /** The height of the content at the scroller's upper edge; negative while something above the element is in sight. */
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

  /** Puts the scroll bar where it belongs, when the scrolling has ended. What the content shows stays, once it is drawn again. */
  settle() {
    if (this.#isScaled) this.#settle(this.top);
  }

  /** To be called first when the scroller was scrolled. */
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

  /** Whether a height of the content is so near to one of its ends that the element is to stand exactly there. */
  #isExact(top) {
    return top <= exact || top >= this.#height - this.#scroller.clientHeight - exact;
  }

  /** Where the element is scrolled to when the content is at `top`, and the other way round. */
  #barAt(top) {
    return mapped(top, this.#height, Math.min(this.#height, tallest), this.#scroller.clientHeight);
  }
  #contentAt(at) {
    return mapped(at, Math.min(this.#height, tallest), this.#height, this.#scroller.clientHeight);
  }
}

/** A place of something `from` pixels high as a place of something `to` pixels high: the same at the ends, and in proportion between. */
function mapped(place, from, to, seen) {
  if (from === to || place <= exact) return place;
  if (place >= from - seen - exact) return to - (from - place);
  return exact + (place - exact) * ((to - seen - 2 * exact) / (from - seen - 2 * exact));
}
