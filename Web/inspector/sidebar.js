import { button, h, isHeld, symbol } from "./dom.js";
import { copy, dialog, problemToast, untilAnswered } from "./toasts.js";

const atOnce = 100;
const shownAtOnce = 500;

/** Sessions and descriptions. `app`: `{server, path, previews, go(path), refused()}`. */
export class Sidebar {
  #app;
  /** Of the next page; `undefined` if all are listed. */
  #next;
  #loading;
  #reading = false;
  /** Until read, nothing says that there are none. */
  #known = false;
  #sessions = [];
  #tables = [];

  constructor(app, element) {
    this.#app = app;
    this.search = h("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search sessions and tables",
      on: { input: () => this.#shownAnew() },
    });
    this.list = h("div", { class: "sidebar-lists" });
    // Made once, to keep the focus when lists are replaced.
    const plus = { icon: "icon-plus", iconOnly: true, kind: "plain" };
    this.opening = button("Open a session", () => this.#open(), plus);
    this.describing = button("New description", () => app.go("new-table"), plus);
    this.more = button("More sessions", () => this.#more(), { kind: "small" });
    element.append(h("div", { class: "search" }, this.search), this.list);
  }

  /** Again, as many sessions as before. */
  async load() {
    const { client } = this.#app.server;
    const loading = this.#loading = {};
    try {
      const tables = await client.tables.list();
      let page = await client.sessions.list({ limit: atOnce });
      const { sessions } = page;
      while (page.next !== undefined && sessions.length < this.#sessions.length) {
        page = await client.sessions.list({ limit: atOnce, after: page.next });
        sessions.push(...page.sessions);
      }
      if (loading !== this.#loading) return;
      [this.#tables, this.#sessions, this.#next] = [tables, sessions, page.next];
    } catch (error) {
      if (loading !== this.#loading) return;
      if (error.status === 401) return this.#app.refused();
      if (error.status !== 403) {
        problemToast(error);
        return this.#shownAnew();
      }
      // A token for one session may not list.
      [this.#tables, this.#sessions, this.#next] = [[], [], undefined];
    }
    this.#known = true;
    this.#shownAnew();
  }

  /** The next page; all of them during a search. */
  async #more() {
    if (this.#reading || this.#next === undefined) return;
    this.#reading = true;
    try {
      do {
        const sessions = this.#sessions;
        const page = await this.#app.server.client.sessions.list({ limit: atOnce, after: this.#next });
        // Of a list that was replaced meanwhile.
        if (sessions !== this.#sessions) continue;
        sessions.push(...page.sessions);
        this.#next = page.next;
        this.show();
      } while (this.#next !== undefined && this.search.value);
    } catch (error) {
      problemToast(error);
    } finally {
      this.#reading = false;
    }
  }

  #shownAnew() {
    this.show();
    if (this.search.value) this.#more();
  }

  show = () => {
    if (isHeld(this.list, this.show)) return;
    const word = this.search.value.trim().toLowerCase();
    const fits = (...texts) => texts.some((text) => text?.toLowerCase().includes(word));
    const sessions = this.#sessions.filter(({ id, table }) => fits(id, table) && !this.#app.previews.has(id));
    const tables = this.#tables.filter(({ table }) => fits(table));
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    this.list.replaceChildren(
      this.#group(
        "Sessions",
        this.opening,
        sessions.slice(0, shownAtOnce).map(({ id, table, totalRowCount }) =>
          this.#link(`sessions/${encodeURIComponent(id)}`, "icon-session", id, table ?? "no table", totalRowCount.toLocaleString("en"))
        ),
        this.#known && sessions.length === 0 &&
          (this.#app.server.client.token && this.#sessions.length === 0 ? "This token lists no sessions; open one by its id." : "No session."),
      ),
      sessions.length > shownAtOnce ? h("p", { class: "note" }, `${shownAtOnce} of ${sessions.length}: search for the others.`) : "",
      this.#next !== undefined ? this.more : "",
      this.#group(
        "Table descriptions",
        this.describing,
        tables.map(({ table, version }) => this.#link(`tables/${encodeURIComponent(table)}`, "icon-table", table, `version ${version}`)),
        this.#known && tables.length === 0 && "No description.",
      ),
    );
    if (!focused) return;
    const link = focused.getAttribute("href");
    const same = link === null ? focused : this.list.querySelector(`a[href="${CSS.escape(link)}"]`);
    (same?.isConnected ? same : this.search).focus({ preventScroll: true });
  };

  /** From the open session's view. */
  count(id, rows) {
    const session = this.#sessions.find((session) => session.id === id);
    if (!session || session.totalRowCount === rows) return;
    session.totalRowCount = rows;
    this.show();
  }

  #group(title, action, links, none) {
    return h(
      "section",
      { "aria-label": title },
      h("div", { class: "group-head" }, h("h2", {}, title), action),
      h("ul", {}, links),
      none && h("p", { class: "note" }, none),
    );
  }

  #link(path, icon, title, subtitle, detail) {
    return h(
      "li",
      {},
      h(
        "a",
        { href: `#/${path}`, "aria-current": this.#app.path === path ? "page" : undefined },
        symbol(icon),
        h("span", { class: "names" }, h("span", { class: "title" }, title), h("span", { class: "subtitle" }, subtitle)),
        detail && h("span", { class: "detail" }, detail),
      ),
    );
  }

  /** A new session, or one by its id. */
  async #open() {
    const { server } = this.#app;
    const options = this.#tables.map(({ table }) => h("option", { value: table }, table));
    const table = h("select", { "aria-label": "Table" }, options, h("option", { value: "" }, "without a table"));
    const id = h("input", { type: "text", placeholder: "chosen by the server", spellcheck: false, autocomplete: "off", "aria-label": "Id" });
    const request = () => server.openingRequest({ ...(table.value ? { table: table.value } : { rows: [] }), ...(id.value && { id: id.value }) });
    const lines = [h("label", { class: "line" }, "Table", table), h("label", { class: "line" }, "Id", id)];
    const chosen = await dialog("Open a session", lines, [
      ["Copy as curl", () => void copy(server.curl(request()))],
      ["Cancel", null],
      ["Go to this id", () => id.value ? { go: id.value } : undefined],
      ["Open", () => ({ open: request() }), "primary"],
    ]);
    if (!chosen) return;
    if (chosen.go) return this.#app.go(`sessions/${encodeURIComponent(chosen.go)}`);
    const curl = server.curl(chosen.open);
    try {
      const { session } = await untilAnswered(() => server.perform(chosen.open), { curl });
      this.load();
      // Anew: an ended session may have had this id.
      this.#app.go(`sessions/${encodeURIComponent(session)}`, { anew: true });
    } catch (error) {
      problemToast(error, curl);
    }
  }
}
