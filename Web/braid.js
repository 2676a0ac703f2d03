// @ts-self-types="./braid.d.ts"
/**
 * Braid Server's client: an ES module without dependencies, for browsers and for Node 18 and later.
 * docs/http-api/ says what the requests, snapshots and updates are; docs/clients.md how to use this.
 *
 * Numbers are JavaScript's: integers beyond 2^53, and digits that a double does not hold, come out rounded.
 */

// MARK: Failures

/** The server refused: a problem document (RFC 9457), or what a proxy on the way said in its place. */
export class Problem extends Error {
  constructor(status, document = {}, retryAfter = undefined) {
    // A proxy's JSON may have anything under these names.
    const member = (name, type) => (typeof document?.[name] === type ? document[name] : undefined);
    const [title, detail] = [member("title", "string"), member("detail", "string")];
    super(detail ?? title ?? `The server answered ${status}.`);
    this.name = "Problem";
    this.status = status;
    this.type = member("type", "string") ?? "about:blank";
    /** The last part of `type`: "row-gone". */
    this.kind = this.type.split("/").pop();
    this.title = title;
    this.detail = detail;
    this.instance = member("instance", "string");
    this.requestId = member("requestId", "string");
    this.line = member("line", "number");
    const errors = document?.errors;
    /** The faults of the body: `{pointer, code, detail}`. */
    this.errors = Array.isArray(errors) ? errors.filter((error) => ["pointer", "code", "detail"].every((name) => typeof error?.[name] === "string")) : [];
    this.pointer = this.errors[0]?.pointer;
    /** Milliseconds, where the server said when to try again. */
    this.retryAfter = retryAfter;
    /** How often the request was sent. */
    this.tries = 1;
  }
}

/** No whole answer came: the connection failed, or there was silence for too long. `cause` says more. */
export class ConnectionError extends Error {
  constructor(message, cause) {
    super(message, { cause });
    this.name = "ConnectionError";
    this.tries = 1;
  }
}

/** An update that does not fit the snapshot, or breaks the rules by which table views stay alive. */
export class UpdateFault extends Error {
  /** `stage`: from 0; undefined when the fault is none of a stage's. */
  constructor(detail, stage) {
    super(stage === undefined ? detail : `stage ${stage}: ${detail}`);
    this.name = "UpdateFault";
    this.detail = detail;
    this.stage = stage;
  }
}

// MARK: Updates

/**
 * The snapshot after the update. The one before stays as it is; both share what did not change. O(rows of changed sections).
 * Throws `UpdateFault` where a table view would crash, and where a rule of docs/http-api/following.md ("The update") is broken.
 */
export function applying(update, snapshot) {
  if (snapshot.revision !== update.from) {
    throw new UpdateFault(`the update leads on from revision ${update.from}, the snapshot is of revision ${snapshot.revision}`);
  }
  let last = snapshot;
  for (const step of stages(update, snapshot)) last = step.snapshot;
  const result = { ...last, revision: update.to };
  if (snapshot.window) {
    // The numbers are those of the whole sections and of the whole table.
    result.totalRowCount = update.totalRowCount;
    if (update.window) result.window = update.window;
    result.sections = withExtents(last.sections, update.extents ?? []);
  } else if (last.totalRowCount !== update.totalRowCount) {
    throw new UpdateFault(`\`totalRowCount\` is ${update.totalRowCount}, but there are ${last.totalRowCount} rows`);
  }
  if (update.state !== undefined) result.state = update.state;
  if (update.empty === null) delete result.empty;
  else if (update.empty !== undefined) result.empty = update.empty;
  return result;
}

/** Returns a window's sections with the changed `offset` and `rowCount` of some of them. Checks that the window is one run of rows. */
function withExtents(sections, extents) {
  const result = extents.length > 0 ? sections.slice() : sections;
  for (const { section, offset, rowCount } of extents) {
    if (!isIndex(section, result.length)) throw new UpdateFault(`\`extents\` names section ${section}, but the window has ${result.length}`);
    result[section] = { ...result[section], offset, rowCount };
  }
  for (const [index, { offset = 0, rowCount, rows }] of result.entries()) {
    const end = offset + rows.length;
    if (offset >= 0 && (index === 0 || offset === 0) && end <= rowCount && (index === result.length - 1 || end === rowCount)) continue;
    throw new UpdateFault(`the window is not one run of rows: of the ${rowCount} rows of section ${index}, it has ${rows.length} from index ${offset} on`);
  }
  return result;
}

/**
 * The update's stages, one after the other, each with the snapshot before and after it: for a view to animate. Between
 * stages a snapshot has the new sections with the old revision, state and empty state, which `applying` brings.
 */
export function* stages(update, snapshot) {
  let previous = snapshot;
  for (const [number, stage] of update.stages.entries()) {
    const sections = afterStage(stage, previous.sections, number, snapshot.window !== undefined);
    const next = { ...previous, sections };
    if (!snapshot.window) next.totalRowCount = sections.reduce((sum, section) => sum + section.rows.length, 0);
    yield { number, stage, previous, snapshot: next };
    previous = next;
  }
}

const OPERATIONS = new Set([
  "deleteSections", "insertSections", "moveSections", "reloadSections", "updateSections",
  "deleteRows", "insertRows", "moveRows", "reloadRows", "updateRows",
]);
/** In the place of a row that was taken out. */
const TAKEN = Symbol("taken");
const isIndex = (index, count) => Number.isInteger(index) && index >= 0 && index < count;

