// @ts-self-types="./braid.d.ts"
/**
 * The JavaScript client of Braid Server: an ES module without dependencies, for browsers and Node 18 or later.
 *
 * ```js
 * const client = new BraidClient({ url, token });
 * const party = client.session("party");
 * party.subscribe({ onSnapshot: (snapshot) => show(snapshot), onUpdate: (update, snapshot) => show(snapshot) });
 * await party.edit({ delete: { id: "kim" } });
 * ```
 * Guide: docs/clients/web.md. Requests, snapshots and updates: docs/http-api/. Types: braid.d.ts.
 *
 * Numbers are JavaScript's: digits beyond a double are rounded.
 */

// MARK: Failures

/** A refused request: the server's problem document (RFC 9457) or a proxy's answer. */
export class Problem extends Error {
  constructor(status, document = {}, retryAfter = undefined) {
    // A proxy's JSON may use the same names for other types.
    const member = (name, type) => (typeof document?.[name] === type ? document[name] : undefined);
    const [title, detail] = [member("title", "string"), member("detail", "string")];
    super(detail ?? title ?? `The server answered ${status}.`);
    this.name = "Problem";
    this.status = status;
    /** All members, also rare ones. */
    this.document = typeof document === "object" && document !== null && !Array.isArray(document) ? document : {};
    this.type = member("type", "string") ?? "about:blank";
    /** The last part of `type`: "row-gone". */
    this.kind = this.type.split("/").pop();
    this.title = title;
    this.detail = detail;
    this.instance = member("instance", "string");
    this.requestId = member("requestId", "string");
    this.line = member("line", "number");
    const errors = document?.errors;
    /** Faults of the body: `{pointer, code, detail}`. */
    this.errors = Array.isArray(errors) ? errors.filter((error) => ["pointer", "code", "detail"].every((name) => typeof error?.[name] === "string")) : [];
    this.pointer = this.errors[0]?.pointer;
    /** Milliseconds; `undefined` if the server says nothing. */
    this.retryAfter = retryAfter;
    /** How often it was tried. Again with a new token is the same try. */
    this.tries = 1;
  }
}

/**
 * No usable answer: the connection or token provider failed, it took too long, or the answer is of another type.
 * `cause`: the underlying error, if any.
 */
export class ConnectionError extends Error {
  constructor(message, cause) {
    super(message, { cause });
    this.name = "ConnectionError";
    this.tries = 1;
  }
}

/** An update that does not fit, or breaks a rule: a table view could crash. */
export class UpdateFault extends Error {
  /** `stage`: from 0; `undefined` outside of stages. */
  constructor(detail, stage) {
    super(stage === undefined ? detail : `stage ${stage}: ${detail}`);
    this.name = "UpdateFault";
    this.detail = detail;
    this.stage = stage;
  }
}

// MARK: Updates

/**
 * Returns the snapshot after the update; unchanged sections and rows are shared with `snapshot`, which does not change.
 * O(sections, and rows of changed ones). Throws `UpdateFault` for another revision or a broken rule
 * (docs/http-api/following.md, "The update").
 */
