import { button, h } from "./dom.js";
import { indexIn } from "./frames.js";
import { inWords } from "./stages.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { announce, askForJSON, problemToast, toast, untilAnswered } from "./toasts.js";

const states = { connecting: "Connecting…", live: "Live", waiting: "Reconnecting…", paused: "Paused", ended: "Ended" };

/**
 * Milliseconds. If the previous change of the table was shown less than this time ago, the next change is shown without
 * animation.
 */
const calm = 150;
/** Milliseconds. If the rows of a moved window take longer than this, the status says "Connecting…". */
const patience = 300;
/**
 * The page follows a table of at most this many rows as a whole, and a longer table through a window. A table that has
 * grown is followed as a whole up to twice this number of rows. The window contains the visible rows and `overscan`
 * more rows before and after them.
 */
const most = 500;
const overscan = 100;

/**
 * One session on the screen: its table, its bar, and the slider through its revisions. The panels next to the table
 * listen to `changed` and `selected`.
 */
export class Screen {
  #server;
  #listeners;
  #subscription;
  /** Whether the window of the subscription was moved and the rows of the moved window have not arrived yet. */
  #isMoving = false;
  #late;
  #drawing;
  /** The moment that the table shows: an element of the timeline, with one revision's snapshot. */
  #drawn;
  #shown = 0;
  /**
   * A controller that is aborted when other rows become visible, so that the page no longer repeats the report of the
   * earlier rows.
   */
  #reporting;
  #reading;
  #isReading = false;
  /** Keys of rows that updates have reloaded since the table was last drawn. */
  #reloaded = new Set();

  /**
   * `listeners` may contain `changed(screen)`, `selected(screen)` and `ended(screen, problem)`. `buttons` are more
   * buttons for the bar.
   */
  constructor(server, id, listeners = {}, buttons = []) {
    this.#server = server;
    this.#listeners = listeners;
    this.id = id;
    this.status = h("span", { class: "status", role: "status" });
    this.subtitle = h("p", { class: "subtitle" });
    this.editButton = button("Edit", () => this.setEditing(!this.table.editing), { kind: "plain", "aria-pressed": "false" });
    this.barTitle = h("span", { class: "bar-title", "aria-hidden": "true" }, id);
    const scrolled = () => this.element.classList.toggle("scrolled", this.scroller.scrollTop > 40);
    this.scroller = h(
      "div",
      { class: "scroller", on: { scroll: scrolled, scrollend: () => this.#report() } },
      h("div", { class: "large-title" }, h("h1", {}, id), this.subtitle),
    );
    this.table = new Table(this.scroller, id, {
      announce,
      perform: async (...command) => {
        const done = await this.perform(...command);
        // A command that changed nothing is not followed by an update, so the table does not wait for an update.
        return done === true ? this.answer?.outcome === "applied" : done;
      },
      select: (key) => {
        this.selected = key;
        listeners.selected?.(this);
      },
      released: () => this.#show(this.timeline.shown, this.timeline.shown),
      needModel: (model) => askForJSON("A model is needed", "The description has no template for rows that are inserted here.", model ?? {}),
    });
    this.timeline = new Timeline((moment, previous) => this.#show(moment, previous));
    this.element = h(
      "section",
      { class: "screen", "aria-label": `Session ${id}` },
      h("header", { class: "bar" }, this.status, this.barTitle, h("div", { class: "bar-buttons" }, buttons, this.editButton)),
      this.scroller,
      this.#time(),
    );
    this.table.list.scrolled = () => this.#look();
    this.#setStatus("connecting");
    this.#follow({ window: { offset: 0, limit: most } });
    document.addEventListener("visibilitychange", this.#followWhileSeen);
  }

  /** Subscribes to the session: to a window of its table with `window`, otherwise to the whole table. */
  #follow(options) {
    this.#subscription?.close();
    this.#isMoving = false;
    this.#subscription = this.#server.client.session(this.id).subscribe({
      ...options,
      overscan,
      onSnapshot: (snapshot) => {
        this.timeline.start(snapshot);
        this.#fit(snapshot);
        // Each snapshot may come from another session that was opened with the same id, so the page reads the
        // description again.
        this.#readDescription();
      },
      onUpdate: (update, snapshot) => {
        this.timeline.follow(update, snapshot);
        this.#fit(snapshot);
        this.#readDescriptionSoon();
      },
      onCellEvent: (event) => this.timeline.note(event),
      onTap: (tap) => this.timeline.note(tap),
      onEmitted: (event) => this.timeline.note(event),
      onStatus: (status) => this.#setStatus(status),
      onEnd: (problem) => this.#end(problem),
    });
    this.#followWhileSeen();
  }

  /**
   * Chooses how to follow the table. A short table is followed as a whole. A table that was followed as a whole and has
   * become long is followed through a window.
   */
  #fit(snapshot) {
    const from = whole(snapshot);
    if (from) {
      this.timeline.start(from);
      this.#follow({ from });
    } else if (!snapshot.window && snapshot.totalRowCount > 2 * most) {
      const [first] = this.table.list.visibleRange() ?? [0];
      this.#follow({ window: { offset: Math.max(0, first - overscan), limit: most } });
    }
  }