/** The sections after a stage: each rule is checked, and what is not touched is the same object. */
function afterStage(stage, before, number, isWindow) {
  const fault = (detail) => new UpdateFault(detail, number);
  const list = (name) => stage[name] ?? [];
  const names = Object.keys(stage);
  for (const name of names) {
    if (!OPERATIONS.has(name)) throw fault(`there is no operation \`${name}\``);
  }
  if (!names.some((name) => stage[name].length > 0)) throw fault("it has no operations");
  if (list("reloadSections").length + list("reloadRows").length > 0 && list("moveSections").length + list("moveRows").length > 0) {
    throw fault("reloads and moves share it");
  }

  // What happens to each section, and for each one after the stage where it came from.
  const fates = new Map();
  const settle = (section, fate) => {
    if (!isIndex(section, before.length)) {
      throw fault(`section ${section} cannot be ${fate}: there are ${before.length} sections before the stage`);
    }
    if (fates.has(section)) throw fault(`section ${section} is both ${fates.get(section)} and ${fate}`);
    fates.set(section, fate);
  };
  for (const section of list("deleteSections")) settle(section, "deleted");
  for (const { from } of list("moveSections")) settle(from, "moved");
  for (const { at } of list("reloadSections")) settle(at, "reloaded");
  for (const update of list("updateSections")) {
    settle(update.at, "updated");
    if (!["header", "footer", "movesTo"].some((name) => name in update)) throw fault(`the update of section ${update.at} changes nothing`);
  }
  const count = before.length - list("deleteSections").length + list("insertSections").length;
  const origins = new Array(count).fill(undefined);
  const place = (section, origin) => {
    if (!isIndex(section, count)) throw fault(`no section can come to ${section}: there are ${count} sections after the stage`);
    if (origins[section]) throw fault(`two sections come to ${section}`);
    origins[section] = origin;
  };
  for (const { at, section } of list("insertSections")) place(at, { inserted: section });
  for (const { from, to } of list("moveSections")) place(to, { moved: from });
  let next = 0;
  for (let index = 0; index < count; index++) {
    if (origins[index]) continue;
    while (fates.get(next) === "deleted" || fates.get(next) === "moved") next++;
    origins[index] = { stayed: next++ };
  }

  // Rows where they were: those that go are taken out, those that stay have their new content.
  const staying = new Map();
  const losing = new Set();
  const sources = new Set();
  const take = ([section, row], what, replacement, left) => {
    const path = `[${section},${row}]`;
    if (!isIndex(section, before.length) || !isIndex(row, before[section].rows.length)) {
      throw fault(`there is no row ${path} to be ${what} before the stage`);
    }
    if (sources.has(path)) throw fault(`the row ${path} is ${what} and the source of another operation`);
    sources.add(path);
    const fate = fates.get(section);
    if (fate !== undefined && fate !== "updated") throw fault(`the row ${path} is ${what}, but its section is ${fate} in the same stage`);
    const old = before[section].rows[row];
    if (replacement && replacement.id !== old.id) {
      throw fault(`the row ${path}, ${JSON.stringify(old)}, is ${what} as another row, ${JSON.stringify(replacement)}`);
    }
    if (!staying.has(section)) staying.set(section, before[section].rows.slice());
    staying.get(section)[row] = left;
    if (left === TAKEN) losing.add(section);
  };
  for (const path of list("deleteRows")) take(path, "deleted", undefined, TAKEN);
  for (const { from, row } of list("moveRows")) take(from, "moved", row, TAKEN);
  for (const { at, row } of list("reloadRows")) take(at, "reloaded", row, row);
  for (const { at, row } of list("updateRows")) take(at, "updated", row, row);

  // Rows that come.
  const arriving = new Map();
  const arrive = (row, [section, index]) => {
    const path = `[${section},${index}]`;
    if (!isIndex(section, count)) throw fault(`no row can come to ${path}: there are ${count} sections after the stage`);
    const origin = origins[section];
    const fate = "inserted" in origin ? "inserted" : "moved" in origin ? "moved" : fates.get(origin.stayed);
    if (fate !== undefined && fate !== "updated") throw fault(`a row comes to ${path}, but its section is ${fate} in the same stage`);
    if (!arriving.has(section)) arriving.set(section, new Map());
    if (arriving.get(section).has(index)) throw fault(`two rows come to ${path}`);
    arriving.get(section).set(index, row);
  };
  for (const { at, row } of list("insertRows")) arrive(row, at);
  for (const { from, to, row } of list("moveRows")) arrive(row ?? before[from[0]].rows[from[1]], to);

  const reloads = new Map(list("reloadSections").map(({ at, section }) => [at, section]));
  const updates = new Map(list("updateSections").map((update) => [update.at, update]));
  return origins.map((origin, index) => {
    if ("inserted" in origin) return origin.inserted;
    if ("moved" in origin) return before[origin.moved];
    const old = before[origin.stayed];
    const reloaded = reloads.get(origin.stayed);
    if (reloaded) {
      if (reloaded.id !== old.id) throw fault(`section ${origin.stayed}, "${old.id}", is reloaded as "${reloaded.id}"`);
      return reloaded;
    }
    const update = updates.get(origin.stayed);
    const stayed = staying.get(origin.stayed);
    const arrivals = arriving.get(index);
    if (!update && !stayed && !arrivals) return old;
    const section = { ...old };
    if (update?.header !== undefined) section.header = update.header;
    if (update?.footer !== undefined) section.footer = update.footer;
    if (update?.movesTo === null) delete section.movesTo;
    else if (update?.movesTo !== undefined) section.movesTo = update.movesTo;
    if (stayed || arrivals) {
      const rows = losing.has(origin.stayed) ? stayed.filter((row) => row !== TAKEN) : stayed ?? old.rows;
      section.rows = filled(index, rows, arrivals, fault);
    }
    if (!isWindow) section.rowCount = section.rows.length;
    return section;
  });
}

