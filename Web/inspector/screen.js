import { button, h } from "./dom.js";
import { indexIn } from "./frames.js";
import { inWords } from "./stages.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { announce, askForJSON, problemToast, toast, untilAnswered } from "./toasts.js";

const states = { connecting: "Connecting…", live: "Live", waiting: "Reconnecting…", paused: "Paused", ended: "Ended" };

/** Milliseconds between changes; faster ones are not animated. */
const calm = 150;
/** Milliseconds before a moved window's status says "Connecting…". */
const patience = 300;
/**
 * Up to so many rows (twice as many if it grew), a table is followed as a whole; beyond, by a window of the visible
 * rows and `overscan` rows around.
 */
const most = 500;
const overscan = 100;

/** A session's table, bar, and slider through its revisions. Panels listen to `changed` and `selected`. */
export class Screen {
  #server;
  #listeners;
  #subscription;
  /** The window was moved, and its rows have yet to come. */
  #isMoving = false;
  #late;
  #drawing;
  /** The moment that is drawn (see Timeline). */
  #drawn;
  #shown = 0;
  /** Aborted when other rows become visible: the old report is obsolete. */
  #reporting;
  #reading;
  /** The description: to be read again once the stream is live. */
  #isUnread = false;
  #isReading = false;
  /** Some of the commands, at least its own. */
  mayUndo = false;
  /** Keys of rows reloaded since the last drawing. */
  #reloaded = new Set();