export function applying(update, snapshot) {
  if (snapshot.revision !== update.from) {
    throw new UpdateFault(`the update leads on from revision ${update.from}, the snapshot is of revision ${snapshot.revision}`);
  }
  let last = snapshot;
  for (const step of stages(update, snapshot)) last = step.snapshot;
  const result = { ...last, revision: update.to };
  if (snapshot.window) {
    // These also count rows outside of the window, so only the server knows them.
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

/** Applies `extents`. Throws unless the rows are consecutive in the table. */
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
 * Yields each stage with the snapshots before and after it, to animate: `{number, stage, previous, snapshot}`. Only
 * sections (and, for a whole table, `totalRowCount`) are new; `applying` sets the rest at the end.
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
/** The old place of a deleted or moved row. */
const TAKEN = Symbol("taken");
const isIndex = (index, count) => Number.isInteger(index) && index >= 0 && index < count;

/** Throws if a rule is broken. Unchanged sections stay the same objects. */
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

  // What happens to each section (by its index before the stage), and where each comes from (by its index after it).
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

  // Rows of changed sections, at their indexes before the stage: new content, or `TAKEN`.
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

  // Inserted and moved rows, by section and index after the stage.
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

/** `arrivals` at their new indexes, the others around them in order. */
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

/** A position as text: "<epoch>.<revision>" for a snapshot. */
export function position(at) {
  if (typeof at !== "object") return String(at);
  return at.epoch === undefined ? String(at.revision) : `${at.epoch}.${at.revision}`;
}

/** A template tag for URL paths: percent-encodes the values. */
const path = (texts, ...values) => String.raw({ raw: texts }, ...values.map((value) => encodeURIComponent(value)));

function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function windowParameters({ section, offset, limit, around, aroundSection, before, after } = {}) {
  return { section, offset, limit, around, aroundSection, before, after };
}

/** For the query parameter `from`. */
const encodedWindow = (window, view) => withQuery("", { ...windowParameters(window), view }).slice(1);

function request(method, path, body, headers = {}) {
  return { method, path, headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers }, body };
}

/** No secret, so `Math.random` will do without `crypto`. */
function newKey() {
  const words = globalThis.crypto?.getRandomValues?.(new Uint32Array(4)) ?? Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32));
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}

/**
 * `[method, path below the session's, body]` of each command. `Session` sends them, `session.request` only makes them;
 * both take options after a command's own arguments.
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
  /** `{revision}`, or `{last: "mine"}`. */
  undo: (what) => ["POST", "undo", what ?? { last: "mine" }],
  redo: (what) => ["POST", "redo", what ?? { last: "mine" }],
  /** `{version}`, or `{table}` for a whole description; `discard`: sections that may lose models or titles. */
  setTable: (table) => ["PUT", "table", table],
  // The data source, rows by index.
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
  // The data source, rows by id.
  insertRow: (section, at, model) => ["POST", path`sections/${section}/rows`, { at, model }],
  insertRows: (section, at, models) => ["POST", path`sections/${section}/rows`, { at, models }],
  putRows: (section, models, how) => ["PUT", "rows", { ...how, section, models }],
  putRow: (section, id, model) => ["PUT", path`sections/${section}/rows/${id}`, model],
  patchRow: (section, id, patch) => ["PATCH", path`sections/${section}/rows/${id}`, patch],
  deleteRow: (section, id) => ["DELETE", path`sections/${section}/rows/${id}`],
  registerCell: (modelType, cell) => ["PUT", path`cells-for-model-types/${modelType}`, { cell }],
};

/** The commands that mean rows as their sender sees them. */
const VIEWED = new Set(["edits", "moves", "events", "taps", "displayed-rows", "transactions", "undo", "redo"]);

/** Makes a session's requests without sending them. */
class SessionRequests {
  /** The chosen view as JSON. */
  viewText;
  /** Called when the view changes. */
  viewers = new Set();

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
  if (VIEWED.has(resource)) parameters.view = session.viewText;
  const headers = {};
  if (key !== null && !dryRun) headers["Idempotency-Key"] = key;
  if (ifMatch !== undefined) headers["If-Match"] = `"${position(ifMatch)}"`;
  const made = request(method, withQuery(`${session.path}/${resource}`, parameters), body, headers);
  return key === null && !dryRun ? { ...made, isRepeatable: false } : made;
}

// MARK: The client

/** Sent again; after 502 and 504 only repeatable requests. 408: not all of the request arrived. */
const RETRIED = new Set([408, 429, 502, 503, 504]);
/** Bounds of the random delay, in milliseconds: before the first retry, before any. */
const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;

export class BraidClient {
  #fetch;
  #random;
  #wait;
  #timeout;
  #retries;
  /** By session, a promise that resolves when all of its commands so far were answered or failed. */
  #queues = new Map();
  /** A promise of the provider's last token. */
  #provided;

