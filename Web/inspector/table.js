import { labelText } from "./cells.js";
import { h } from "./dom.js";
import { Dragging } from "./dragging.js";
import { indexIn } from "./frames.js";
import { ItemMaker } from "./items.js";
import { hiddenSections } from "./layout.js";
import { List } from "./list.js";

/**
 * A session's table: list, pointer, keys, edit mode. `actions`:
 * - `perform(kind, body, options)`: true if something changed, false if not, a refusal's kind, null without an answer
 * - `select(key | null)`, `announce(text)`, `released()` (`isHeld` may have ended)
 * - `needModel(model)`: asks for the model of a row to insert; `model` is a suggestion
 */
export class Table {
  #actions;
  #version = 0;
  /**
   * Unanswered input: `{parameters, isUnsent, drop()}` by row key and event; the field that shows it sets `changed()`.
   */
  #entries = new Map();
  /** The selected row's section and id, to find it again when the window returns. */
  #chosen;
  /** "Home" or "End", until that row is loaded. */
  #edge;
  /** Not answered yet. */
  #drops = 0;
  /** Null until read, or if not allowed. */
  description = null;
  readOnly = false;
  editing = false;
  showsHidden = false;

  constructor(scroller, label, actions) {
    this.#actions = actions;
    this.items = new ItemMaker((key) => this.list.forget(key), () => this.list.show(this.list.frame, { animated: false }));
    this.list = new List(scroller, label, this.items.make);
    this.dragging = new Dragging(this.list, { announce: actions.announce, drop: (from, to) => this.#drop(from, to), ended: actions.released });
    this.empty = h("div", { class: "empty-table", hidden: true });
    scroller.append(this.empty);
    const { content } = this.list;
    content.addEventListener("click", (event) => this.#click(event));
    content.addEventListener("keydown", (event) => this.#key(event));
    content.addEventListener("pointerdown", (event) => {
      const handle = event.target.closest(".handle");
      if (handle && !handle.disabled) this.dragging.byPointer(event, this.#grip(handle));
    });
  }

  close() {
    this.list.close();
  }

  /** A row is carried or was just dropped; updates wait. */
  get isHeld() {
    return this.dragging.isCarrying || this.#drops > 0;
  }

  /** `options`: of the list's `show`. `isMoved`: the same table, another window. */
  show(frame, { isMoved = false, ...options } = {}) {
    const isSame = frame === this.frame;
    // The description, for example, may change during a drag.
    if (!isSame || this.readOnly) this.dragging.cancel();
    this.frame = frame;
    const { sections, state } = frame.snapshot;
    const behaves = JSON.stringify([state, this.readOnly, Boolean(this.description)]);
    if (behaves !== this.behaves) this.#version++;
    this.behaves = behaves;
    this.items.context = {
      version: this.#version,
      sections,
      state,
      readOnly: this.readOnly,
      send: (element, event, parameters) => this.#send(element, event, parameters),
      entry: (key, event) => this.#entries.get(entryName(key, event)),
      events: this.description ? cellEvents(this.description) : null,
      display: this.description && !this.readOnly && (this.description.sectionDisplay?.behavior ?? "manuallyManaged") === "manuallyManaged"
        ? (id) => this.#display(id)
        : null,
    };
    // A window does not tell which sections are hidden.
    this.list.hidden = this.showsHidden && !frame.snapshot.window ? hiddenSections(this.description, frame.snapshot) : new Map();
    this.#keepSelection();
    const focused = this.#focusedRow();
    this.list.show(isSame ? this.list.frame : frame, options);
    if (focused >= 0 && !this.list.content.contains(document.activeElement)) {
      if (isMoved) this.list.content.focus({ preventScroll: true });
      else this.#focusRow(focused);
    }
    this.#selectEdge();
    this.#showEmpty(frame.snapshot);
  }

  /** Across the window's leaving and returning; meanwhile Tab reaches the first row. */
  #keepSelection() {
    const { snapshot, keys } = this.frame;
    const { items } = this;
    if (this.find(items.selected)) return;
    const wasSelected = items.isSelected;
    items.selected = keys.sections.find(({ rows }) => rows.length > 0)?.rows[0].id ?? null;
    items.isSelected = false;
    if (!snapshot.window || !this.#chosen) return;
    const s = snapshot.sections.findIndex(({ id }) => id === this.#chosen.section);
    const r = snapshot.sections[s]?.rows.findIndex(({ id }) => id === this.#chosen.id) ?? -1;
    if (r < 0) return;
    items.selected = keys.sections[s].rows[r].id;
    items.isSelected = true;
    if (!wasSelected) this.#actions.select(items.selected);
  }

  refresh() {
    this.behaves = null;
    if (this.frame) this.show(this.frame, { animated: false });
  }

  setEditing(editing) {
    this.editing = editing;
    this.list.content.classList.toggle("editing", editing);
    this.#confirm(null);
    this.list.remeasure();
  }

  /**
   * `{ref, base}`: a unique id (in a window, an id and section) needs no base; otherwise index and displayed revision.
   */
  reference([s, r]) {
    const { sections, revision, window } = this.frame.snapshot;
    const { id } = sections[s].rows[r];
    // The same id may be in sections outside of the window.
    if (window && id !== undefined) return { ref: { id, section: sections[s].id }, base: undefined };
    const isUnique = id !== undefined && sections.every((section, i) => section.rows.every((row, j) => row.id !== id || (i === s && j === r)));
    return isUnique ? { ref: { id }, base: undefined } : { ref: this.place([s, r]), base: revision };
  }

  /** Among all rows of the section. */
  place([s, r]) {
    const section = this.frame.snapshot.sections[s];
    return { section: section.id, row: indexIn(section, r) };
  }

  select(key, focus = true) {
    const [s, r] = this.find(key) ?? [];
    const { sections } = this.frame.snapshot;
    this.#chosen = { section: sections[s]?.id, id: sections[s]?.rows[r].id };
    if (this.#chosen.id === undefined) this.#chosen = undefined;
    this.#edge = undefined;
    const previous = this.list.element(this.items.selected);
    this.items.selected = key;
    this.items.isSelected = true;
    for (const element of [previous, this.list.element(key)]) {
      if (!element) continue;
      const isSelected = element.dataset.key === key;
      element.tabIndex = isSelected ? 0 : -1;
      element.setAttribute("aria-selected", String(isSelected));
      if (isSelected && focus) element.focus({ preventScroll: true });
    }
    this.#actions.select(key);
  }

  /** Null if not here. */
  find(key) {
    for (const [s, section] of this.frame?.keys.sections.entries() ?? []) {
      const r = section.rows.findIndex((row) => row.id === key);
      if (r >= 0) return [s, r];
    }
    return null;
  }

  /** Of a row's id, and of its section if several have that id; null if not here. */
  placeOf({ id, section }) {
    for (const [s, { id: name, rows }] of this.frame?.snapshot.sections.entries() ?? []) {
      const r = (section ?? name) === name ? rows.findIndex((row) => row.id === id) : -1;
      if (r >= 0) return [s, r];
    }
    return null;
  }

  /** In the displayed frame, not where a drag shows it; null if not here. */
  #at(element) {
    return this.find(element.closest(".row").dataset.key);
  }

  /** Before another drag, an unanswered drop is taken back from the list. */
  #grip(handle) {
    if (!this.dragging.isCarrying && this.list.frame !== this.frame) this.list.show(this.frame, { animated: false });
    return this.#at(handle);
  }

  /** Among the list's rows; -1 for none. */
  #focusedRow() {
    const key = document.activeElement?.closest?.(".item")?.dataset.key;
    return key === undefined || !this.list.content.contains(document.activeElement) ? -1 : this.#rows().findIndex((row) => row.key === key);
  }

  /** The row in the removed one's place, or the last. */
  #focusRow(index) {
    const rows = this.#rows();
    const row = rows[Math.min(index, rows.length - 1)];
    if (row) this.select(row.key);
  }

  #rows() {
    return this.list.layout.items.filter((item) => item.kind === "row");
  }

  #click(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const place = this.#at(element);
    if (!place) return;
    if (event.target.closest(".minus")) return this.#confirm(element);
    if (event.target.closest(".delete")) {
      element.focus();
      return this.#delete(place);
    }
    if (event.target.closest(".plus")) return this.#insert(place);
    if (event.target.closest("input, button")) return this.select(element.dataset.key, false);
    this.#confirm(null);
    this.select(element.dataset.key);
    this.#tap(place);
  }

  /** Toggles a row's Delete button, hides all others; null hides all. */
  #confirm(element) {
    for (const other of this.list.content.querySelectorAll("[data-confirming]")) if (other !== element) other.removeAttribute("data-confirming");
    if (element?.toggleAttribute("data-confirming")) element.querySelector(".delete").focus();
  }

  #tap(place) {
    if (!place || this.readOnly || this.editing) return;
    const { ref, base } = this.reference(place);
    this.#actions.perform("taps", { at: ref }, { base });
  }

