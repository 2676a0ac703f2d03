// Moves a row by pointer or keys. The list shows the table as after the drop; one command is sent at the drop.
import { indexIn, sectionName, withMovedRow } from "./frames.js";

/** Where it may be dropped: `{at: [section, row], y}`, both as if the row were removed. */
export function dropPlaces(layout, frame, [s, r]) {
  const { sections } = frame.snapshot;
  const { movesTo } = sections[s];
  const allowed = (id) => movesTo === "anySection" || movesTo?.includes(id);
  const places = [];
  let y = 0;
  const put = (section, row) => allowed(sections[section].id) && places.push({ at: [section, row], y });
  layout.items.forEach((item, i) => {
    const height = layout.tops[i + 1] - layout.tops[i];
    const isDragged = item.kind === "row" && item.s === s && item.r === r;
    if (item.kind === "row" && !isDragged) put(item.s, item.r - (item.s === s && item.r > r ? 1 : 0));
    if (!isDragged) y += height;
    const next = layout.items[i + 1];
    // With unknown rows after a header, its first places are unknown, too.
    const isNext = next?.s === item.s && (next?.kind === "row" || (next?.kind === "gap" && item.kind === "header"));
    const isEnd = (item.kind === "header" || item.kind === "row") && !isNext;
    if (isEnd) put(item.s, sections[item.s].rows.length - (item.s === s ? 1 : 0));
  });
  return places;
}

export class Dragging {
  #list;
  #drop;
  #announce;
  #ended;
  #carried = null;

  /** `drop(from, to)`: the list shows the row there already. `ended()`: after each drag. */
  constructor(list, { drop, announce, ended }) {
    this.#list = list;
    this.#drop = drop;
    this.#announce = announce;
    this.#ended = ended;
  }

  get isCarrying() {
    return this.#carried !== null;
  }

  #pickUp(from) {
    const { frame, layout } = this.#list;
    const row = frame.snapshot.sections[from[0]].rows[from[1]];
    const places = dropPlaces(layout, frame, from);
    const key = frame.keys.sections[from[0]].rows[from[1]].id;
    const place = places.findIndex(({ at }) => at[0] === from[0] && at[1] === from[1]);
    this.#carried = { frame, from, key, row, places, place, start: place, stop: new AbortController() };
    this.#list.content.classList.add("carrying");
    this.#markSections();
    this.#list.element(key)?.toggleAttribute("data-carried", true);
  }

  #markSections() {
    const { frame, from } = this.#carried;
    const { movesTo } = frame.snapshot.sections[from[0]];
    const closed = new Set(frame.snapshot.sections.filter(({ id }) => movesTo !== "anySection" && !movesTo?.includes(id)).map(({ id }) => id));
    for (const element of this.#list.content.children) element.toggleAttribute("data-closed", closed.has(element.dataset.section));
  }

  #carryTo(place) {
    const carried = this.#carried;
    if (place === carried.place || place < 0) return;
    carried.place = place;
    const { at } = carried.places[place];
    this.#list.show(withMovedRow(carried.frame, carried.from, at));
    this.#markSections();
    this.#list.element(carried.key)?.toggleAttribute("data-carried", true);
    const section = carried.frame.snapshot.sections[at[0]];
    const count = section.rowCount + (at[0] === carried.from[0] ? 0 : 1);
    this.#announce(`${sectionName(section)}, ${indexIn(section, at[1]) + 1} of ${count}`);
  }

  #putDown(cancelled) {
    const { frame, from, places, place, start, stop } = this.#carried;
    stop.abort();
    this.#carried = null;
    this.#list.held = null;
    const settle = () => {
      this.#list.content.classList.remove("carrying");
      for (const element of this.#list.content.children) ["data-closed", "data-carried"].forEach((name) => element.removeAttribute(name));
    };
    const to = places[place]?.at;
    if (cancelled || !to || place === start) {
      settle();
      this.#list.show(frame);
    } else {
      this.#list.show(this.#list.frame);
      settle();
      this.#drop(from, to);
    }
    this.#ended();
  }

  /** From `pointerdown` on the handle to the release. `from`: null if the row is gone. */
  byPointer(event, from) {
    if (!from || this.isCarrying || event.button !== 0) return;
    event.preventDefault();
    this.#pickUp(from);
    const carried = this.#carried;
    const { scroller, layout } = this.#list;
    const top = layout.tops[layout.items.findIndex((item) => item.key === carried.key)];
    const grip = event.clientY - this.#list.origin - top;
    const handle = event.target.closest("button");
    handle.setPointerCapture(event.pointerId);
    let pointerY = event.clientY;
    const follow = () => {
      const y = pointerY - this.#list.origin - grip;
      this.#list.held = { key: carried.key, y };
      let best = carried.place;
      carried.places.forEach((place, i) => {
        if (best < 0 || Math.abs(place.y - y) < Math.abs(carried.places[best].y - y)) best = i;
      });
      this.#carryTo(best);
      const element = this.#list.element(carried.key);
      if (element) this.#list.put(element, y);
    };
    // Near an edge, the list scrolls.
    const scroll = () => {
      if (this.#carried !== carried) return;
      const box = scroller.getBoundingClientRect();
      const speed = pointerY < box.top + 56 ? -9 : pointerY > box.bottom - 56 ? 9 : 0;
      if (speed) {
        scroller.scrollTop += speed;
        follow();
      }
      requestAnimationFrame(scroll);
    };
    requestAnimationFrame(scroll);
    const options = { signal: carried.stop.signal };
    handle.addEventListener("pointermove", (event) => {
      pointerY = event.clientY;
      follow();
    }, options);
    handle.addEventListener("pointerup", () => this.#putDown(false), options);
    handle.addEventListener("pointercancel", () => this.#putDown(true), options);
    addEventListener("keydown", (event) => event.key === "Escape" && this.#putDown(true), options);
  }

  /** Space or Enter picks up and drops, arrows move, Escape, Tab or a click cancels. */
  byKey(event, from) {
    const { key } = event;
    if (!this.isCarrying) {
      if (!from || (key !== " " && key !== "Enter")) return;
      this.#pickUp(from);
      // `detail` is 0 for clicks by keyboard.
      const { signal } = this.#carried.stop;
      addEventListener("click", ({ detail }) => detail > 0 && this.cancel(), { capture: true, signal });
      this.#announce("Picked up. Arrow keys move it, Space drops it, Escape cancels.");
    } else if (key === "ArrowUp" || key === "ArrowDown") {
      const { places, place } = this.#carried;
      this.#carryTo(Math.min(Math.max(place + (key === "ArrowUp" ? -1 : 1), 0), places.length - 1));
      this.#list.scrollTo(this.#carried.key);
    } else if (key === " " || key === "Enter") {
      this.#announce("Dropped.");
      this.#putDown(false);
    } else if (key === "Escape" || key === "Tab") {
      this.#announce("Left where it was.");
      this.#putDown(true);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The row goes back. */
  cancel() {
    if (this.isCarrying) {
      this.#carried.place = this.#carried.start;
      this.#putDown(true);
    }
  }
}