  /**
   * - `url`: in a page, by default its origin.
   * - `token`: a text, or a provider `(refused) => token`, called without argument at first, and after a 401 with the
   *   token that was refused.
   * - `timeout`: milliseconds for a complete answer; long polls get more.
   * - `retries`: how often a request is sent again.
   * - `fetch`, `random`, `wait(milliseconds, signal)`: for tests.
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
    /** This client's name among those present, and what it shows, by session. */
    this.presence = { name: newKey(), shown: new Map() };

    const send = (request, options) => this.send(request, options);
    this.tables = {
      list: async (options) => (await send(request("GET", "/v1/tables"), options)).tables,
      /** The latest version, or `options.version`. */
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

  /** The minimal update between two snapshots. */
  diff(from, to, options) {
    return this.send(request("POST", "/v1/diff", { from, to }), options);
  }

  /**
   * The watched files of descriptions. With `since`, the `revision` of an earlier answer, waits up to `wait` seconds
   * for a newer one.
   */
  fixtures({ since, wait, ...options } = {}) {
    return this.send({ ...request("GET", withQuery("/v1/fixtures", { since, wait })), patience: (wait ?? 0) * 1000 }, options);
  }

  /** `{status}`; throws at once if the server is not ready. */
  health(options) {
    return this.send(request("GET", "/readyz"), { ...options, retries: 0 });
  }

  /** A curl command for the request, with $BRAID_TOKEN in place of the token. */
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
   * Returns the answer's JSON, its text if `Accept` asks for that, or `undefined` without a body.
   *
   * Sends again, with the same idempotency key, after failed connections and overload; not if `isRepeatable` is false
   * and the server may have handled it. A session's commands go out one after the other, in the order of the calls; one
   * that is aborted while it waits is never sent.
   */
  async send(request, options = {}) {
    // Now: the caller may change the objects while the command waits.
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const session = sessionOfCommand(request);
    if (session === undefined) return this.#deliver(request, body, options);
    const before = this.#queues.get(session);
    const work = (async () => {
      if (before) await unlessAborted(before, options.signal);
      return this.#deliver(request, body, options);
    })();
    // Waits for `before`, too: otherwise the command after an aborted one could overtake.
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

  /**
   * Milliseconds before the next try: `retryAfter` plus a random delay, whose bound doubles with each try, up to 30 s.
   */
  delay(tries, retryAfter = 0, first = FIRST_DELAY) {
    return retryAfter + this.#random() * Math.min(LONGEST_DELAY, first * 2 ** (tries - 1));
  }

  /** Milliseconds. Throws the signal's reason when aborted. */
  wait(milliseconds, signal) {
    return this.#wait(milliseconds, signal);
  }

  /**
   * Returns the response, whatever its status; throws `ConnectionError` without one. After a 401, tries once more if
   * the provider has another token.
   */
  async fetch(request, body, signal) {
    const provided = this.#provide();
    const token = await unlessAborted(provided, signal);
    const response = await this.#fetchWith(token, request, body, signal);
    if (response.status !== 401 || typeof this.token !== "function") return response;
    const other = await unlessAborted(this.#provide(provided, token), signal);
    return other === token ? response : this.#fetchWith(other, request, body, signal);
  }

  /**
   * A promise of the token. Calls the provider if there is none, or if `refused` is the newest: once for all requests
   * refused with it.
   */
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
    // A long poll's server may wait `patience` milliseconds first.
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

/**
 * The session that a request changes or ends, or its presence, which delays no commands: one request at a time.
 * `undefined` for other requests.
 */
function sessionOfCommand({ method, path }) {
  return method === "GET" ? undefined : /^\/v1\/sessions\/[^/?]+(\/presence)?(?=$|\?|\/(?!tokens))/.exec(path)?.[0];
}

/** A DELETE. A 404 after a repeat means that an earlier try succeeded. */
async function remove(client, path, options) {
  try {
    await client.send(request("DELETE", path), options);
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404 && error.tries > 1)) throw error;
  }
}

function isRetried(error, request) {
  // Without a key, a repeated command would be applied twice.
  const isRepeatable = request.isRepeatable ?? true;
  if (error instanceof ConnectionError) return isRepeatable;
  // So long a wait is for the caller to decide.
  if (error.retryAfter > LONGEST_DELAY) return false;
  if (error.kind === "idempotency-key-in-use") return true;
  const mayBeDone = error.status === 502 || error.status === 504 || error.kind === "outcome-unknown";
  return RETRIED.has(error.status) && (isRepeatable || !mayBeDone);
}

function answer({ headers }, response, text) {
  if (!response.ok) throw problem(response, text);
  if (response.status === 204) return undefined;
  const type = response.headers.get("content-type")?.split(";")[0].trim() ?? "";
  if (!/[/+]json$/i.test(type)) {
    // Maybe a network's log-in page.
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
    document = response.statusText ? { title: response.statusText } : {};
  }
  const time = response.headers.get("retry-after");
  // Seconds or a date.
  const milliseconds = time === null ? NaN : /^\d+$/.test(time) ? Number(time) * 1000 : Date.parse(time) - Date.now();
  return new Problem(response.status, document, Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds));
}

/** At most 24 days: JavaScript fires longer timers at once. */
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

/** The promise, or a rejection with the signal's reason. */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve(promise).then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A signal that follows `signal`, or aborts alone with `abort`. `release` disconnects it. */
function linked(signal) {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), release: () => signal?.removeEventListener("abort", abort) };
}