  #delete(place) {
    const { ref, base } = this.reference(place);
    this.#confirm(null);
    this.#actions.perform("edits", { delete: ref }, { base });
  }

  async #insert([s, r]) {
    const section = this.frame.snapshot.sections[s];
    const { model } = section.rows[r];
    const ref = this.place([s, r]);
    const base = this.frame.snapshot.revision;
    const outcome = await this.#actions.perform("edits", { insert: ref }, { base, quiet: "model-required" });
    if (outcome !== "model-required") return;
    const given = await this.#actions.needModel(model);
    if (given !== undefined) this.#actions.perform("edits", { insert: ref, model: given }, { base });
  }

  async #drop(from, to) {
    const { revision } = this.frame.snapshot;
    const { ref } = this.reference(from);
    const body = { from: ref, to: this.place(to) };
    const goBack = () => this.dragging.isCarrying || this.list.show(this.frame);
    let isWaiting = true;
    this.#drops++;
    const answered = () => {
      if (!isWaiting) return;
      isWaiting = false;
      this.#drops--;
      this.#actions.released();
    };
    const failed = () => {
      goBack();
      answered();
    };
    if (await this.#actions.perform("moves", body, { base: revision, failed }) !== true) goBack();
    answered();
  }

  /**
   * The field shows the input at once, and the old value again after a refusal. Without an answer, the input stays,
   * marked, until it is sent, discarded or replaced.
   */
  async #send(element, event, parameters) {
    const place = this.#at(element);
    if (!place) return;
    const { ref, base } = this.reference(place);
    const entered = document.activeElement?.value;
    const name = entryName(element.closest(".row").dataset.key, event);
    this.#entries.get(name)?.drop();
    const replaced = new AbortController();
    const entry = { parameters, isUnsent: false, drop: () => this.#entries.delete(name) && replaced.abort() };
    this.#entries.set(name, entry);
    const failed = () => {
      entry.isUnsent = true;
      entry.changed?.();
    };
    const done = await this.#actions.perform("events", { at: ref, event: { [event]: parameters } }, { base, failed, signal: replaced.signal });
    if (done === null || this.#entries.get(name) !== entry) return;
    this.#entries.delete(name);
    entry.changed?.();
    if (done === true) return;
    // If more was typed, the focus stays, and the row is replaced at blur.
    if (element.contains(document.activeElement) && document.activeElement.value === entered) document.activeElement.blur();
    this.refresh();
  }

  #display(id) {
    const declared = this.description.sections;
    const displayed = new Set([...this.frame.snapshot.sections.map((section) => section.id), id]);
    this.#actions.perform("displayedSections", Array.isArray(declared) ? declared.filter((id) => displayed.has(id)) : [...displayed]);
  }

  #key(event) {
    const element = event.target.closest(".row");
    if (!element) return this.#keyOnList(event);
    const handle = event.target.closest(".handle");
    if (handle) this.dragging.byKey(event, this.#grip(handle));
    if (event.defaultPrevented || event.target.matches("input") || this.dragging.isCarrying) return;
    if (event.key === "Escape" && element.hasAttribute("data-confirming")) {
      this.#confirm(null);
      element.querySelector(".minus").focus();
    }
    const isOnRow = event.target === element;
    if (isOnRow && (event.key === "Enter" || event.key === " ")) this.#tap(this.#at(element));
    else if (isOnRow && ["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) this.#step(element.dataset.key, event.key);
    else return;
    event.preventDefault();
  }

  /** The focused row is outside of the window: continue from the visible rows. */
  #keyOnList(event) {
    if (event.target !== this.list.content || !["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    const [row] = this.list.visibleRows();
    if (event.key === "Home" || event.key === "End") this.#step(row?.key, event.key);
    else if (row) this.select(row.key);
    event.preventDefault();
  }

  #step(key, direction) {
    const rows = this.#rows();
    if ((direction === "Home" || direction === "End") && !this.#isKnown(direction)) {
      this.#edge = direction;
      return this.list.scrollToEdge(direction === "End");
    }
    const i = rows.findIndex((row) => row.key === key);
    const next = { ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: rows.length - 1 }[direction];
    if (!rows[next]) return;
    this.list.scrollTo(rows[next].key);
    this.select(rows[next].key);
  }

  /** Its row is loaded. */
  #isKnown(edge) {
    const { items } = this.list.layout;
    return (edge === "Home" ? items.find(isRowOrGap) : items.findLast(isRowOrGap))?.kind !== "gap";
  }

  #selectEdge() {
    const edge = this.#edge;
    if (!edge || !this.#isKnown(edge)) return;
    this.#edge = undefined;
    this.#step(undefined, edge);
  }

  #showEmpty({ empty, totalRowCount }) {
    this.empty.hidden = totalRowCount > 0;
    this.empty.replaceChildren(h("p", {}, labelText(empty?.title, empty?.text, empty, "No rows")));
  }
}

const isRowOrGap = ({ kind }) => kind === "row" || kind === "gap";
const entryName = (key, event) => JSON.stringify([key, event]);

/** Event schemas by cell and event. Without declared cells: events with a handler, any parameters. */
function cellEvents({ cells, bindings = [] }) {
  if (cells) return Object.fromEntries(Object.entries(cells).map(([cell, { events }]) => [cell, events ?? {}]));
  const handled = {};
  for (const { cell, onEvent = {} } of bindings) {
    for (const [name, value] of Object.entries(onEvent).filter(([name]) => name !== "$comment" && name !== "$schema")) {
      const isOfCell = typeof value === "object" && !Array.isArray(value);
      for (const event of isOfCell ? Object.keys(value) : [name]) (handled[isOfCell ? name : cell] ??= {})[event] = {};
    }
  }
  return handled;
}
