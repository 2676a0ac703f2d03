/**
 * Pixels. Some browsers cannot place elements beyond about ten million pixels. Content that is higher than this limit
 * is scrolled through an element of this height.
 */
const tallest = 6_000_000;
/**
 * Pixels. The content within this distance of its two ends is scrolled without scaling, even if the content exceeds the
 * limit.
 */
const exact = 50_000;
/**
 * Pixels, for content that exceeds the limit. A scroll event of at most this distance moves the content by the same
 * distance. A longer one counts as dragging the scroll bar.
 */
const farthest = 3_000;
/**
 * Pixels. The scroll bar of content that exceeds the limit may be off by less than this distance until the scrolling
 * ends.
 */
const drift = 100_000;

/**
 * The scrolling of content whose height may exceed the browser's limit, by an element that does not exceed the limit.
 * An item at the vertical position `y` in the content is drawn at `y - shift` in the element.
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

  /**
   * The vertical position in the content, in pixels, that is at the upper edge of the scroller. The value is negative
   * while something above the element is visible.
   */
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

  /**
   * Corrects the scroll bar after the scrolling has ended. The caller draws the content again afterwards; the visible
   * part of the content stays the same.
   */
  settle() {
    if (this.#isScaled) this.#settle(this.top);
  }

  /** Handles a scroll event. The listener of the scroller's `scroll` event must call this method first. */
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

  /** Whether `top` is so close to an end of the content that the content is scrolled without scaling there. */
  #isExact(top) {
    return top <= exact || top >= this.#height - this.#scroller.clientHeight - exact;
  }

  /** The scroll position of the element when the content is at `top`. `#contentAt` is the inverse. */
  #barAt(top) {
    return mapped(top, this.#height, Math.min(this.#height, tallest), this.#scroller.clientHeight);
  }
  #contentAt(at) {
    return mapped(at, Math.min(this.#height, tallest), this.#height, this.#scroller.clientHeight);
  }
}

/**
 * Converts a scroll position in something `from` pixels high to one in something `to` pixels high. Positions near the
 * ends keep their distance from the end; positions between are scaled.
 */
function mapped(place, from, to, seen) {
  if (from === to || place <= exact) return place;
  if (place >= from - seen - exact) return to - (from - place);
  return exact + (place - exact) * ((to - seen - 2 * exact) / (from - seen - 2 * exact));
}