  /**
   * `listeners`: `changed(screen)`, `selected(screen)`, `ended(screen, problem)`, `present(present)`. `buttons`: more
   * for the bar.
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
        // Nothing changed, so no update will come.
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
    this.buttons = h("div", { class: "bar-buttons" }, buttons, this.editButton);
    this.element = h(
      "section",
      { class: "screen", "aria-label": `Session ${id}` },
      h("header", { class: "bar" }, this.status, this.barTitle, this.buttons),
      this.scroller,
      this.#time(),
    );
    this.table.list.scrolled = () => this.#look();
    this.#setStatus("connecting");
    this.#follow({ window: { offset: 0, limit: most } });
    document.addEventListener("visibilitychange", this.#followWhileSeen);
  }

  /** To a `window`, or the whole table. */
  #follow(options) {
    this.#subscription?.close();
    this.#isMoving = false;
    this.#subscription = this.#server.client.session(this.id).subscribe({
      ...options,
      overscan,
      onSnapshot: (snapshot) => {
        this.timeline.start(snapshot);
        this.#fit(snapshot);
        // It may be another session with the same id: read its description again.
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
      presence: Boolean(this.#listeners.present),
      onPresence: (present) => this.#listeners.present(present),
      onStatus: (status) => this.#setStatus(status),
      onEnd: (problem) => this.#end(problem),
    });
    this.#followWhileSeen();
  }

  /** Follows a short table as a whole, one that has become long by a window. */
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

  /** Moves the window to the visible rows. */
  #look() {
    const { list, dragging } = this.table;
    const { window, status } = this.#subscription;
    // Runs again after a scheduled drawing. While a row is dragged, drop places refer to this window.
    const isConnected = status === "live" || status === "connecting";
    if (!window || !isConnected || this.#drawing || !this.timeline.isLive || dragging.isCarrying) return;
    const range = list.visibleRange();
    if (!range) return;
    this.#subscription.show(...range);
    const isStill = status === "live" && this.#subscription.window === window;
    if (isStill && window.around === undefined && range[0] > 0) this.#stay(...range);
    if (this.#subscription.window !== window) this.#isMoving = true;
  }

  /** Anchors the window at the middle visible row; otherwise rows inserted above would push these out of it. */
  #stay(first, last) {
    const visible = this.table.list.visibleRows();
    const middle = visible[visible.length >> 1];
    if (middle?.content.id === undefined) return;
    const aroundSection = this.snapshot.sections[middle.s].id;
    this.#subscription.move({ around: middle.content.id, aroundSection, before: middle.row - first + overscan, after: last - middle.row + overscan });
  }

  /** A browser opens at most six HTTP/1.1 connections to a server, for all tabs, so hidden ones close theirs. */
  #followWhileSeen = () => document.visibilityState === "hidden" ? this.#subscription.pause() : this.#subscription.resume();

  get path() {
    return this.#server.client.session(this.id).request.path;
  }
  /** What is drawn; `undefined` at first. */
  get snapshot() {
    return this.table.frame?.snapshot;
  }
  /** The window as a query; empty for the whole table. */
  get query() {
    const parameters = Object.entries(this.#subscription.window ?? {}).filter(([, value]) => value !== undefined);
    return parameters.length > 0 ? `?${new URLSearchParams(parameters)}` : "";
  }
  get isEnded() {
    return this.status.dataset.status === "ended";
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
   * Sends a command. Resolves to true, a refusal's kind (not shown if `quiet`), or null without an answer. `failed`,
   * `signal`: see `untilAnswered`.
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

  /** Tells the server which rows are visible, as prefetch handlers need it. */
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
    // Obsolete: no Retry for the older one.
    this.#reporting?.abort();
    this.#reporting = new AbortController();
    this.perform("displayedRows", { rows }, { signal: this.#reporting.signal });
  }

  /** Earlier revisions from the journal, if it reaches back to the opening. */
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
    // The opening's snapshot is not stored, so open a temporary session alike.
    const { id: _, table, ...rest } = opening;
    const first = await client.sessions.open({ ...rest, ...(table !== undefined && { table: description }), id: this.#server.previewID(), endIfUnused: 60 });
    await first.delete();
    // Page by page, up to the timeline's first moment, which may change meanwhile.
    while (next !== undefined && records.at(-1).revision < this.timeline.moments[0].revision) {
      const page = await journal(next);
      records.push(...page.records);
      next = page.next;
    }
    const { session, epoch } = this.snapshot;
    this.timeline.precede({ ...first.opened, session, epoch }, records);
  }

  /** What the journal has about these revisions, if allowed. False if it did not answer. */
  async readRecords(first, last) {
    const answer = await this.#server.client.session(this.id).journal({ after: first - 1, limit: last - first + 1 }).catch(() => null);
    if (!answer) return false;
    // A page ends early if its records are large.
    this.timeline.record(answer.records, first, Math.min(last, answer.records.at(-1)?.revision ?? last));
    return true;
  }

  /** Sends an undo or redo, and shows what it did. */
  async takeBack(kind, body) {
    if (await this.perform(kind, body) !== true) return;
    if (this.answer.outcome !== "applied") toast(`Nothing to ${kind}`, { detail: this.answer.reason });
    this.timeline.show(Infinity);
  }

  async #readDescription() {
    const { epoch } = this.timeline.last.frame.snapshot;
    this.#isUnread = false;
    const description = await this.#server.client.session(this.id).table().catch(({ status }) => {
      if (status === 404) return { cells: {} };
      if (status === 403) this.#askForUndo();
      else this.#isUnread = true;
      return null;
    });
    if (!description || epoch !== this.timeline.last.frame.snapshot.epoch) return;
    if (JSON.stringify(description) === JSON.stringify(this.table.description)) return;
    this.table.description = description;
    this.mayUndo = true;
    this.table.refresh();
    this.#listeners.changed?.(this);
  }

  /** Only a controller may read that in the description. */
  async #askForUndo() {
    const dryRun = this.#server.command(this.id, "undo", { last: "mine" }, { dryRun: true });
    this.mayUndo = await this.#server.client.send(dryRun).then(() => true, ({ status }) => status === 409);
    if (this.snapshot) this.#listeners.changed?.(this);
  }

  /** Half a second later: the session may have another version now. */
  #readDescriptionSoon() {
    // Probably not allowed to read it: do not try again.
    if (!this.description) return;
    this.#reading ??= setTimeout(() => {
      this.#reading = undefined;
      this.#readDescription();
    }, 500);
  }

  #setStatus(status) {
    clearTimeout(this.#late);
    // A moving window reconnects often; show that only if it takes long.
    if (status === "connecting" && this.#isMoving) {
      this.#late = setTimeout(() => this.#showStatus(status), patience);
      return;
    }
    this.#isMoving = false;
    this.#showStatus(status);
    if (status !== "live") return;
    this.#look();
    if (this.#isUnread) this.#readDescription();
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

  /** Draws once per display frame, the newest revision. */
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
    // During a drag they wait, and are shown together.
    if (this.table.isHeld && timeline.isLive && snapshot.epoch === this.snapshot.epoch) return;
    this.table.readOnly = !timeline.isLive || this.isEnded;
    this.element.classList.toggle("past", !timeline.isLive);
    this.subtitle.textContent = [
      snapshot.table ?? "no description",
      `revision ${snapshot.revision}`,
      `${snapshot.totalRowCount.toLocaleString("en")} rows`,
    ].join(" · ");
    if (moment.frame !== this.table.frame) {
      // Too fast to see.
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
    // The journal has whole tables' updates, which do not fit a window.
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

/** A window of all rows of a short table as a whole snapshot, else `undefined`. */
function whole({ window, ...snapshot }) {
  const { sections, totalRowCount } = snapshot;
  const isWhole = window && totalRowCount <= most && sections.reduce((sum, { rows }) => sum + rows.length, 0) === totalRowCount;
  return isWhole ? { ...snapshot, sections: sections.map(({ offset: _, ...section }) => section) } : undefined;
}