  /** Moves the window of the subscription to the visible rows. */
  #look() {
    const { list, dragging } = this.table;
    const { window, status } = this.#subscription;
    // If a drawing is scheduled, this method runs again after it. While a row is dragged, the window stays, because the
    // drop places refer to its rows.
    const isConnected = status === "live" || status === "connecting";
    if (!window || !isConnected || this.#drawing || !this.timeline.isLive || dragging.isCarrying) return;
    const range = list.visibleRange();
    if (!range) return;
    this.#subscription.show(...range);
    const isStill = status === "live" && this.#subscription.window === window;
    if (isStill && window.around === undefined && range[0] > 0) this.#stay(...range);
    if (this.#subscription.window !== window) this.#isMoving = true;
  }

  /**
   * Makes the row in the middle of the visible rows the anchor of the window. Without an anchor, rows that are inserted
   * above would push the visible rows out of the window.
   */
  #stay(first, last) {
    const visible = this.table.list.visibleRows();
    const middle = visible[visible.length >> 1];
    if (middle?.content.id === undefined) return;
    const aroundSection = this.snapshot.sections[middle.s].id;
    this.#subscription.move({ around: middle.content.id, aroundSection, before: middle.row - first + overscan, after: last - middle.row + overscan });
  }

  /**
   * A browser opens at most six HTTP/1.1 connections to a server, for all of its tabs together. A hidden tab therefore
   * closes its connection.
   */
  #followWhileSeen = () => document.visibilityState === "hidden" ? this.#subscription.pause() : this.#subscription.resume();

