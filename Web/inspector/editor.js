import { button, coloured, compactJSON, h } from "./dom.js";
import { lineOf, located, parsed, readText } from "./pointers.js";
import { Screen } from "./screen.js";
import { confirmed, copyButton, problemToast, toast, untilAnswered } from "./toasts.js";

const newDescription = {
  table: "untitled",
  sections: ["todo", "done"],
  cells: { TitleDetailCell: {} },
  bindings: [{
    on: "allOtherSections",
    cell: "TitleDetailCell",
    models: { todo: [{ id: "milk", title: "Buy milk" }, { id: "bread", title: "Bake bread" }], done: [{ id: "water", title: "Water the plants" }] },
    viewModel: { title: "${model.title}" },
    headers: { todo: "TO DO", done: "DONE" },
    editing: "delete",
    moving: { to: "anySection" },
  }],
};
const pause = 250;
/** Seconds after which the server ends an unused preview, for example of a browser that died. */
const previewTime = 900;
/** Milliseconds before asking a silent server again. */
const patience = 2000;

/** Edits a description: marks its faults, and shows it as a session. */
export class Editor {
  #app;
  #preview = null;
  #waiting;
  /** Counts changes; answers to earlier texts are ignored. */
  #asked = 0;
  /** The text last read or saved, and the registered name; null for a new description. */
  #read = "";
  #name;
  /** Aborted by a later save: repeating an older one would overwrite it. */
  #saving;