/** A section's rows: arrivals at their places, those that stayed around them in order. */
function filled(section, stayed, arrivals, fault) {
  if (!arrivals) return stayed;
  const count = stayed.length + arrivals.size;
  const outside = [...arrivals.keys()].filter((index) => !isIndex(index, count)).sort((a, b) => a - b);
  if (outside.length > 0) throw fault(`no row can come to [${section},${outside[0]}]: the section has ${count} rows after the stage`);
  const rows = new Array(count).fill(undefined);
  for (const [index, row] of arrivals) rows[index] = row;
  let next = 0;
  for (let index = 0; index < count; index++) {
    if (rows[index] === undefined) rows[index] = stayed[next++];
  }
  return rows;
}

// MARK: Requests

/** A snapshot's place in its session's history, as `base`, `ifMatch` and `since` take it: "<epoch>.<revision>". */
export function position(at) {
  if (typeof at !== "object") return String(at);
  return at.epoch === undefined ? String(at.revision) : `${at.epoch}.${at.revision}`;
}

/** A path, its variable parts escaped. */
const path = (texts, ...values) => String.raw({ raw: texts }, ...values.map((value) => encodeURIComponent(value)));

function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** The parameters of a window in a query. */
function windowParameters({ section, offset, limit, around, aroundSection, before, after } = {}) {
  return { section, offset, limit, around, aroundSection, before, after };
}

/** A window as the value of the query parameter `from`. */
const encodedWindow = (window) => withQuery("", windowParameters(window)).slice(1);

function request(method, path, body, headers = {}) {
  return { method, path, headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers }, body };
}

/** A name that no other request has: for secrets it would not do, where a page is not on TLS and has no `crypto`. */
function newKey() {
  const words = globalThis.crypto?.getRandomValues?.(new Uint32Array(4)) ?? Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32));
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}

/**
 * What changes a session: the method, the resource below the session, and the body. Each is a method of `Session`, which
 * sends it, and of `session.request`, which only makes it; both take options behind these arguments.
 */
const COMMANDS = {
  edit: (body) => ["POST", "edits", body],
  move: (body) => ["POST", "moves", body],
  event: (at, event) => ["POST", "events", { at, event }],
  tap: (at) => ["POST", "taps", { at }],
  displayedRows: (rows) => ["POST", "displayed-rows", { rows }],
  setModels: (models) => ["PUT", "models", models],
  patchModels: (models) => ["PATCH", "models", models],
  setHeaders: (headers) => ["PUT", "headers", headers],
  patchHeaders: (headers) => ["PATCH", "headers", headers],
  setFooters: (footers) => ["PUT", "footers", footers],
  patchFooters: (footers) => ["PATCH", "footers", footers],
  setDisplayedSections: (ids) => ["PUT", "displayed-sections", ids],
  setState: (state) => ["PUT", "state", state],
  patchState: (patch) => ["PATCH", "state", patch],
  transaction: (commands) => ["POST", "transactions", { commands }],
  reset: () => ["POST", "reset", {}],
  /** `table`: `{version}`, a version of the registered description, or `{table}`, a description; with `discard`, ids of sections. */
  setTable: (table) => ["PUT", "table", table],
  // DataSourceController's calls.
  addRow: (at, model) => ["POST", "rows", { at, model }],
  updateRow: ([section, row], model) => ["PUT", path`rows/${section}/${row}`, { model }],
  updateRowsOfSection: (section, models) => ["PUT", path`sections/${section}/rows`, { rows: models }],
  updateRows: (rows) => ["PATCH", "rows", { rows }],
  removeRow: ([section, row]) => ["DELETE", path`rows/${section}/${row}`],
  addSection: (section, at) => ["POST", "sections", { section, at }],
  updateSectionData: (section, data) => ["PUT", path`sections/${section}/data`, data],
  updateSection: (section, content) => ["PUT", path`sections/${section}`, content],
  updateAllSections: (sections) => ["PUT", "sections", { sections }],
  removeSection: (section) => ["DELETE", path`sections/${section}`],
  removeAllSections: () => ["DELETE", "sections"],
  // Rows by the ids of their sections and their own.
  insertRow: (section, at, model) => ["POST", path`sections/${section}/rows`, { at, model }],
  putRow: (section, id, model) => ["PUT", path`sections/${section}/rows/${id}`, model],
  patchRow: (section, id, patch) => ["PATCH", path`sections/${section}/rows/${id}`, patch],
  deleteRow: (section, id) => ["DELETE", path`sections/${section}/rows/${id}`],
  registerCell: (modelType, cell) => ["PUT", path`cells-for-model-types/${modelType}`, { cell }],
};

