// The page: sessions and descriptions on the left, one session's table in the middle, its details on the right.
import { button, h } from "./inspector/dom.js";
import { Editor } from "./inspector/editor.js";
import { Server } from "./inspector/server.js";
import { SessionView } from "./inspector/session.js";
import { Sidebar } from "./inspector/sidebar.js";
import { confirmed, dialog } from "./inspector/toasts.js";
import { WatchedFiles } from "./inspector/watched.js";

const tokenKey = "braid-token";

class App {
  main = document.querySelector("#main");
  panel = document.querySelector("#panel");
  view = null;
  /** The editor's; the sidebar leaves them out. */
  previews = new Set();
  path = null;

  constructor() {
    this.#connect();
    this.sidebar = new Sidebar(this, document.querySelector("#sidebar"));
    addEventListener("hashchange", () => this.#route());
    addEventListener("pagehide", () => this.view?.close());
    addEventListener("pageshow", (event) => event.persisted && this.#routeAnew());
    addEventListener("focus", () => this.sessionsChanged());
    for (const tab of document.querySelectorAll("#panes button")) tab.addEventListener("click", () => this.pane(tab.dataset.pane));
    document.querySelector("#token-button").addEventListener("click", () => this.signIn());
    this.sidebar.load();
    this.#route();
    new WatchedFiles(this);
  }

  sessionsChanged() {
    this.sidebar.load();
  }

  /** Opens a view. `quietly`: it is shown already; `anew`: makes it again even if open. */
  go(path, { quietly = false, anew = false } = {}) {
    if (quietly) this.path = path;
    if (location.hash === `#/${path}`) {
      if (anew) this.path = null;
      return this.#route();
    }
    location.hash = `#/${path}`;
  }

  /** One of the three columns; a phone shows one at a time. */
  pane(name) {
    document.body.dataset.pane = name;
    for (const tab of document.querySelectorAll("#panes button")) tab.setAttribute("aria-pressed", String(tab.dataset.pane === name));
  }

  /** After a 401. */
  refused() {
    const fault = this.server.client.token && "The server refused this token: it is wrong, has expired or was revoked.";
    return this.signIn(fault);
  }

  /** Asks for a token, and starts over with it. Kept for this origin until the tab is closed. */
  async signIn(fault) {
    if (this.asking) return;
    this.asking = true;
    const input = h("input", { type: "password", autocomplete: "off", spellcheck: false, "aria-label": "Token" });
    const token = await dialog("Token", [
      h("p", {}, "The controller's token, or one for a single session. It is kept until this tab is closed."),
      fault && h("p", { class: "fault", role: "alert" }, fault),
      input,
    ], [["Cancel", null], ["Use no token", ""], ["Use it", () => input.value, "primary"]]);
    this.asking = false;
    if (token === undefined) return;
    if (token) sessionStorage.setItem(tokenKey, token);
    else sessionStorage.removeItem(tokenKey);
    this.#connect();
    this.sidebar.load();
    this.#routeAnew();
  }

  /**
   * After a new token, or when the browser restores the page from its cache. An editor with unsaved text stays, and
   * checks again.
   */
  #routeAnew() {
    if (this.view?.isWritten) return this.view.checkAgain();
    this.path = null;
    this.#route();
  }

  #connect() {
    const token = sessionStorage.getItem(tokenKey) ?? undefined;
    this.server = new Server(token, () => this.view?.asked());
    document.querySelector("#token-button").dataset.used = String(Boolean(token));
  }

  #route() {
    const path = location.hash.slice(2);
    if (path === this.path) return;
    if (this.view?.isWritten) return void this.#leave(path);
    this.path = path;
    this.view?.close();
    const [kind, name] = path.split("/");
    if (kind === "sessions" && name) this.view = new SessionView(this, decoded(name));
    else if (kind === "tables" && name) this.view = new Editor(this, decoded(name));
    else if (kind === "new-table") this.view = new Editor(this, null);
    else this.#welcome();
    document.title = name ? `${decoded(name)} – Braid Server` : "Braid Server";
    document.body.dataset.view = kind || "welcome";
    const labels = this.view instanceof Editor ? ["Sessions", "Editor", "Preview"] : ["Sessions", "Table", "Details"];
    document.querySelectorAll("#panes span").forEach((span, i) => (span.textContent = labels[i]));
    this.pane(path ? "main" : "list");
    this.sidebar.show();
  }

  /** First asks whether to lose the editor's unsaved text. */
  async #leave(path) {
    history.replaceState(null, "", `#/${this.path}`);
    if (this.leaving) return;
    this.leaving = true;
    const leaves = await confirmed("Leave the description?", "What was changed is not saved, and will be lost.", "Leave it");
    this.leaving = false;
    if (!leaves) return;
    this.view?.giveUp?.();
    this.go(path);
  }

  #welcome() {
    this.view = null;
    this.main.replaceChildren(
      h(
        "div",
        { class: "welcome" },
        h("h1", {}, "Braid Server"),
        h("p", {}, "Choose a session to see its table as a client does, to edit it, and to watch its updates."),
        button("New description", () => this.go("new-table"), { kind: "primary" }),
      ),
    );
    this.panel.replaceChildren();
  }
}

/** Of the address; as it is if invalid. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

new App();