  /** `name`: null for a new description. */
  constructor(app, name) {
    this.#app = app;
    this.#name = name;
    this.mirror = h("pre", { class: "mirror", "aria-hidden": "true" });
    this.gutter = h("div", { class: "gutter", "aria-hidden": "true" });
    this.area = h("textarea", {
      class: "source",
      spellcheck: false,
      autocomplete: "off",
      wrap: "off",
      "aria-label": "Table description",
      "aria-describedby": "faults",
      // While it loads.
      readOnly: true,
      on: { input: () => this.#changed(), keydown: (event) => this.#key(event) },
    });
    this.faults = h("ol", { class: "faults", id: "faults", "aria-live": "polite" });
    this.state = h("span", { class: "status", role: "status" });
    this.save = button("Save", () => this.#save(), { kind: "small" });
    this.apply = button("Save and apply", () => this.#save({ applies: true }), { kind: "primary small" });
    this.curl = copyButton(() => app.server.curl(this.#request()));
    this.place = h("div", { class: "preview" });
    this.deletion = button("Delete", () => this.#delete(), { kind: "small destructive" });
    this.deletion.hidden = name === null;
    app.main.replaceChildren(
      h(
        "section",
        { class: "editor", "aria-label": "Table description" },
        h("header", { class: "bar" }, this.state, h("div", { class: "bar-buttons" }, this.deletion, this.curl, this.save, this.apply)),
        h("div", { class: "source-place" }, this.gutter, h("div", { class: "source-stack" }, this.mirror, this.area)),
        this.faults,
      ),
    );
    app.panel.replaceChildren(h("h2", { class: "panel-title" }, "Preview"), this.place);
    this.#load();
  }

  close() {
    clearTimeout(this.#waiting);
    this.closed = true;
    window.onbeforeunload = null;
    this.#endPreview();
  }

  /** The text counts as saved. */
  giveUp() {
    this.#read = this.area.value;
  }

  asked() {}

  async #load() {
    try {
      const description = this.#name === null ? newDescription : await this.#app.server.client.tables.get(this.#name);
      this.area.value = this.#read = readable(description);
      if (!this.closed) this.#changed();
    } catch (error) {
      problemToast(error);
    } finally {
      this.area.readOnly = false;
    }
  }

  /** Has unsaved text. */
  get isWritten() {
    return this.area.value !== this.#read;
  }

  /** After a new token, or when the browser restores the page from its cache. */
  checkAgain() {
    this.closed = false;
    this.#changed();
  }

  /** The text must be JSON. */
  #request() {
    const body = JSON.parse(this.area.value);
    return { method: "PUT", path: `/v1/tables/${encodeURIComponent(body.table)}`, headers: { "Content-Type": "application/json" }, body };
  }

  #changed() {
    this.#asked++;
    this.#draw([]);
    this.#guard();
    this.state.textContent = "Checking…";
    this.save.disabled = this.apply.disabled = this.curl.disabled = true;
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#check(), pause);
  }

  /** Only with unsaved text: a `beforeunload` handler can keep a page out of the back/forward cache. */
  #guard() {
    window.onbeforeunload = this.isWritten ? (event) => event.preventDefault() : null;
  }

  async #check() {
    const asked = this.#asked;
    const { server } = this.#app;
    const text = this.area.value;
    let description;
    try {
      description = parsed(text);
    } catch ({ fault }) {
      return this.#tell([fault]);
    }
    const placed = (faults, isWarning) => {
      const { places } = readText(text);
      return faults.map((fault) => ({ ...fault, ...located(places, fault.pointer), isWarning }));
    };
    let warnings;
    try {
      ({ warnings = [] } = await server.client.tables.validate(description));
    } catch (error) {
      if (asked !== this.#asked || this.closed) return;
      if (!error.status) {
        this.state.textContent = "The server does not answer";
        this.#waiting = setTimeout(() => this.#check(), patience);
        return;
      }
      return this.#tell(placed(error.errors.length > 0 ? error.errors : [{ pointer: "", detail: error.message }], false));
    }
    if (asked !== this.#asked || this.closed) return;
    this.#tell(placed(warnings, true));
    await this.#showPreview(description, asked);
  }

  /** Only warnings: still valid. */
  #tell(faults) {
    this.#draw(faults);
    const isValid = faults.every(({ isWarning }) => isWarning);
    const counted = (word) => `${faults.length} ${word}${faults.length === 1 ? "" : "s"}`;
    this.state.textContent = !isValid ? counted("fault") : faults.length ? `Valid, ${counted("warning")}` : "Valid";
    this.state.dataset.status = isValid ? "live" : "faulty";
    this.save.disabled = this.apply.disabled = this.curl.disabled = !isValid;
    this.faults.replaceChildren(
      ...faults.map((fault) =>
        h(
          "li",
          { class: fault.isWarning ? "warning" : "" },
          h(
            "button",
            { type: "button", on: { click: () => this.#goTo(fault) } },
            h("span", { class: "line" }, `line ${lineOf(this.area.value, fault.start)}`),
            fault.pointer !== undefined && h("code", {}, fault.pointer || "the whole"),
            h("span", {}, fault.detail),
          ),
        )
      ),
    );
  }

  #goTo({ start, end }) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
  }

  /** Colored text behind the transparent text area; a fault is marked on its first line. */
  #draw(faults) {
    const text = this.area.value;
    const parts = [];
    let from = 0;
    for (const { start, end, isWarning } of [...faults].sort((a, b) => a.start - b.start)) {
      if (start < from) continue;
      const lineEnd = text.indexOf("\n", start);
      const to = Math.max(start, Math.min(end, lineEnd < 0 ? text.length : lineEnd));
      parts.push(...coloured(text.slice(from, start)), h("mark", { class: isWarning ? "warning" : "" }, coloured(text.slice(start, to))));
      from = to;
    }
    this.mirror.replaceChildren(...parts, ...coloured(text.slice(from)), "\n");
    const lines = text.split("\n").length;
    const marks = new Map(faults.map(({ start, isWarning }) => [lineOf(text, start), isWarning ? "warning" : "faulty"]));
    this.gutter.replaceChildren(...Array.from({ length: lines }, (_, i) => h("div", { class: marks.get(i + 1) ?? "" }, String(i + 1))));
  }

  #key(event) {
    if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!this.save.disabled) this.#save();
    }
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      const { value, selectionStart } = this.area;
      const indent = /^[ \t]*/.exec(value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1))[0];
      const deeper = "{[".includes(value[selectionStart - 1] ?? "x") ? "  " : "";
      // Keeps the undo history.
      document.execCommand("insertText", false, `\n${indent}${deeper}`);
    }
  }

  /** A new version if it changed. `applies`: existing sessions get it, too. */
  async #save({ applies = false } = {}) {
    const request = this.#request();
    const { body } = request;
    const text = this.area.value;
    const curl = this.#app.server.curl(request);
    this.#saving?.abort();
    const { signal } = this.#saving = new AbortController();
    try {
      const { version } = await untilAnswered(() => this.#app.server.perform(request), { curl, signal });
      [this.#read, this.#name] = [text, body.table];
      if (applies) await this.#apply(body.table, version);
      else toast("Saved", { detail: `Sessions that are opened from now on are of this version of "${body.table}".` });
      this.#app.sessionsChanged();
      if (this.closed) return;
      this.deletion.hidden = false;
      this.#guard();
      this.#app.go(`tables/${encodeURIComponent(body.table)}`, { quietly: true });
    } catch (error) {
      problemToast(error, curl);
    }
  }

  /** A session that would lose models or titles keeps its version unless the person agrees. */
  async #apply(table, version) {
    const { server } = this.#app;
    const bind = (id, body) => server.perform(server.command(id, "table", body, {}));
    const staying = [];
    let [bound, after] = [0];
    do {
      const page = await server.client.sessions.list({ table, after, limit: 1000 });
      after = page.next;
      // Without `tableVersion`, it has a description of its own.
      for (const { id } of page.sessions.filter(({ tableVersion }) => tableVersion !== undefined && tableVersion !== version)) {
        try {
          await bind(id, { version });
          bound++;
        } catch (error) {
          if (error.kind !== "models-do-not-fit") throw error;
          staying.push({ id, error });
        }
      }
    } while (after !== undefined);
    toast("Saved and applied", { detail: `${sessions(bound)} of "${table}" ${bound === 1 ? "has" : "have"} version ${version} now.` });
    if (staying.length === 0) return;
    const losses = staying.map(({ id, error }) => `${id}: ${error.errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; ")}`);
    const loses = await confirmed(`${sessions(staying.length)} would lose something`, losses.slice(0, 8).join("\n"), "Lose it");
    if (!loses) return;
    for (const { id, error } of staying) {
      const discard = [...new Set(error.errors.map(({ pointer }) => sectionOf(pointer)))];
      await bind(id, { version, discard });
    }
  }

  async #delete() {
    const name = this.#name;
    if (!await confirmed("Delete the description?", `No session can be opened of "${name}" any more.`, "Delete it")) return;
    try {
      await this.#app.server.client.tables.delete(name);
      this.#app.sessionsChanged();
      if (this.closed) return;
      this.giveUp();
      this.#app.go("");
    } catch (error) {
      problemToast(error);
    }
  }

  async #showPreview(description, asked) {
    const { server } = this.#app;
    const id = server.previewID();
    this.#app.previews.add(id);
    try {
      await server.client.sessions.open({ table: description, id, endIfUnused: previewTime });
      if (asked !== this.#asked || this.closed) return void server.end(id);
      this.#endPreview();
      // The server has ended it after a long time in a hidden tab.
      this.#preview = new Screen(server, id, { ended: (screen) => screen === this.#preview && this.#changed() });
      this.#preview.element.querySelector("h1").textContent = description.table;
      this.place.replaceChildren(this.#preview.element);
    } catch (error) {
      if (asked !== this.#asked || this.closed) return;
      this.#endPreview();
      this.place.replaceChildren(h("p", { class: "fault" }, error.detail ?? "No session of it could be opened."));
    }
  }

  /** `keepalive`: sent even while the page is left. */
  #endPreview() {
    const preview = this.#preview;
    if (!preview) return;
    preview.close();
    this.#app.server.end(preview.id);
    this.#preview = null;
  }
}

const sessions = (count) => `${count} session${count === 1 ? "" : "s"}`;
/** The first token of a pointer into models by section. */
const sectionOf = (pointer) => pointer.split("/")[1].replaceAll("~1", "/").replaceAll("~0", "~");

const readable = (description) => compactJSON(description, { width: 110 });