/** Makes the requests of a session's commands, without sending them. */
class SessionRequests {
  constructor(id) {
    this.path = path`/v1/sessions/${id}`;
  }

  static {
    for (const [name, command] of Object.entries(COMMANDS)) {
      this.prototype[name] = function (...values) {
        return commandRequest(this, command(...values.slice(0, command.length)), values[command.length]);
      };
    }
  }
}

function commandRequest(session, [method, resource, body], options = {}) {
  const { base, ifMatch, dryRun, strict, notify, key = newKey() } = options;
  const parameters = { base: base === undefined ? undefined : position(base), dryRun: dryRun || undefined, strict: strict || undefined, notify };
  const headers = {};
  if (key !== null && !dryRun) headers["Idempotency-Key"] = key;
  if (ifMatch !== undefined) headers["If-Match"] = `"${position(ifMatch)}"`;
  const made = request(method, withQuery(`${session.path}/${resource}`, parameters), body, headers);
  return key === null && !dryRun ? { ...made, isRepeatable: false } : made;
}

// MARK: The client

/** 408: it did not arrive whole. */
const RETRIED = new Set([408, 429, 502, 503, 504]);
/** Milliseconds: before the first retry, and at most. */
const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;

export class BraidClient {
  #fetch;
  #random;
  #wait;
  #timeout;
  #retries;
  /** For each session with commands that have no answer yet: a promise that is kept when all of them are answered or have failed. */
  #queues = new Map();
  /** The token provider's latest answer, as a promise. */
  #provided;

  /**
   * `token`: a text, or a provider. The client calls the provider with nothing before the first request, and with the refused
   * token when the server answers 401.
   * `timeout`: milliseconds for a whole answer. `retries`: how often a request is sent again.
   * `fetch`, `random` and `wait(milliseconds, signal)` are for tests.
   */
  constructor({ url = globalThis.location?.origin, token, timeout = 60_000, retries = 6, fetch, random = Math.random, wait = sleep } = {}) {
    if (!url) throw new TypeError("Outside of a page the client needs the server's `url`.");
    this.url = String(url).replace(/\/+$/, "");
    this.token = token;
    this.#timeout = timeout;
    this.#retries = retries;
    this.#fetch = fetch ?? globalThis.fetch.bind(globalThis);
    this.#random = random;
    this.#wait = wait;

    const send = (request, options) => this.send(request, options);
    this.tables = {
      list: async (options) => (await send(request("GET", "/v1/tables"), options)).tables,
      /** The latest version, or an older one. */
      get: (name, { version, ...options } = {}) =>
        send(request("GET", version === undefined ? path`/v1/tables/${name}` : path`/v1/tables/${name}/versions/${version}`), options),
      versions: async (name, options) => (await send(request("GET", path`/v1/tables/${name}/versions`), options)).versions,
      put: (name, description, { ifMatch, ifNoneMatch, ...options } = {}) => {
        const headers = { ...(ifMatch && { "If-Match": ifMatch }), ...(ifNoneMatch && { "If-None-Match": ifNoneMatch }) };
        return send(request("PUT", path`/v1/tables/${name}`, description, headers), options);
      },
      delete: (name, options) => remove(this, path`/v1/tables/${name}`, options),
      validate: (description, options) => send(request("POST", "/v1/tables/validate", description), options),
    };
    this.sessions = {
      list: ({ table, limit, after, signal } = {}) => send(request("GET", withQuery("/v1/sessions", { table, limit, after })), { signal }),
      open: async (opening, { key = newKey(), signal } = {}) => {
        const headers = key === null ? {} : { "Idempotency-Key": key };
        const snapshot = await send({ ...request("POST", "/v1/sessions", opening, headers), isRepeatable: key !== null }, { signal });
        return new Session(this, snapshot.session, snapshot);
      },
      delete: (id, options) => remove(this, path`/v1/sessions/${id}`, options),
    };
  }

  session(id) {
    return new Session(this, id);
  }

  async render(template, context = {}, options) {
    return (await this.send(request("POST", "/v1/render", { template, context }), options)).result;
  }

  /** The update that leads from one snapshot to another. */
  diff(from, to, options) {
    return this.send(request("POST", "/v1/diff", { from, to }), options);
  }

  /** The description files that the server watches. With `since`, the answer's `revision`, and `wait` in seconds: waits for a change. */
  fixtures({ since, wait, ...options } = {}) {
    return this.send({ ...request("GET", withQuery("/v1/fixtures", { since, wait })), patience: (wait ?? 0) * 1000 }, options);
  }

  /** Whether the server can serve: resolves to `{status}`, or throws at once. */
  health(options) {
    return this.send(request("GET", "/readyz"), { ...options, retries: 0 });
  }

  /** A command for a shell that sends the request. The token is not told: it stands there as the variable BRAID_TOKEN. */
  curl({ method, path, headers, body }) {
    const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
    const parts = ["curl", quoted(this.url + path)];
    if (method !== (body === undefined ? "GET" : "POST")) parts.splice(1, 0, "-X", method);
    if (this.token) parts.push('-H "Authorization: Bearer $BRAID_TOKEN"');
    for (const [name, value] of Object.entries(headers)) parts.push("-H", quoted(`${name}: ${value}`));
    if (body !== undefined) parts.push("-d", quoted(JSON.stringify(body)));
    return parts.join(" ");
  }

