import { BraidClient, ConnectionError, Problem } from "/braid.js";

/** A session's commands by their names in the journal, and some data source calls. */
export const commands = {
  edits: { method: "POST", request: (make, body, options) => make.edit(body, options) },
  moves: { method: "POST", request: (make, body, options) => make.move(body, options) },
  taps: { method: "POST", request: (make, { at }, options) => make.tap(at, options) },
  events: { method: "POST", request: (make, { at, event }, options) => make.event(at, event, options) },
  displayedRows: { method: "POST", request: (make, { rows }, options) => make.displayedRows(rows, options) },
  models: { method: "PUT", request: (make, body, options) => make.setModels(body, options) },
  patchModels: { method: "PATCH", request: (make, body, options) => make.patchModels(body, options) },
  headers: { method: "PUT", request: (make, body, options) => make.setHeaders(body, options) },
  patchHeaders: { method: "PATCH", request: (make, body, options) => make.patchHeaders(body, options) },
  footers: { method: "PUT", request: (make, body, options) => make.setFooters(body, options) },
  patchFooters: { method: "PATCH", request: (make, body, options) => make.patchFooters(body, options) },
  displayedSections: { method: "PUT", request: (make, body, options) => make.setDisplayedSections(body, options) },
  state: { method: "PUT", request: (make, body, options) => make.setState(body, options) },
  patchState: { method: "PATCH", request: (make, body, options) => make.patchState(body, options) },
  transactions: { method: "POST", request: (make, { commands }, options) => make.transaction(commands, options) },
  undo: { method: "POST", request: (make, body, options) => make.undo(body, options) },
  redo: { method: "POST", request: (make, body, options) => make.redo(body, options) },
  rows: { method: "POST", request: (make, { at, model }, options) => make.addRow(at, model, options) },
  sections: { method: "POST", request: (make, { section, at }, options) => make.addSection(section, at, options) },
  "update row": { method: "PUT", request: (make, { at, model }, options) => make.updateRow(at, model, options) },
  "put row": { method: "PUT", request: (make, { section, rowId, model }, options) => make.putRow(section, rowId, model, options) },
  "patch row": { method: "PATCH", request: (make, { section, rowId, patch }, options) => make.patchRow(section, rowId, patch, options) },
  "delete row": { method: "DELETE", request: (make, { section, rowId }, options) => make.deleteRow(section, rowId, options) },
  "remove row": { method: "DELETE", request: (make, { at }, options) => make.removeRow(at, options) },
  reset: { method: "POST", request: (make, _, options) => make.reset(options) },
  table: { method: "PUT", request: (make, body, options) => make.setTable(body, options) },
};

/** The server of this page, with the person's token; records what `perform` sends. */
export class Server {
  /** The last 100, newest first: `{request, error?, took}`, in milliseconds. */
  asked = [];
  #changed;

  /** `changed()`: after each. */
  constructor(token, changed) {
    this.client = new BraidClient({ url: location.origin, token, retries: 3 });
    this.#changed = changed;
  }

  /** Sends and records; throws the client's errors. */
  async perform(request) {
    const entry = { request, started: performance.now() };
    try {
      return await this.client.send(request);
    } catch (error) {
      entry.error = error;
      throw error;
    } finally {
      entry.took = performance.now() - entry.started;
      this.asked = [entry, ...this.asked].slice(0, 100);
      this.#changed?.();
    }
  }

  /** With a new `Idempotency-Key`, except for a dry run. */
  command = (id, kind, body, options) => commands[kind].request(this.client.session(id).request, body, options);

  /** Without its `Idempotency-Key`: each run is a new request. */
  curl({ headers: { "Idempotency-Key": _, ...headers } = {}, ...request }) {
    return this.client.curl({ ...request, headers });
  }

  /** The journal's first line: how the session was opened, with which version. */
  async opening(id) {
    const stop = new AbortController();
    const path = `${this.client.session(id).request.path}/journal`;
    const response = await this.client.fetch({ method: "GET", path, headers: { Accept: "application/x-ndjson" } }, undefined, stop.signal);
    // A proxy's may be HTML.
    if (!response.ok) throw new Problem(response.status, await response.json().catch(() => undefined));
    let text = "";
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (!done) text += decoder.decode(value, { stream: true });
      const end = text.indexOf("\n");
      if (!done && end < 0) continue;
      stop.abort();
      try {
        return JSON.parse(end < 0 ? text : text.slice(0, end));
      } catch (error) {
        throw new ConnectionError("The answer is no journal.", error);
      }
    }
  }

  /** With a key, so that a repeat does not open a second one. */
  openingRequest(body) {
    return { method: "POST", path: "/v1/sessions", headers: { "Content-Type": "application/json", "Idempotency-Key": randomName(16) }, body };
  }

  /** The prefix tells what was left if the browser quits. */
  previewID = () => `preview-${randomName(6)}`;

  /** Do not wait: it is sent even while the page is left. */
  end = (id) => this.#delete(this.client.session(id).request.path);
  leave = (id) => this.#delete(`${this.client.session(id).request.path}/presence?client=${this.client.presence.name}`);

  #delete(path) {
    const headers = this.client.token ? { Authorization: `Bearer ${this.client.token}` } : {};
    return fetch(path, { method: "DELETE", keepalive: true, headers }).catch(() => {});
  }
}

const randomName = (bytes) => Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
