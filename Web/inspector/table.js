import { labelText } from "./cells.js";
import { h } from "./dom.js";
import { Dragging } from "./dragging.js";
import { indexIn } from "./frames.js";
import { ItemMaker } from "./items.js";
import { hiddenSections } from "./layout.js";
import { List } from "./list.js";

/**
 * A session's table: its list, its reactions to pointer and keys, and its edit mode. `actions` contains these functions.
 * `perform(kind, body, options)` sends a command. It resolves to true if the command changed something, and to false if
 * nothing changed. It resolves to the problem's kind if the server refused the command, and to null if there was no
 * answer. `select(row | null)` reports the selected row, `announce(text)` speaks to screen readers, and
 * `needModel(row)` asks the person for the model of a row to insert. `released()` says that `isHeld` may have ended.
 */
export class Table {
  #actions;
  #version = 0;
  /**
   * The input in rows' fields that the server has not answered yet, as `{parameters, isUnsent, drop()}`. The keys
   * combine the row's key and the event's name. The field that shows an input sets its `changed()`.
   */
  #entries = new Map();
  /**
   * The section and id of the selected row. By them, the table finds the row again after the window has left the row
   * and returned.
   */
  #chosen;
  /**
   * "Home" or "End" after this key was pressed, until the first or last row of the table is loaded and can be selected.
   */
  #edge;
  /** The number of drops that the server has not answered. */
  #drops = 0;
  /** The session's description, or null if the page has not read it or may not read it. */
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

  /** Whether the list shows a row where a person carries it or has just dropped it. Updates wait meanwhile. */
  get isHeld() {
    return this.dragging.isCarrying || this.#drops > 0;
  }

  /**
   * Shows a frame: a snapshot with a key for each row. `options` are the options of the list's `show`. With `isMoved`,
   * the table has not changed, but the window shows other rows.
   */
  show(frame, { isMoved = false, ...options } = {}) {
    const isSame = frame === this.frame;
    // Other data may change during a drag, such as the description.
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
    // A window does not contain all sections, so the page cannot tell which sections are hidden.
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

  /**
   * Keeps the selection when the selected row leaves the window and returns. While the row is outside of the window,
   * the Tab key reaches the first row instead.
   */
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
   * A reference to a row, and the base that the reference needs. A unique id, or in a window any id with its section,
   * needs no base. Otherwise the reference contains the row's index in its section, and the base is the displayed
   * revision.
   */
  reference([s, r]) {
    const { sections, revision, window } = this.frame.snapshot;
    const { id } = sections[s].rows[r];
    // In a window, rows with the same id may exist in other sections outside of the window, so the reference contains
    // the section, too.
    if (window && id !== undefined) return { ref: { id, section: sections[s].id }, base: undefined };
    const isUnique = id !== undefined && sections.every((section, i) => section.rows.every((row, j) => row.id !== id || (i === s && j === r)));
    return isUnique ? { ref: { id }, base: undefined } : { ref: this.place([s, r]), base: revision };
  }

  /** A row's section and its index among all rows of the section, including rows outside of the window. */
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

  /**
   * The index path, in the displayed frame, of the row with a key. The result is null if the frame does not contain the
   * row.
   */
  find(key) {
    for (const [s, section] of this.frame?.keys.sections.entries() ?? []) {
      const r = section.rows.findIndex((row) => row.id === key);
      if (r >= 0) return [s, r];
    }
    return null;
  }

  /**
   * The index path, in the displayed frame, of the row of an element, or null if the frame does not contain the row.
   * The row's place in the list may differ while a person drags the row, and after a drop until the server has
   * answered.
   */
  #at(element) {
    return this.find(element.closest(".row").dataset.key);
  }

  /**
   * The index path of a row that a person is about to pick up. If the server has not answered an earlier drop yet, the
   * list first shows the table without this drop.
   */
  #grip(handle) {
    if (!this.dragging.isCarrying && this.list.frame !== this.frame) this.list.show(this.frame, { animated: false });
    return this.#at(handle);
  }

  /** The index, among the list's rows, of the row with the focus. The result is -1 if no row has the focus. */
  #focusedRow() {
    const key = document.activeElement?.closest?.(".item")?.dataset.key;
    return key === undefined || !this.list.content.contains(document.activeElement) ? -1 : this.#rows().findIndex((row) => row.key === key);
  }

  /** Selects the row that has taken the place of the removed row with the focus, or the last row. */
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

  /** Toggles the Delete button of a row, and hides the Delete buttons of all other rows. With null, all are hidden. */
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
   * Sends a cell event. A field shows the person's input before the server agrees; after a refusal, the field shows the
   * old value again.
   * An input without an answer stays, marked as not sent, until the person sends it again, discards it or enters
   * something else.
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
    // If the person has typed more since, the field keeps its focus, and its row is replaced when it loses the focus.
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

  /**
   * Handles a key while the row with the focus is outside of the window and the list has the focus. The keys then
   * continue from the visible rows.
   */
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

  /** Whether the table's first row (for "Home") or last row (for "End") is loaded. */
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

/**
 * The schema of each event, by the cell's name and the event's name. If the description declares no cells, these are
 * the events with a handler, and any parameters are allowed.
 */
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