  /**
   * Sends a request and gives the answer's JSON; text where the request's `Accept` asks for that; undefined where there is nothing.
   * Sent again, with the same key, when the connection failed or the server had no time: what was done already is not done twice. A command without
   * a key is not sent again where it may have been done.
   *
   * Commands of one session are sent in the order of the calls, each after those before it are answered or have failed. An aborted
   * command that still waits is never sent.
   */
  async send(request, options = {}) {
    // As it is now, whatever becomes of the objects while the command waits.
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const session = sessionOfCommand(request);
    if (session === undefined) return this.#deliver(request, body, options);
    const before = this.#queues.get(session);
    const work = (async () => {
      if (before) await unlessAborted(before, options.signal);
      return this.#deliver(request, body, options);
    })();
    // An aborted command does not let those after it pass those before it.
    const last = Promise.allSettled([before, work]).then(() => {
      if (this.#queues.get(session) === last) this.#queues.delete(session);
    });
    this.#queues.set(session, last);
    return work;
  }

  async #deliver(request, body, { signal, retries = this.#retries }) {
    signal?.throwIfAborted();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#exchange(request, body, signal);
      } catch (error) {
        if (signal?.aborted || !(error instanceof Problem || error instanceof ConnectionError)) throw error;
        error.tries = tries;
        if (tries > retries || !isRetried(error, request)) throw error;
        await this.#wait(this.delay(tries, error.retryAfter), signal);
      }
    }
  }

  /** Full jitter, after the time that the server named. Milliseconds; `tries` counts from 1. */
  delay(tries, retryAfter = 0, first = FIRST_DELAY) {
    return retryAfter + this.#random() * Math.min(LONGEST_DELAY, first * 2 ** (tries - 1));
  }

  wait(milliseconds, signal) {
    return this.#wait(milliseconds, signal);
  }

  /**
   * The server's response, whatever its status. Throws `ConnectionError` where there is none. A request whose token is refused is
   * sent once more if the provider has another token.
   */
  async fetch(request, body, signal) {
    const provided = this.#provide();
    const token = await unlessAborted(provided, signal);
    const response = await this.#fetchWith(token, request, body, signal);
    if (response.status !== 401 || typeof this.token !== "function") return response;
    const other = await unlessAborted(this.#provide(provided, token), signal);
    return other === token ? response : this.#fetchWith(other, request, body, signal);
  }

  /** A promise of the token. If the latest one was `refused`, the provider is asked for another: once, however many requests were refused with it. */
  #provide(refused, token) {
    if (typeof this.token !== "function") return this.token;
    if (this.#provided === refused) {
      const provided = (async () => this.token(token))().catch((error) => {
        if (this.#provided === provided) this.#provided = undefined;
        throw new ConnectionError("The token provider failed.", error);
      });
      this.#provided = provided;
    }
    return this.#provided;
  }

  async #fetchWith(token, { method, path, headers }, body, signal) {
    const fields = { Accept: "application/json", ...headers };
    if (token) fields.Authorization = `Bearer ${token}`;
    try {
      return await this.#fetch(this.url + path, { method, headers: fields, body, signal });
    } catch (error) {
      throw new ConnectionError(`There is no connection to ${this.url}.`, error);
    }
  }

  async #exchange(request, body, signal) {
    const link = linked(signal);
    // A long poll waits by itself.
    const timeout = this.#timeout + (request.patience ?? 0);
    const timer = after(timeout, () => link.abort(new Error("too long")));
    try {
      const response = await this.fetch(request, body, link.signal);
      let text;
      try {
        text = await response.text();
      } catch (error) {
        throw new ConnectionError("The connection was lost before the whole answer came.", error);
      }
      return answer(request, response, text);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (link.signal.aborted) throw new ConnectionError(`No answer came within ${timeout} milliseconds.`, error);
      throw error;
    } finally {
      clearTimeout(timer);
      link.release();
    }
  }
}

/** The path of the session that a request changes or ends; undefined for all other requests. */
function sessionOfCommand({ method, path }) {
  return method === "GET" ? undefined : /^\/v1\/sessions\/[^/?]+(?=$|\?|\/(?!tokens))/.exec(path)?.[0];
}

/** What is gone when it is asked to go again went the first time. */
async function remove(client, path, options) {
  try {
    await client.send(request("DELETE", path), options);
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404 && error.tries > 1)) throw error;
  }
}

function isRetried(error, request) {
  // Sent twice, what cannot be told apart from its first time would be done twice.
  const isRepeatable = request.isRepeatable ?? true;
  if (error instanceof ConnectionError) return isRepeatable;
  // Who asked knows better what to do for so long.
  if (error.retryAfter > LONGEST_DELAY) return false;
  if (error.kind === "idempotency-key-in-use") return true;
  return RETRIED.has(error.status) && (isRepeatable || (error.status !== 502 && error.status !== 504));
}

