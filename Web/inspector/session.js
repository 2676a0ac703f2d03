import { button, h, isHeld, jsonBlock, shortened } from "./dom.js";
import { Console } from "./console.js";
import { People } from "./people.js";
import { RowPanel } from "./row.js";
import { Screen } from "./screen.js";
import { confirmed, copy, copyButton, problemToast, toast, untilAnswered } from "./toasts.js";
import { UpdatesPanel } from "./updates.js";

const panelPause = 150;
const textFields = "textarea, select, input:not([type=range], [type=checkbox])";

/** A session's screen and panels. `app`: `{server, main, panel, sidebar, go(path), refused(), sessionsChanged()}`. */
export class SessionView {
  constructor(app, id) {
    this.app = app;
    this.updates = new UpdatesPanel();
    this.row = new RowPanel();
    this.session = h("div", { class: "panel-content" });
    this.requests = h("div", { class: "panel-content" });
    this.screen = new Screen(app.server, id, {
      changed: () => this.#show(),
      selected: () => {
        this.people?.moveTo(this.#chosenRow());
        this.#show();
      },
      ended: (_, problem) => this.#ended(problem),
      present: (present) => this.people.show(present),
    }, [this.#menu(id)]);
    this.people = new People(app.server, this.screen, this.#show);
    this.screen.buttons.prepend(this.people.element);
    document.addEventListener("keydown", this.#key);
    this.console = new Console(this.screen);
    this.panels = { Updates: this.updates.element, Row: this.row.element, Session: this.session, Requests: this.requests };
    this.tabs = h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Panels", on: { keydown: (event) => this.#tabKey(event) } },
      Object.keys(this.panels).map((name) =>
        h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel-body", on: { click: () => this.choose(name) } }, name)
      ),
    );
    this.body = h("div", { class: "panel-body", id: "panel-body", role: "tabpanel" });
    app.main.replaceChildren(this.screen.element);
    app.panel.replaceChildren(this.tabs, this.body);
    this.choose("Updates");
  }

  close() {
    this.closed = true;
    clearTimeout(this.drawing);
    document.removeEventListener("keydown", this.#key);
    this.people.close();
    this.screen.close();
  }

  /** Without an id, others could not find it. */
  #chosenRow() {
    const { table, selected } = this.screen;
    const [s, r] = table.find(selected) ?? [];
    const { id: section, rows } = table.frame.snapshot.sections[s] ?? {};
    return rows?.[r].id === undefined ? undefined : { id: rows[r].id, section };
  }

  /** Undo and redo, where the browser has none of its own. */
  #key = (event) => {
    const { key, ctrlKey, metaKey, shiftKey, altKey, repeat, target } = event;
    const kind = altKey ? undefined : { z: (ctrlKey || metaKey) && (shiftKey ? "redo" : "undo"), y: ctrlKey && !shiftKey && "redo" }[key?.toLowerCase()];
    const { mayUndo, timeline, isEnded, table } = this.screen;
    if (!kind || !mayUndo || isEnded || !timeline.isLive || table.isHeld) return;
    if (target.matches(textFields) || document.querySelector("dialog")) return;
    event.preventDefault();
    if (!repeat) this.screen.takeBack(kind, { last: "mine" });
  };

  asked() {
    if (this.chosen === "Requests") this.#show();
  }

  choose(name) {
    this.chosen = name;
    for (const tab of this.tabs.children) {
      const isChosen = tab.textContent === name;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    this.body.setAttribute("aria-labelledby", `tab-${name}`);
    this.body.replaceChildren(this.panels[name]);
    this.#show();
  }

  #tabKey({ key, target }) {
    const next = {
      ArrowRight: target.nextElementSibling ?? this.tabs.firstElementChild,
      ArrowLeft: target.previousElementSibling ?? this.tabs.lastElementChild,
    }[key];
    if (!next) return;
    this.choose(next.textContent);
    next.focus();
  }

  /** At most every `panelPause` milliseconds. */
  #show = () => {
    this.drawing ??= setTimeout(() => {
      this.drawing = undefined;
      this.#draw();
      this.drawn = performance.now();
    }, Math.max(0, (this.drawn ?? 0) + panelPause - performance.now()));
  };

  /** Only the visible panel. */
  #draw() {
    const { screen } = this;
    if (!screen?.snapshot || !this.body || isHeld(this.body, this.#show)) return;
    this.app.sidebar.count(screen.id, screen.timeline.last.frame.snapshot.totalRowCount);
    if (this.chosen === "Updates") this.updates.show(screen, this.people.me);
    if (this.chosen === "Row") this.row.show(screen);
    if (this.chosen === "Session") this.#showSession();
    if (this.chosen === "Requests") this.#showRequests();
  }

  #showSession() {
    const { session, table, epoch, revision, totalRowCount, state, sections, window } = this.screen.snapshot;
    const facts = { id: session, table: table ?? "none", epoch, revision, rows: totalRowCount };
    if (window) facts.window = `${sections.reduce((sum, { rows }) => sum + rows.length, 0)} rows from ${window.offset}`;
    else facts.sections = sections.length;
    this.console.show();
    const parts = [
      h("dl", { class: "facts" }, Object.entries(facts).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))])),
      h("h3", {}, "State"),
      jsonBlock(state, "State"),
      h("h3", {}, "Send a command"),
    ];
    // Stays in the page, to keep its text.
    if (this.console.element.parentNode !== this.session) this.session.replaceChildren(h("div", {}), this.console.element);
    this.session.firstElementChild.replaceChildren(...parts);
  }

  #showRequests() {
    const { server } = this.app;
    const items = server.asked.map(({ request, error, took }) =>
      h(
        "li",
        { class: error ? "refused" : "" },
        h(
          "div",
          { class: "request" },
          h("code", {}, request.method),
          h("span", { class: "path" }, decodeURIComponent(request.path)),
          h("span", { class: "took" }, `${took.toFixed(0)} ms`),
          copyButton(() => server.curl(request)),
        ),
        request.body !== undefined && h("pre", { class: "body" }, shortened(JSON.stringify(request.body), 2000)),
        error && h("p", { class: "fault" }, error.message),
      )
    );
    this.requests.replaceChildren(
      items.length
        ? h("ol", { class: "requests" }, items)
        : h("p", { class: "note" }, "What this page asks the server to do stands here, each request to be copied as curl."),
    );
  }

  #menu(id) {
    const check = (label, change) =>
      h("label", { class: "menu-item" }, h("input", { type: "checkbox", on: { change: ({ target }) => change(target.checked) } }), label);
    const item = (label, action, kind = "") =>
      h("button", {
        type: "button",
        class: `menu-item ${kind}`,
        on: {
          click: () => {
            menu.hidePopover();
            action();
          },
        },
      }, label);
    const { server } = this.app;
    const copyRead = (what, headers) => copy(server.curl({ method: "GET", path: `${this.screen.path}/${what}${this.screen.query}`, headers }));
    const menu = h(
      "div",
      { class: "menu", popover: "auto", id: "session-menu" },
      check("Show hidden sections", (shows) => this.screen.setShowsHidden(shows)),
      check("Report displayed rows", (reports) => this.screen.setReports(reports)),
      h("hr"),
      item("Reset to the opening", () => this.#reset()),
      item("Copy the snapshot as curl", () => copyRead("snapshot")),
      item("Copy the stream of updates as curl", () => copyRead("updates", { Accept: "text/event-stream" })),
      item("Edit its description", () => this.#editDescription()),
      h("hr"),
      item("End the session…", () => this.#delete(id), "destructive"),
    );
    return h(
      "div",
      { class: "menu-place" },
      button("More", () => {}, { icon: "icon-more", iconOnly: true, kind: "plain", popoverTargetElement: menu }),
      menu,
    );
  }

  #editDescription() {
    const table = this.screen.snapshot?.table;
    if (table) this.app.go(`tables/${encodeURIComponent(table)}`);
    else toast("It was opened without a description");
  }

  #reset() {
    this.screen.perform("reset", undefined);
  }

  async #delete(id) {
    if (!await confirmed("End the session?", `The session "${id}", its models and its journal are deleted.`, "End it")) return;
    let isRepeated = false;
    try {
      await untilAnswered(() => this.app.server.perform({ method: "DELETE", path: this.screen.path }), { failed: () => (isRepeated = true) });
    } catch (error) {
      // An earlier attempt has ended it.
      if (!(error.status === 404 && (isRepeated || error.tries > 1))) return problemToast(error);
    }
    this.app.sessionsChanged();
    if (!this.closed) this.app.go("");
  }

  #ended(problem) {
    if (problem?.status === 401) return this.app.refused();
    if (problem) problemToast(problem);
    this.app.sessionsChanged();
    if (!this.screen.snapshot) {
      this.screen.scroller.append(h("div", { class: "empty-table" }, h("p", {}, problem?.detail ?? "There is no such session.")));
    }
  }
}