// MARK: Presence

const presencePath = (client, path, view) => withQuery(`${path}/presence`, { client: client.presence.name, view });

/** Shows `entry` to the others. */
async function appear(client, { path, viewText }, entry, options) {
  client.presence.shown.set(path, entry);
  const shown = await client.send(request("PUT", presencePath(client, path, viewText), entry), options);
  // By its id: an index path counts only now.
  entry.at = shown.at;
  return shown;
}

/** After a stream was opened. */
async function appearAgain(client, requests) {
  const { shown } = client.presence;
  const { path } = requests;
  const entry = shown.get(path);
  try {
    if (entry) await appear(client, requests, entry);
  } catch ({ status }) {
    // Its row may be gone.
    const isRefused = (status === 404 || status === 409) && entry.at !== undefined;
    if (isRefused && shown.get(path) === entry) appear(client, requests, { data: entry.data }).catch(() => {});
  }
}

// MARK: Sessions

export class Session {
  #client;

  constructor(client, id, opened) {
    this.#client = client;
    this.id = id;
    /** The snapshot of its opening; `undefined` from `client.session`. */
    this.opened = opened;
    /** Makes requests without sending them. */
    this.request = new SessionRequests(id);
    const send = (request, options) => client.send(request, options);
    this.tokens = {
      // The server does not keep this answer, so a repeat would create a second token.
      create: (token, options) => send({ ...request("POST", `${this.#path}/tokens`, token), isRepeatable: false }, options),
      list: ({ limit, after, signal } = {}) => send(request("GET", withQuery(`${this.#path}/tokens`, { limit, after })), { signal }),
      delete: (tokenId, options) => remove(client, this.#path + path`/tokens/${tokenId}`, options),
    };
    this.presence = {
      get: async (options) => (await this.#get("/presence", this.#view, options)).present,
      set: (at, data, options) => appear(client, this.request, { at: at ?? undefined, data }, options),
      leave: (options) => {
        client.presence.shown.delete(this.#path);
        return send(request("DELETE", presencePath(client, this.#path)), options);
      },
    };
  }

  get #path() {
    return this.request.path;
  }

  get #view() {
    return { view: this.request.viewText };
  }

  /**
   * What this client sees of the table, of the members that the description's `view` declares: `{hideDone: true}`.
   * Added to what was chosen before; subscriptions change over by one update. Returns all that is chosen.
   */
  view(chosen) {
    const view = { ...JSON.parse(this.request.viewText ?? "{}"), ...chosen };
    if (chosen === undefined) return view;
    this.request.viewText = JSON.stringify(view);
    for (const change of this.request.viewers) change();
    return view;
  }

  #get(resource, parameters, { signal } = {}, headers = {}) {
    return this.#client.send(request("GET", withQuery(this.#path + resource, parameters), undefined, headers), { signal });
  }

  summary(options) {
    return this.#get("", {}, options);
  }

  /** The session's description. */
  table(options) {
    return this.#get("/table", {}, options);
  }

  /**
   * Of the whole table or a `window` (docs/http-api/sessions-and-snapshots.md, "Windows"); `at`: an earlier position
   * within the journal.
   */
  snapshot({ window, at, ...options } = {}) {
    return this.#get("/snapshot", { at: at === undefined ? undefined : position(at), ...windowParameters(window), ...this.#view }, options);
  }

  /**
   * The updates after `since`: `{from, to, updates}` or `{reset: true, snapshot}`. Waits up to `wait` seconds for one.
   * `from`: the window of your snapshot at `since`, if it is not `window`.
   */
  updates(since, { wait, coalesce, window, from, ...options } = {}) {
    const path = withQuery(`${this.#path}/updates`, {
      since: position(since), wait, coalesce: coalesce || undefined, ...windowParameters(window), from: from && encodedWindow(from), ...this.#view,
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

  /** A page of the stored models, of all sections or one, hidden ones included. */
  models({ section, after, limit, ...options } = {}) {
    return this.#get("/models", { section, after, limit }, options);
  }

  /** The stored model; without one, the view model or null. */
  async model([section, row], options) {
    return (await this.#get(path`/rows/${section}/${row}`, {}, options)).model;
  }

  /** The stored model, by ids. */
  row(section, id, options) {
    return this.#get(path`/sections/${section}/rows/${id}`, {}, options);
  }

  sectionData(section, options) {
    return this.#get(path`/sections/${section}/data`, {}, options);
  }

  delete(options) {
    return this.#client.sessions.delete(this.id, options);
  }

  /** Follows the session from now on, or from your snapshot `from`. */
  subscribe(options) {
    return new Subscription(this.#client, this.request, options);
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

/** Keeps a snapshot up to date with the server's event stream. Made by `session.subscribe`. */
export class Subscription {
  #client;
  #requests;
  #listeners;
  #silence;
  /** Of the current connection. */
  #controller;
  /** Of the last processed event with an id; the next connection continues there. */
  #position;
  /** Bound of the delay before the first reconnection, in milliseconds; the server can set it (`retry:`). */
  #retryTime = 1000;
  #hasEnded = false;
  /** To follow; `undefined` for the whole table. */
  #window;
  /** That `snapshot` shows; `undefined` for the whole table. */
  #shown;
  /** Of the current connection. */
  #followed;
  #followedView;
  /** That `snapshot` shows, as JSON. */
  #shownView;
  #changeView = () => this.#startAgain();
  #overscan;
  /** `[first, end)` of the rows requested for a new window, until it arrives. */
  #requested;
  #withPresence;

  /** "connecting", "live" (up to date), "waiting" (before it connects again), "paused", "ended" or "closed". */
  status = "connecting";
  /** After the last event; without `from`, at first `undefined`. */
  snapshot;
  /** Who is present, with `presence`. */
  present = [];

  /**
   * - `from`: the snapshot that you have, of the same window.
   * - `window`: instead of the whole table.
   * - `overscan`: rows that `show` loads before and after the visible ones.
   * - `presence`: also follows who is present, and keeps this client so.
   * - `silence`: milliseconds without data after which the connection is dead.
   */
  constructor(client, requests, { from, window, overscan = 50, presence = false, silence = 40_000, ...listeners } = {}) {
    this.#client = client;
    this.#window = window && windowParameters(window);
    this.#overscan = overscan;
    this.#withPresence = presence;
    this.#requests = requests;
    this.#silence = silence;
    this.#listeners = listeners;
    if (from) {
      this.snapshot = from;
      this.#position = position(from);
      this.#shown = this.#window;
      this.#shownView = requests.viewText;
    }
    requests.viewers.add(this.#changeView);
    this.#start();
  }

  get revision() {
    return this.snapshot?.revision;
  }

  close() {
    if (this.status === "ended" || this.status === "closed") return;
    this.status = "closed";
    this.#requests.viewers.delete(this.#changeView);
    this.#controller.abort();
  }

  /** Closes the connection until `resume`, for example for a hidden page. */
  pause() {
    if (["paused", "ended", "closed"].includes(this.status)) return;
    this.#controller.abort();
    this.#turn("paused");
  }

  /** Connects again, and continues after the last event. */
  resume() {
    if (this.status !== "paused") return;
    this.status = "connecting";
    this.#start();
  }

  /** With its current anchor; `undefined` for the whole table. */
  get window() {
    return this.#window;
  }

  /** Follows another window. One update leads there, or a new snapshot. */
  move(window) {
    // Until then the rows are the old window's, so `show` must do nothing.
    this.#move(window, [-Infinity, Infinity]);
  }

  #move(window, requested) {
    if (!this.#window) throw new TypeError("Only a subscription with a `window` can move it.");
    this.#window = windowParameters(window);
    this.#requested = requested;
    this.#startAgain();
  }

  /** With another window or view. */
  #startAgain() {
    if (["paused", "ended", "closed"].includes(this.status)) return;
    this.#controller.abort();
    this.#start();
  }

  /**
   * Tells which rows are visible, by index in the window's section or the whole table.
   *
   * The window moves if they come within half of `overscan` of an edge that is not the table's. The new one has
   * `overscan` rows on both sides. Its anchor is the middle row; if that is not loaded or has no id, it has a fixed
   * offset.
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
    // After `subscribe` has returned, so that the caller has the subscription before its first event.
    queueMicrotask(() => this.#run(controller.signal));
  }

  /** Until the session ends, the server refuses for good, or `signal` aborts; connects again and again. */
  async #run(signal) {
    let failures = 0;
    while (!signal.aborted) {
      this.#turn("connecting");
      // The listener may have closed us.
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
        this.#requests.viewers.delete(this.#changeView);
        this.#turn("ended", failure);
        return this.#tell("onEnd", failure);
      }
      // An update did not fit: begin with a new snapshot.
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

  /** The anchor is not displayed, and the server cannot tell what was near: stay at the offset. */
  #leaveAnchor() {
    const { section, before = 50, after = 50 } = this.#window;
    this.#window = windowParameters({ section, offset: this.snapshot?.window?.offset ?? 0, limit: before + 1 + after });
    this.#position = undefined;
  }

  /** With the snapshot's anchor; without one, from its first row. */
  #withAnchor(window) {
    const { offset, anchor } = this.snapshot.window;
    if (window.around === undefined) return window;
    if (anchor) return { ...window, around: anchor.id, aroundSection: anchor.section };
    return windowParameters({ section: window.section, offset, limit: 1 + (window.after ?? 50) });
  }

  /** `snapshot` now shows the connection's window. */
  #noteShown(window, id) {
    this.#shownView = this.#followedView;
    // Another view's table has another epoch.
    const epoch = id?.slice(0, id.lastIndexOf("."));
    if (epoch && this.snapshot.epoch !== epoch) this.snapshot = { ...this.snapshot, epoch };
    if (!window) return;
    const isCurrent = this.#window === window || this.#window === this.#shown;
    this.#shown = this.#withAnchor(window);
    if (!isCurrent) return;
    this.#window = this.#shown;
    this.#requested = undefined;
  }

  /** One connection, to its end. */
  async #follow(signal, onEvent) {
    const link = linked(signal);
    let heard = Date.now();
    let watchdog;
    // The server sends a comment every 15 seconds, so silence means a dead connection.
    const watch = () => {
      const left = this.#silence - (Date.now() - heard);
      if (left <= 0) link.abort(new Error("silence"));
      else watchdog = after(left, watch);
    };
    watch();
    try {
      const headers = { Accept: "text/event-stream" };
      const parameters = windowParameters(this.#window);
      if (this.#withPresence) Object.assign(parameters, { presence: true, client: this.#client.presence.name });
      this.#followed = this.#window;
      parameters.view = this.#followedView = this.#requests.viewText;
      const isOtherView = this.#followedView !== this.#shownView;
      if ((this.#window || isOtherView) && this.#position !== undefined) {
        // `Last-Event-ID` counts only for the same window and view.
        parameters.since = this.#position;
        const oldView = isOtherView ? this.#shownView ?? "{}" : undefined;
        if (isOtherView || (this.#shown && this.#shown !== this.#window)) parameters.from = encodedWindow(this.#shown, oldView);
      } else if (this.#position !== undefined) {
        headers["Last-Event-ID"] = this.#position;
      }
      const path = withQuery(`${this.#requests.path}/updates`, parameters);
      const response = await this.#client.fetch(request("GET", path, undefined, headers), undefined, link.signal);
      if (!response.ok) throw problem(response, await response.text());
      // Maybe a network's log-in page.
      if (!/^text\/event-stream\s*(;|$)/i.test(response.headers.get("content-type") ?? "")) {
        throw new ConnectionError("The answer is no stream of events.");
      }
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new ConnectionError("The server ended the stream.");
        heard = Date.now();
        for (const event of parser.events(decoder.decode(value, { stream: true }))) {
          if (signal.aborted) return;
          this.#take(event);
          onEvent();
          if (this.#hasEnded) return;
        }
        if (parser.retryTime !== undefined) this.#retryTime = parser.retryTime;
      }
    } catch (error) {
      if ([Problem, ConnectionError, UpdateFault].some((type) => error instanceof type)) throw error;
      throw new ConnectionError("The connection was lost.", error);
    } finally {
      clearTimeout(watchdog);
      link.release();
      // Cancels the rest of the answer.
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
        this.#noteShown(this.#followed, id);
        return this.#tell("onSnapshot", this.snapshot, previous);
      case "update": {
        const update = JSON.parse(data);
        // Came already, on an earlier connection.
        const isOfOtherView = this.#followedView !== this.#shownView;
        if (update.to <= previous.revision && !((previous.window || isOfOtherView) && update.from === previous.revision)) return;
        // Revisions without visible changes have no update.
        const before = { ...previous, revision: Math.max(previous.revision, update.from) };
        this.snapshot = applying(update, before);
        this.#position = id;
        this.#noteShown(this.#followed, id);
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
        this.#noteShown(this.#followed, id);
        if (this.#withPresence) appearAgain(this.#client, this.#requests);
        return this.#turn("live");
      }
      case "presence": {
        const { present, changed = [], left = [] } = JSON.parse(data);
        const clients = new Map((present ?? this.present).map((client) => [client.id, client]));
        for (const client of changed) clients.set(client.id, client);
        for (const id of left) clients.delete(id);
        this.present = [...clients.values()];
        return this.#tell("onPresence", this.present);
      }
      case "ended":
        this.#hasEnded = true;
    }
  }

  #turn(status, failure) {
    this.status = status;
    this.#tell("onStatus", status, failure);
  }

  /** A listener's error is thrown in a microtask, so that it does not interrupt us. */
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

/** Trying again is pointless: the session has ended, or the token is not valid. */
function isFinal(failure) {
  return failure instanceof Problem && failure.status < 500 && failure.status !== 408 && failure.status !== 429;
}

/** Server-sent events in pieces (WHATWG HTML, 9.2.6). Linear, even if a line comes in many pieces. */
class EventParser {
  /** Of `retry:`, in milliseconds. */
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

  /** An empty line ends an event, which counts only with data. */
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