function answer({ headers }, response, text) {
  if (!response.ok) throw problem(response, text);
  if (response.status === 204) return undefined;
  const type = response.headers.get("content-type")?.split(";")[0].trim() ?? "";
  if (!/[/+]json$/i.test(type)) {
    // Text is for who asked for it. Other text is a page, where the network wants a log-in first.
    const asked = headers?.Accept ?? "JSON";
    if (asked.includes("*") || (type !== "" && asked.includes(type))) return text;
    throw new ConnectionError(`The answer is no ${asked}.`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConnectionError("The answer is no JSON.", error);
  }
}

function problem(response, text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    document = { title: response.statusText || undefined };
  }
  const time = response.headers.get("retry-after");
  // Seconds, or a date.
  const milliseconds = time === null ? NaN : /^\d+$/.test(time) ? Number(time) * 1000 : Date.parse(time) - Date.now();
  return new Problem(response.status, document, Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds));
}

/** A timer. One of more than 24 days would fire at once. */
const after = (milliseconds, action) => setTimeout(action, Math.min(milliseconds, 2 ** 31 - 1));

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = after(milliseconds, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** The promise's value; throws the signal's reason if that is aborted before. */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve(promise).then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A controller's signal that is aborted with another one. */
function linked(signal) {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), release: () => signal?.removeEventListener("abort", abort) };
}

// MARK: Sessions

export class Session {
  #client;

  constructor(client, id, opened) {
    this.#client = client;
    this.id = id;
    /** The snapshot that the session was opened with, if it was opened here. */
    this.opened = opened;
    /** Makes commands' requests without sending them. */
    this.request = new SessionRequests(id);
    const send = (request, options) => client.send(request, options);
    this.tokens = {
      // Told once, and not kept by any key: sent again, it would be another token.
      create: (token, options) => send({ ...request("POST", `${this.#path}/tokens`, token), isRepeatable: false }, options),
      list: ({ limit, after, signal } = {}) => send(request("GET", withQuery(`${this.#path}/tokens`, { limit, after })), { signal }),
      delete: (tokenId, options) => remove(client, this.#path + path`/tokens/${tokenId}`, options),
    };
  }

  get #path() {
    return this.request.path;
  }

