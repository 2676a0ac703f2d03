// Made by Scripts/embed from Sources/BraidServer/Inspector/sidebar.js.

extension Embedded {
    static let sidebarJS = ##"""
        import { button, h, symbol } from "./dom.js";
        import { dialog, problemToast } from "./toasts.js";

        const atOnce = 100;

        /** The lists of sessions and table descriptions. `app`: `{server, go(path), path}`. */
        export class Sidebar {
          #app;
          #after;
          #hasMore = false;
          #sessions = [];
          #tables = [];

          constructor(app, element) {
            this.#app = app;
            this.search = h("input", {
              type: "search",
              placeholder: "Search",
              "aria-label": "Search sessions and tables",
              on: { input: () => this.#searched() },
            });
            this.list = h("div", { class: "sidebar-lists" });
            element.append(h("div", { class: "search" }, this.search), this.list);
          }

          async load() {
            const { client } = this.#app.server;
            this.#after = undefined;
            this.#sessions = [];
            this.#hasMore = true;
            try {
              [this.#tables] = await Promise.all([client.tables.list(), this.#more()]);
            } catch (error) {
              this.#hasMore = false;
              if (error.status === 401) return this.#app.signIn();
              // A token for one session may not list them.
              if (error.status !== 403) problemToast(error);
            }
            this.show();
          }

          async #more() {
            const { sessions, next } = await this.#app.server.client.sessions.list({ limit: atOnce, after: this.#after });
            this.#sessions.push(...sessions);
            this.#after = next;
            this.#hasMore = next !== undefined;
          }

          /** A search looks at all sessions, so it reads on until it has them. */
          async #searched() {
            this.show();
            while (this.#hasMore && this.search.value) {
              await this.#more();
              this.show();
            }
          }

          show() {
            const word = this.search.value.trim().toLowerCase();
            const fits = (...texts) => texts.some((text) => text?.toLowerCase().includes(word));
            const sessions = this.#sessions.filter(({ id, table }) => fits(id, table));
            const tables = this.#tables.filter(({ table }) => fits(table));
            this.list.replaceChildren(
              this.#group(
                "Sessions",
                button("Open a session", () => this.#open(), { icon: "icon-plus", iconOnly: true, kind: "plain" }),
                sessions.slice(0, 300).map(({ id, table, totalRowCount }) =>
                  this.#link(`sessions/${encodeURIComponent(id)}`, "icon-session", id, table ?? "no table", totalRowCount.toLocaleString("en"))
                ),
                sessions.length === 0 &&
                  (this.#app.server.client.token && this.#sessions.length === 0 ? "This token lists no sessions; open one by its id." : "No session."),
              ),
              this.#hasMore && button("More sessions", () => this.#more().then(() => this.show(), problemToast), { kind: "small" }) || "",
              this.#group(
                "Table descriptions",
                button("New description", () => this.#app.go("new-table"), { icon: "icon-plus", iconOnly: true, kind: "plain" }),
                tables.map(({ table, version }) => this.#link(`tables/${encodeURIComponent(table)}`, "icon-table", table, `version ${version}`)),
                tables.length === 0 && "No description.",
              ),
            );
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

          /** Opens a new session of a description, or goes to one that there is. */
          async #open() {
            const { client } = this.#app.server;
            const table = h(
              "select",
              { "aria-label": "Table" },
              this.#tables.map(({ table }) => h("option", { value: table }, table)),
              h("option", { value: "" }, "without a table"),
            );
            const id = h("input", { type: "text", placeholder: "chosen by the server", spellcheck: false, autocomplete: "off", "aria-label": "Id" });
            const existing = (value) => ({ go: value });
            const chosen = await dialog("Open a session", [h("label", { class: "line" }, "Table", table), h("label", { class: "line" }, "Id", id)], [
              ["Cancel", null],
              ["Go to this id", () => id.value ? existing(id.value) : undefined],
              ["Open", () => ({ table: table.value || undefined, id: id.value || undefined }), "primary"],
            ]);
            if (!chosen) return;
            if (chosen.go) return this.#app.go(`sessions/${encodeURIComponent(chosen.go)}`);
            try {
              const { id } = await client.sessions.open({ ...(chosen.table ? { table: chosen.table } : { rows: [] }), ...(chosen.id && { id: chosen.id }) });
              await this.load();
              this.#app.go(`sessions/${encodeURIComponent(id)}`);
            } catch (error) {
              problemToast(error);
            }
          }
        }

        """##
}