  get path() {
    return this.#server.client.session(this.id).request.path;
  }
  /** The snapshot that the table shows, or `undefined` before the first snapshot. */
  get snapshot() {
    return this.table.frame?.snapshot;
  }
  /**
   * The window of the subscription as the query of a request. The query is empty if the page follows the whole table.
   */
  get query() {
    const parameters = Object.entries(this.#subscription.window ?? {}).filter(([, value]) => value !== undefined);
    return parameters.length > 0 ? `?${new URLSearchParams(parameters)}` : "";
  }
  get description() {
    return this.table.description;
  }

  close() {
    document.removeEventListener("visibilitychange", this.#followWhileSeen);
    this.#subscription.close();
    cancelAnimationFrame(this.#drawing);
    clearTimeout(this.#reading);
    clearTimeout(this.#late);
    this.table.close();
  }

  /**
   * Sends a command. Resolves to true if the server accepted the command, and to the problem's kind if the server
   * refused it. Resolves to null if there was no answer. A refusal whose kind is `quiet` is not shown. `failed` and
   * `signal` are the options of `untilAnswered`.
   */
  async perform(kind, body, { base, quiet, dryRun, failed, signal } = {}) {
    const request = this.#server.command(this.id, kind, body, { base, dryRun });
    const curl = this.#server.curl(request);
    try {
      this.answer = await untilAnswered(() => this.#server.perform(request), { curl, failed, signal });
      return true;
    } catch (error) {
      const kind = error.kind ?? null;
      if (kind === null || kind !== quiet) problemToast(error, curl);
      return kind;
    }
  }

  curl = (kind, body, options) => this.#server.curl(this.#server.command(this.id, kind, body, options));

  setEditing(editing) {
    this.table.setEditing(editing);
    this.editButton.querySelector("span").textContent = editing ? "Done" : "Edit";
    this.editButton.setAttribute("aria-pressed", String(editing));
  }

  setShowsHidden(shows) {
    this.table.showsHidden = shows;
    this.table.refresh();
  }

  /**
   * Switches the reports of displayed rows on or off. With reports, the page tells the server which rows are visible
   * whenever they change; prefetch handlers need these reports.
   */
  setReports(reports) {
    this.reports = reports;
    this.reported = "";
    this.#report();
  }

  #report() {
    if (!this.reports || !this.timeline.isLive || !this.snapshot) return;
    const { sections } = this.snapshot;
    const rows = this.table.list.visibleRows().map(({ s, r }) => ({ section: sections[s].id, row: indexIn(sections[s], r) }));
    const told = JSON.stringify(rows);
    if (rows.length === 0 || told === this.reported) return;
    this.reported = told;
    // A newer report makes the older report obsolete, so the page no longer offers to send the older one again.
    this.#reporting?.abort();
    this.#reporting = new AbortController();
    this.perform("displayedRows", { rows }, { signal: this.#reporting.signal });
  }

  /**
   * Reads from the journal the revisions before the first one that the page knows, if the journal reaches back to the
   * opening of the session.
   */
  async readHistory() {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      await this.#readHistory();
    } finally {
      this.#isReading = false;
    }
  }

  async #readHistory() {
    const { client } = this.#server;
    const { opening, description } = await this.#server.opening(this.id);
    const journal = (after) => client.session(this.id).journal({ after, limit: 1000 });
    let { records, next } = await journal(0);
    if (records.length && records[0].revision !== 1) return toast("The journal does not reach back to the opening");
    // The server does not keep the snapshot with which a session was opened. The page opens a temporary session in the
    // same way, and uses its snapshot.
    const { id: _, table, ...rest } = opening;
    const first = await client.sessions.open({ ...rest, ...(table !== undefined && { table: description }), id: this.#server.previewID(), endIfUnused: 60 });
    await first.delete();
    // The journal comes in pages. Reading continues until the revision of the timeline's first moment. This revision
    // can change while the page reads, because the timeline drops old moments.
    while (next !== undefined && records.at(-1).revision < this.timeline.moments[0].revision) {
      const page = await journal(next);
      records.push(...page.records);
      next = page.next;
    }
    const { session, epoch } = this.snapshot;
    this.timeline.precede({ ...first.opened, session, epoch }, records);
  }

  /**
   * Reads the command that led to a revision from the journal. Resolves to `undefined` if the page may not read the
   * journal, or if the journal does not contain the revision.
   */
  async commandOf(revision) {
    if (!this.description) return undefined;
    const answer = await this.#server.client.session(this.id).journal({ after: revision - 1, limit: 1 }).catch(() => null);
    return answer?.records[0]?.revision === revision ? answer.records[0].command : undefined;
  }

  async #readDescription() {
    const { epoch } = this.timeline.last.frame.snapshot;
    const description = await this.#server.client.session(this.id).table().catch((error) => error.status === 404 ? { cells: {} } : null);
    if (!description || epoch !== this.timeline.last.frame.snapshot.epoch) return;
    if (JSON.stringify(description) === JSON.stringify(this.table.description)) return;
    this.table.description = description;
    this.table.refresh();
    this.#listeners.changed?.(this);
  }

  /**
   * Reads the description again half a second after an update, because the session may have been bound to another
   * version.
   */
  #readDescriptionSoon() {
    // If the page has no description, it is probably not allowed to read the description. So an update does not make
    // the page try again.
    if (!this.description) return;
    this.#reading ??= setTimeout(() => {
      this.#reading = undefined;
      this.#readDescription();
    }, 500);
  }

  #setStatus(status) {
    clearTimeout(this.#late);
    // While the window moves, the subscription reconnects often. So the status says "Connecting…" only if a connection
    // takes long.
    if (status === "connecting" && this.#isMoving) {
      this.#late = setTimeout(() => this.#showStatus(status), patience);
      return;
    }
    this.#isMoving = false;
    this.#showStatus(status);
    if (status === "live") this.#look();
  }

  #showStatus(status) {
    this.status.textContent = states[status] ?? status;
    this.status.dataset.status = status;
  }

  #end(problem) {
    this.#setStatus("ended");
    this.table.readOnly = true;
    this.table.refresh();
    this.#listeners.ended?.(this, problem);
  }

  /**
   * Schedules a drawing of the table. However many updates arrive, the table is drawn once for each frame of the
   * display, and then shows the newest revision.
   */
  #show(moment, previous) {
    if (moment !== previous) moment.reloaded?.forEach((key) => this.#reloaded.add(key));
    this.#drawing ??= requestAnimationFrame(() => {
      this.#drawing = undefined;
      this.#draw();
    });
  }

  #draw() {
    const { timeline } = this;
    const moment = timeline.shown;
    const { snapshot } = moment.frame;
    // Updates that arrive while a person drags a row are shown together after the drop.
    if (this.table.isHeld && timeline.isLive && snapshot.epoch === this.snapshot.epoch) return;
    this.table.readOnly = !timeline.isLive || this.status.dataset.status === "ended";
    this.element.classList.toggle("past", !timeline.isLive);
    this.subtitle.textContent = [
      snapshot.table ?? "no description",
      `revision ${snapshot.revision}`,
      `${snapshot.totalRowCount.toLocaleString("en")} rows`,
    ].join(" · ");
    if (moment.frame !== this.table.frame) {
      // Changes that follow one another too fast to see are not animated.
      const now = performance.now();
      const isMoved = moment === this.#drawn;
      const animated = !isMoved && now - this.#shown > calm;
      if (this.table.frame && !isMoved) this.#shown = now;
      this.table.show(moment.frame, { reloaded: this.#reloaded, animated, isMoved });
      if (moment.stages && timeline.isLive && !isMoved) announce(inWords(moment.stages) || `Revision ${moment.revision}`);
      if (!timeline.isLive) this.table.list.reveal();
    }
    this.#drawn = moment;
    this.#reloaded = new Set();
    this.slider.max = timeline.moments.length - 1;
    this.slider.value = timeline.position ?? timeline.moments.length - 1;
    this.slider.disabled = timeline.moments.length < 2;
    this.slider.setAttribute("aria-valuetext", `Revision ${moment.revision}`);
    this.slider.style.setProperty("--part", this.slider.disabled ? 0 : this.slider.value / this.slider.max);
    this.moment.textContent = timeline.isLive ? `r${moment.revision}` : `r${moment.revision} of ${timeline.last.revision}`;
    this.liveButton.hidden = timeline.isLive;
    // The journal contains updates of the whole table, so the page cannot apply them to a window.
    this.historyButton.hidden = timeline.moments[0].revision === 0 || snapshot.window !== undefined;
    this.#report();
    this.#look();
    this.#listeners.changed?.(this);
  }

  #time() {
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      "aria-label": "Revision",
      on: { input: ({ target }) => this.timeline.show(Number(target.value)) },
    });
    this.moment = h("output", { class: "moment-label" });
    this.liveButton = button("Live", () => this.timeline.show(Infinity), { kind: "small primary", hidden: true });
    this.historyButton = button("Read earlier revisions from the journal", () => this.readHistory().catch((error) => problemToast(error)), {
      icon: "icon-history",
      iconOnly: true,
      hidden: true,
    });
    return h("footer", { class: "time" }, this.historyButton, this.slider, this.moment, this.liveButton);
  }
}

/**
 * If a window contains all rows of a short table, returns the window as a snapshot of the whole table. Otherwise
 * returns `undefined`.
 */
function whole({ window, ...snapshot }) {
  const { sections, totalRowCount } = snapshot;
  const isWhole = window && totalRowCount <= most && sections.reduce((sum, { rows }) => sum + rows.length, 0) === totalRowCount;
  return isWhole ? { ...snapshot, sections: sections.map(({ offset: _, ...section }) => section) } : undefined;
}