  #get(resource, parameters, { signal } = {}, headers = {}) {
    return this.#client.send(request("GET", withQuery(this.#path + resource, parameters), undefined, headers), { signal });
  }

  facts(options) {
    return this.#get("", {}, options);
  }

  /** The table description to which the session is bound. */
  table(options) {
    return this.#get("/table", {}, options);
  }

  /** Gets the snapshot of the whole table, or of a `window`: see docs/http-api/sessions-and-snapshots.md ("Windows"). */
  snapshot({ window, ...options } = {}) {
    return this.#get("/snapshot", windowParameters(window), options);
  }

  /**
   * What happened after a position: `{from, to, updates}`, or `{reset: true, snapshot}`. `wait`: seconds to wait for something.
   * With `window`, the updates are those of a window. `from` is the window that the caller has at `since`, if it is another one.
   */
  updates(since, { wait, coalesce, window, from, ...options } = {}) {
    const path = withQuery(`${this.#path}/updates`, {
      since: position(since), wait, coalesce: coalesce || undefined, ...windowParameters(window), from: from && encodedWindow(from),
    });
    return this.#client.send({ ...request("GET", path), patience: (wait ?? 0) * 1000 }, options);
  }

  journal({ after, limit, ...options } = {}) {
    return this.#get("/journal", { after, limit }, options);
  }

  /** The whole journal as lines of JSON, for `braid-server replay`. */
  journalFile(options) {
    return this.#get("/journal", {}, options, { Accept: "application/x-ndjson" });
  }

  /** The stored model of a data source's row. */
  async model([section, row], options) {
    return (await this.#get(path`/rows/${section}/${row}`, {}, options)).model;
  }

  /** The stored model of the row with an id, in the section with an id. */
  row(section, id, options) {
    return this.#get(path`/sections/${section}/rows/${id}`, {}, options);
  }

  sectionData(section, options) {
    return this.#get(path`/sections/${section}/data`, {}, options);
  }

  delete(options) {
    return this.#client.sessions.delete(this.id, options);
  }

  /** Follows the session from now on, or from a snapshot that is there already. */
  subscribe(options) {
    return new Subscription(this.#client, this.#path, options);
  }

  static {
    for (const [name, command] of Object.entries(COMMANDS)) {
      this.prototype[name] = async function (...values) {
        return this.#client.send(this.request[name](...values), { signal: values[command.length]?.signal });
      };
    }
  }
}

// MARK: Following

/** A session's snapshot, kept up to date. Made by `session.subscribe`. */
export class Subscription {
  #client;
  #path;
  #listeners;
  #silence;
  /** Aborted when the connection is given up. */
  #controller;
  /** Of the last event that was taken in: where a new connection goes on. */
  #position;
  /** Milliseconds before a first try to connect again, as the server wishes. */
  #retryTime = 1000;
  #hasEnded = false;
  /** The window to follow, and the window that `snapshot` shows. `undefined` for the whole table. */
  #window;
  #shown;
  /** The window of the open connection. */
  #followed;
  #overscan;
  /** The first row that the requested window will contain and the one behind its last, until the window is there. */
  #requested;

  /** "connecting", "live" (all that came before was told), "waiting" (to connect again), "paused", "ended", "closed". */
  status = "connecting";
  /** The session's, as far as it was told; undefined before the first. */
  snapshot;

  /**
   * `window`: the window to follow, in place of the whole table. `from`: a snapshot that the caller has, of the same window.
   * `overscan`: how many rows before and after the visible ones `show` requests.
   */
  constructor(client, path, { from, window, overscan = 50, silence = 40_000, ...listeners } = {}) {
    this.#client = client;
    this.#window = window && windowParameters(window);
    this.#overscan = overscan;
    this.#path = path;
    this.#silence = silence;
    this.#listeners = listeners;
    if (from) {
      this.snapshot = from;
      this.#position = position(from);
      this.#shown = this.#window;
    }
    this.#start();
  }

  get revision() {
    return this.snapshot?.revision;
  }

  close() {
    if (this.status === "ended" || this.status === "closed") return;
    this.status = "closed";
    this.#controller.abort();
  }

  /** Gives the connection up, as a page does that is not seen. */
  pause() {
    if (["paused", "ended", "closed"].includes(this.status)) return;
    this.#controller.abort();
    this.#turn("paused");
  }

  /** Follows the session again after a pause, from where it was. */
  resume() {
    if (this.status !== "paused") return;
    this.status = "connecting";
    this.#start();
  }

  /** The window that the subscription follows, with its current anchor. `undefined` for the whole table. */
  get window() {
    return this.#window;
  }

  /** Follows another window from now on. The next update leads from the shown window to the new one. */
  move(window) {
    // Until the window is there, `show` speaks of rows of the old one.
    this.#move(window, [-Infinity, Infinity]);
  }

  #move(window, requested) {
    if (!this.#window) throw new TypeError("Only a subscription with a `window` can move it.");
    this.#window = windowParameters(window);
    this.#requested = requested;
    if (["paused", "ended", "closed"].includes(this.status)) return;
    this.#controller.abort();
    this.#start();
  }

  /**
   * Says which rows are visible: the indexes of the first and the last one, in the window's section or in the whole table.
   * Moves the window if they come near its edge: within half of `overscan`. The new window stays with the row in the middle,
   * and has `overscan` more rows than the visible ones before and after them.
   */
  show(first, last) {
    const shown = this.snapshot?.window;
    if (!shown) return;
    const rows = this.snapshot.sections.flatMap(({ id, rows }) => rows.map((row) => ({ section: id, id: row.id })));
    const section = this.#window.section;
    const total = section === undefined ? this.snapshot.totalRowCount : this.snapshot.sections[0]?.rowCount ?? 0;
    const near = Math.ceil(this.#overscan / 2);
    const [start, end] = this.#requested ?? [shown.offset, shown.offset + rows.length];
    if (Math.max(0, first - near) >= start && Math.min(total, last + 1 + near) <= end) return;
    const middle = Math.floor((first + last) / 2);
    const anchor = rows[middle - shown.offset];
    const before = middle - first + this.#overscan;
    const after = last - middle + this.#overscan;
    const window = anchor?.id !== undefined
      ? { section, around: anchor.id, aroundSection: anchor.section, before, after }
      : { section, offset: Math.max(0, middle - before), limit: before + 1 + after };
    this.#move(window, [first - this.#overscan, last + 1 + this.#overscan]);
  }

  #start() {
    const controller = this.#controller = new AbortController();
    // Not before the caller has what it listens with.
    queueMicrotask(() => this.#run(controller.signal));
  }

  /** Follows the session until it ends or `signal` is aborted. */
  async #run(signal) {
    let failures = 0;
    while (!signal.aborted) {
      this.#turn("connecting");
      // A listener may have closed the subscription.
      if (signal.aborted) return;
      let failure;
      try {
        await this.#follow(signal, () => (failures = 0));
      } catch (error) {
        failure = error;
      }
      if (signal.aborted) return;
      if (failure?.kind === "row-not-found" && this.#window?.around !== undefined) {
        this.#leaveAnchor();
      } else if (this.#hasEnded || isFinal(failure)) {
        this.#turn("ended", failure);
        return this.#tell("onEnd", failure);
      }
      // What does not fit together any more starts anew.
      if (failure instanceof UpdateFault) this.#position = undefined;
      failures += 1;
      const delay = this.#client.delay(failures, failure?.retryAfter, this.#retryTime);
      this.#turn("waiting", failure);
      try {
        await this.#client.wait(delay, signal);
      } catch {
        return;
      }
    }
  }

  /** Goes on by position where the window was: its anchor is gone, and the server does not know which row is the nearest. */
  #leaveAnchor() {
    const { section, before = 50, after = 50 } = this.#window;
    this.#window = windowParameters({ section, offset: this.snapshot?.window?.offset ?? 0, limit: before + 1 + after });
    this.#position = undefined;
  }

  /** The window that the snapshot shows: with its current anchor. If no row can be the anchor, it has the first row and those after it. */
  #withAnchor(window) {
    const { offset, anchor } = this.snapshot.window;
    if (window.around === undefined) return window;
    if (anchor) return { ...window, around: anchor.id, aroundSection: anchor.section };
    return windowParameters({ section: window.section, offset, limit: 1 + (window.after ?? 50) });
  }

  /** Notes that the snapshot shows the window that this connection follows. */
  #noteShown(window) {
    if (!window) return;
    const isCurrent = this.#window === window || this.#window === this.#shown;
    this.#shown = this.#withAnchor(window);
    if (!isCurrent) return;
    this.#window = this.#shown;
    this.#requested = undefined;
  }

  /** One connection, to its end. `onEvent`: it works, an event was taken in. */
  async #follow(signal, onEvent) {
    const link = linked(signal);
    let heard = Date.now();
    let watchdog;
    // Comments come when there is nothing to tell: silence is a dead connection.
    const watch = () => {
      const left = this.#silence - (Date.now() - heard);
      if (left <= 0) link.abort(new Error("silence"));
      else watchdog = after(left, watch);
    };
    watch();
    try {
      const headers = { Accept: "text/event-stream" };
      const parameters = windowParameters(this.#window);
      this.#followed = this.#window;
      if (this.#window && this.#position !== undefined) {
        // `Last-Event-ID` is for streams that go on with the same window.
        parameters.since = this.#position;
        if (this.#shown && this.#shown !== this.#window) parameters.from = encodedWindow(this.#shown);
      } else if (this.#position !== undefined) {
        headers["Last-Event-ID"] = this.#position;
      }
      const path = withQuery(`${this.#path}/updates`, parameters);
      const response = await this.#client.fetch(request("GET", path, undefined, headers), undefined, link.signal);
      if (!response.ok) throw problem(response, await response.text());
      // A page, where the network wants a log-in first.
      if (!/^text\/event-stream\s*(;|$)/i.test(response.headers.get("content-type") ?? "")) {
        throw new ConnectionError("The answer is no stream of events.");
      }
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done && this.#hasEnded) return;
        if (done) throw new ConnectionError("The server ended the stream.");
        heard = Date.now();
        for (const event of parser.events(decoder.decode(value, { stream: true }))) {
          if (signal.aborted || this.#hasEnded) return;
          this.#take(event);
          onEvent();
        }
        if (parser.retryTime !== undefined) this.#retryTime = parser.retryTime;
      }
    } catch (error) {
      if ([Problem, ConnectionError, UpdateFault].some((type) => error instanceof type)) throw error;
      throw new ConnectionError("The connection was lost.", error);
    } finally {
      clearTimeout(watchdog);
      link.release();
      // Whatever is left of the answer.
      link.abort();
    }
  }

  #take(event) {
    try {
      this.#takeIn(event);
    } catch (error) {
      throw error instanceof UpdateFault ? error : new UpdateFault(`the event "${event.type}" makes no sense: ${error.message}`);
    }
  }

  #takeIn({ type, data, id }) {
    const previous = this.snapshot;
    switch (type) {
      case "snapshot":
        this.snapshot = JSON.parse(data);
        this.#position = id;
        this.#noteShown(this.#followed);
        return this.#tell("onSnapshot", this.snapshot, previous);
      case "update": {
        const update = JSON.parse(data);
        // What was told before the connection was lost, and is told again.
        if (update.to <= previous.revision && !(previous.window && update.from === previous.revision)) return;
        // Revisions between that showed nothing have no update.
        const before = { ...previous, revision: Math.max(previous.revision, update.from) };
        this.snapshot = applying(update, before);
        this.#position = id;
        this.#noteShown(this.#followed);
        return this.#tell("onUpdate", update, this.snapshot, before);
      }
      case "cellEvent":
        if (id !== undefined) this.#position = id;
        return this.#tell("onCellEvent", JSON.parse(data));
      case "tap":
        if (id !== undefined) this.#position = id;
        return this.#tell("onTap", JSON.parse(data));
      case "emitted":
        if (id !== undefined) this.#position = id;
        return this.#tell("onEmitted", JSON.parse(data));
      case "caught-up": {
        const { revision } = JSON.parse(data);
        if (revision > previous.revision) this.snapshot = { ...previous, revision };
        this.#position = id;
        this.#noteShown(this.#followed);
        return this.#turn("live");
      }
      case "ended":
        this.#hasEnded = true;
    }
  }

  #turn(status, failure) {
    this.status = status;
    this.#tell("onStatus", status, failure);
  }

  /** A listener's faults are its own: they are thrown where no one's work is interrupted. */
  #tell(name, ...values) {
    try {
      this.#listeners[name]?.(...values);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** Refusals that another try would meet as well: the session is gone, the token is not valid. */
function isFinal(failure) {
  return failure instanceof Problem && failure.status < 500 && failure.status !== 408 && failure.status !== 429;
}

/** Events of a stream, from pieces of its text (WHATWG HTML, 9.2.6). Looks at each character once, however long a line is. */
class EventParser {
  /** Milliseconds, when the server has said them. */
  retryTime;
  #pieces = [];
  #endedWithCR = false;
  #type = "";
  #data = [];
  #id;

  *events(text) {
    const ends = /\r\n|\n|\r/g;
    let start = this.#endedWithCR && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#endedWithCR = text.endsWith("\r");
    ends.lastIndex = start;
    for (let end = ends.exec(text); end; end = ends.exec(text)) {
      this.#pieces.push(text.slice(start, end.index));
      const event = this.#endLine(this.#pieces.join(""));
      this.#pieces = [];
      start = ends.lastIndex;
      if (event) yield event;
    }
    if (start < text.length) this.#pieces.push(text.slice(start));
  }

  /** The event that an empty line ends. */
  #endLine(line) {
    if (line === "") {
      const event = this.#data.length > 0 ? { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id } : undefined;
      this.#type = "";
      this.#data = [];
      this.#id = undefined;
      return event;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retryTime = Number(value);
    return undefined;
  }
}
