/** The JavaScript client of Braid Server. docs/clients.md shows how to use it, docs/http-api/ describes the requests. */

// Values. JSON numbers become JavaScript numbers: digits that a double cannot hold are rounded.

export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };
/** `[section, row]`: the indexes of a displayed section and of a displayed row in this section, from 0. */
export type IndexPath = [section: number, row: number];
/** Names a row: by its row number in a section (the section's id or displayed index), or by the row's id. */
export type RowReference =
  | { section: string | number; row: number }
  | readonly [section: string | number, row: number]
  | { id: string | number; section?: string | number };
/** The place of a new row among the stored rows of its section. A number is an index from 0. */
export type RowPlacement = "start" | "end" | { before: string | number } | { after: string | number } | number;
/** A height. The client decides the unit. */
export type Dimension = number | "automatic";

export interface Row {
  id?: string;
  cell: string;
  model?: JSONValue;
  viewModel?: JSONValue;
  editing?: "delete" | "insert";
  movable?: boolean;
  height?: Dimension;
  estimatedHeight?: Dimension;
}

export type SectionTitle =
  | { title: string; height?: Dimension; estimatedHeight?: Dimension }
  | { view: string; viewModel?: JSONValue; height?: Dimension; estimatedHeight?: Dimension };

export interface Section {
  id: string;
  header: SectionTitle | null;
  footer: SectionTitle | null;
  /** The number of all displayed rows of the section, including rows outside of a window. */
  rowCount: number;
  /**
   * The index, among all rows of the section, of the first element of `rows`. Present only in the snapshot of a window.
   */
  offset?: number;
  /**
   * The sections to which rows of this section may be moved: the sections with these ids, or with "anySection" all
   * sections whose rows are stored and have the same model type.
   */
  movesTo?: "anySection" | string[];
  /** `false` if some rows of the section have no id, or if the models of its model type have no ids. */
  diffable?: false;
  rows: Row[];
}

/** A window: a run of a table's rows, by its place (`offset`, `limit`) or around a row (`around`, `before`, `after`). */
export interface TableWindow {
  /** The id of the section whose rows the window shows. Without `section`, the window shows rows of all sections. */
  section?: string;
  /** The index of the window's first row. A negative offset counts from the end. */
  offset?: number;
  /** The maximum number of rows in the window: 100 by default. */
  limit?: number;
  /** The id of the window's anchor: the row that the window stays with when rows are inserted or deleted. */
  around?: string;
  /** The id of the anchor's section. */
  aroundSection?: string;
  /** The maximum number of rows before the anchor: 50 by default. */
  before?: number;
  /** The maximum number of rows after the anchor: 50 by default. */
  after?: number;
}

/** The place of a window: the number of rows before the window's first row, and the window's anchor. */
export interface WindowPlace {
  offset: number;
  anchor?: { section: string; id: string };
}

/** The displayed table of a session at one revision, or a window of it. */
export interface Snapshot {
  session?: string;
  table?: string;
  epoch?: string;
  revision: number;
  /** The number of displayed rows of the whole table. */
  totalRowCount: number;
  /** The place of the window. Present only in the snapshot of a window. */
  window?: WindowPlace;
  sections: Section[];
  state: { [name: string]: JSONValue };
  /** A value that says what to show while the table has no rows. Absent if the table has rows or has no such value. */
  empty?: JSONValue;
}

/**
 * A stage: operations that a list view applies together, as in one `performBatchUpdates` of UITableView. The indexes in
 * deletes, reloads and updates, and the `from` of moves, refer to the table before the stage. The indexes in inserts,
 * and the `to` of moves, refer to the table after the stage.
 */
export interface Stage {
  deleteSections?: number[];
  insertSections?: { at: number; section: Section }[];
  moveSections?: { from: number; to: number }[];
  reloadSections?: { at: number; section: Section }[];
  /**
   * The new headers, footers or `movesTo` of sections. The value null means that the section no longer has this member.
   */
  updateSections?: { at: number; header?: SectionTitle | null; footer?: SectionTitle | null; movesTo?: "anySection" | string[] | null }[];
  deleteRows?: IndexPath[];
  insertRows?: { at: IndexPath; row: Row }[];
  /**
   * Moves of rows. `row` is the moved row's new content, if a move also changed the row and the row needs no visual
   * reload.
   */
  moveRows?: { from: IndexPath; to: IndexPath; row?: Row }[];
  reloadRows?: { at: IndexPath; row: Row }[];
  updateRows?: { at: IndexPath; row: Row }[];
}

/** The change from the snapshot of revision `from` to the snapshot of revision `to`. */
export interface Update {
  from: number;
  to: number;
  stages: Stage[];
  /** The number of displayed rows of the whole table after the update. */
  totalRowCount: number;
  /** The session's new state. Absent if the state did not change. */
  state?: { [name: string]: JSONValue };
  /** The snapshot's new `empty`. Absent if `empty` did not change; null if the snapshot no longer has `empty`. */
  empty?: JSONValue;
  /**
   * Present only in updates of a window. The new `offset` and `rowCount` of sections that stay in the window. `section`
   * is the section's index in the window after the update.
   */
  extents?: { section: number; offset: number; rowCount: number }[];
  /** The window's new place. Present only in updates of a window that change the place. */
  window?: WindowPlace;
}

/** A position in a session's history: a revision, `"<epoch>.<revision>"`, or a snapshot, which means the snapshot's position. */
export type Position = number | string | Snapshot;
/** Returns the text of a position for a request: `"<epoch>.<revision>"`, or only the revision if the epoch is unknown. */
export declare function position(at: Position): string;

// Updates.

/** The error for an update that cannot be applied to a snapshot, or that breaks a rule for updates. */
export declare class UpdateFault extends Error {
  constructor(detail: string, stage?: number);
  readonly detail: string;
  /** The index of the faulty stage, from 0. `undefined` if the fault is not in a stage. */
  readonly stage?: number;
}

/**
 * Returns the snapshot after the update. `snapshot` itself does not change. Throws `UpdateFault` if the update does not
 * fit the snapshot or breaks a rule for updates.
 */
export declare function applying(update: Update, snapshot: Snapshot): Snapshot;

/** One stage of an update, with the snapshots before and after the stage. */
export interface Step {
  /** The index of the stage, from 0. */
  number: number;
  stage: Stage;
  /** The snapshot before the stage. */
  previous: Snapshot;
  /**
   * The snapshot with the sections after the stage. Its `revision`, `state` and `empty` are still those before the
   * update. In a window, its `totalRowCount`, `window`, `offset` and `rowCount` are, too.
   */
  snapshot: Snapshot;
}

/**
 * Yields the stages of an update in order, so that a view can animate each stage. Throws `UpdateFault` if a stage does
 * not fit the snapshot or breaks a rule for updates.
 */
export declare function stages(update: Update, snapshot: Snapshot): Generator<Step, void, undefined>;

// Failures.

/** The kind of a fault in a request's body. A newer server may send codes that are not in this list. */
export type FaultCode =
  | "missing-member"
  | "unknown-member"
  | "wrong-type"
  | "invalid-value"
  | "out-of-range"
  | "duplicate"
  | "unknown-name"
  | "conflict"
  | "template-failed"
  | "refused"
  | (string & {});

/** One fault of a request's body, or a failure of a template. */
export interface Fault {
  /** A JSON Pointer to the faulty place in the request's body, or to the template in the table description. */
  readonly pointer: string;
  readonly code: FaultCode;
  /** A text for developers: what is wrong at the pointer's place. */
  readonly detail: string;
  /** The section, and the index and the id of the row, for which a template failed. */
  readonly section?: string;
  readonly row?: number;
  readonly id?: string;
}

/** The error for an answer with which the server, or a proxy, refused a request. */
export declare class Problem extends Error {
  constructor(status: number, document?: { [name: string]: unknown }, retryAfter?: number);
  readonly status: number;
  /** All members of the problem document, including those that only some problems have. */
  readonly document: { [name: string]: any };
  /**
   * The URI of the problem's type, such as `/problems/row-gone`. The type is "about:blank" if a proxy answered without
   * a problem document.
   */
  readonly type: string;
  /** The last part of `type`, such as `row-gone`. */
  readonly kind: string;
  readonly title?: string;
  readonly detail?: string;
  readonly instance?: string;
  readonly requestId?: string;
  /** The number of the refused line of an `observe` body, from 1. */
  readonly line?: number;
  /** The faults of the request's body. Empty if the answer lists none. */
  readonly errors: Fault[];
  /** The pointer of the first element of `errors`. */
  readonly pointer?: string;
  /**
   * The number of milliseconds after which the server wants the request to be repeated. Absent if the answer does not
   * say.
   */
  readonly retryAfter?: number;
  /** The number of the client's tries. A request that was sent again with a new token counts as the same try. */
  readonly tries: number;
}

/**
 * The error for a request without a usable answer, for example after a lost connection. The server may have applied a
 * command that failed with this error. If the command is sent again with the same idempotency key, it is not applied twice.
 */
export declare class ConnectionError extends Error {
  constructor(message: string, cause?: unknown);
  /** The number of the client's tries. A request that was sent again with a new token counts as the same try. */
  readonly tries: number;
}

// The client.

/** An HTTP request for the method `send`. */
export interface Request {
  method: string;
  /** The path and the query of the request's URL. */
  path: string;
  headers: { [name: string]: string };
  /** The JSON value that the client sends as the body. */
  body?: JSONValue;
  /**
   * Whether the client may send the request again after a failure without knowing whether the server applied the request:
   * true by default.
   */
  isRepeatable?: boolean;
}

export interface SendOptions {
  signal?: AbortSignal;
  /** The maximum number of times that the client sends a failed request again. */
  retries?: number;
}

/**
 * An access token, or a function that provides tokens. The client calls the function without an argument before its first
 * request. If the server refuses a token (401), the client calls the function with the refused token. An error of the
 * function counts as a failed connection.
 */
export type Token = string | ((refused?: string) => string | undefined | Promise<string | undefined>);

export interface ClientOptions {
  /** The URL of the server. In a web page, the default is the origin of the page. */
  url?: string | URL;
  /** The controller's token, or a token for one session. */
  token?: Token;
  /**
   * The number of milliseconds that the client waits for a complete answer: 60,000 by default. For a long poll, the
   * client waits longer by the poll's `wait`.
   */
  timeout?: number;
  /**
   * The maximum number of times that the client sends a failed request again: 6 by default. The delays before six
   * repetitions add up to about 16 seconds on average.
   */
  retries?: number;
  /** Replaces `fetch`, for tests. */
  fetch?: typeof fetch;
  /** Replaces `Math.random`, for tests: returns a number from 0 to 1. */
  random?: () => number;
  /** Replaces the client's timer, for tests. */
  wait?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/** A session without its rows. */
export interface SessionSummary {
  id: string;
  /** The name of the session's table description. Absent for a session without a table description. */
  table?: string;
  /** The version of the table description. Absent if the session has no description, or one that is not registered. */
  tableVersion?: number;
  epoch: string;
  revision: number;
  created: string;
  updated: string;
  totalRowCount: number;
}

/** The files of table descriptions that the server watches. */
export interface WatchedFiles {
  /** The revision of this list. It increases with each change of `watching` or `files`. */
  revision: number;
  /** Whether the server watches any files of table descriptions. */
  watching: boolean;
  /**
   * The state of each watched file. A fault normally has the form `file:line:column: pointer: message`. `behind` lists
   * the sessions that keep an earlier version of the description, and why.
   */
  files: { file: string; table?: string; version?: number; faults: string[]; behind: { session: string; detail: string }[] }[];
}

/**
 * The request to open a session. `table` is the name of a registered description, or a whole description. Without
 * `table`, the rows come from `row`, `rows`, `section` or `sections`, or from another session. `from` names the other
 * session: the new session starts with the other session's table at `revision`, or with its current table.
 */
export interface Opening {
  id?: string;
  table?: string | object;
  models?: { [section: string]: JSONValue[] };
  state?: { [name: string]: JSONValue };
  row?: JSONValue;
  rows?: JSONValue[];
  section?: object;
  sections?: object[];
  from?: { session: string; revision?: number };
  cellsForModelTypes?: { [modelType: string]: string };
  /**
   * The snapshot's `empty` while the table has no rows: any value except null. `empty` is allowed only without `table`.
   */
  empty?: JSONValue;
  /** Seconds, at least 60: the server ends the session when nobody has used it for this time. */
  endIfUnused?: number;
}

export declare class BraidClient {
  constructor(options?: ClientOptions);
  url: string;
  token?: Token;
  readonly tables: {
    list(options?: SendOptions): Promise<{ table: string; version: number; updated: string }[]>;
    /** Returns the latest version of a table description, or the version in `options`. */
    get(name: string, options?: SendOptions & { version?: number }): Promise<object>;
    versions(name: string, options?: SendOptions): Promise<{ version: number; updated: string }[]>;
    /**
     * Registers a table description. With `ifMatch`, the server replaces the description only if its current version
     * has this ETag. With `ifNoneMatch: "*"`, the server registers the description only if its name is new. If the
     * condition is not met, the method throws a `Problem` with the status 412.
     */
    put(
      name: string,
      description: object,
      options?: SendOptions & { ifMatch?: string; ifNoneMatch?: "*" },
    ): Promise<{ table: string; version: number }>;
    delete(name: string, options?: SendOptions): Promise<void>;
    /**
     * Checks a table description without registering it. If the description has faults, the method throws a `Problem`
     * whose `errors` lists the faults. `warnings` lists allowed parts of the description that are probably mistakes.
     */
    validate(description: object, options?: SendOptions): Promise<{ table: string; valid: true; warnings?: Fault[] }>;
  };
  readonly sessions: {
    /** Returns one page of the list of sessions. `next` is the value of `after` for the next page. */
    list(options?: { table?: string; limit?: number; after?: string; signal?: AbortSignal }): Promise<{ sessions: SessionSummary[]; next?: string }>;
    /**
     * Opens a session. `key` is the idempotency key of the request; by default the client makes a key. If `key` is
     * null, the client does not repeat a request that the server may have carried out.
     */
    open(opening: Opening, options?: { key?: string | null; signal?: AbortSignal }): Promise<Session>;
    /** Ends a session. */
    delete(id: string, options?: SendOptions): Promise<void>;
  };
  /** Returns an object for the session with this id. The method sends no request. */
  session(id: string): Session;
  /**
   * Returns the JSON that the server renders from a JSON-e template. The template can use the names and values of
   * `context`.
   */
  render(template: JSONValue, context?: { [name: string]: JSONValue }, options?: SendOptions): Promise<JSONValue | undefined>;
  /** Returns the minimal update that leads from one snapshot to another. */
  diff(from: Snapshot, to: Snapshot, options?: SendOptions): Promise<Update>;
  /**
   * Returns the files of table descriptions that the server watches (`--watch`). With `since`, the `revision` of an earlier
   * answer, the server waits up to `wait` seconds for a newer revision.
   */
  fixtures(options?: SendOptions & { since?: number; wait?: number }): Promise<WatchedFiles>;
  /** Returns the server's readiness (`/readyz`). Throws at once, without a retry, if the server is not ready. */
  health(options?: SendOptions): Promise<{ status: string }>;
  /**
   * Returns a shell command that sends the request with curl. If the client has a token, the command contains the
   * variable BRAID_TOKEN in place of the token.
   */
  curl(request: Request): string;
  /**
   * Sends a request and returns the JSON of the answer, or the answer's text if the request's `Accept` asks for text. The
   * client sends the commands of one session in the order of the calls. The client sends a command only after the earlier
   * commands of the session were answered or have failed.
   */
  send(request: Request, options?: SendOptions): Promise<any>;
}

export interface CommandOptions {
  /**
   * The position of the snapshot to which the command's index paths refer. Allowed only for edits, moves, events, taps
   * and the data source.
   */
  base?: Position;
  /** The server applies the command only if the session is still at this position. Otherwise the server answers 412. */
  ifMatch?: string | Snapshot;
  /** With `dryRun`, the server computes and answers the command, but does not apply it. */
  dryRun?: boolean;
  /**
   * The request's idempotency key. By default the client makes a key for each request that is not a dry run. If `key`
   * is null, the client does not repeat a command that the server may have applied.
   */
  key?: string | null;
  signal?: AbortSignal;
}

export interface StrictOptions extends CommandOptions {
  /** With `strict`, the server refuses a call of the data source that it would otherwise ignore, with 404. */
  strict?: boolean;
}

export interface DataSourceOptions extends StrictOptions {
  /**
   * With `notify: false`, the server stores the change, and publishes it with the next command without `notify: false`.
   */
  notify?: boolean;
}

/** The server's answer to a command. */
export interface Answer {
  /** The session's revision after the command. */
  revision: number;
  outcome: "applied" | "unchanged" | "ignored";
  /** Says why the server ignored the command. Present only if `outcome` is "ignored". */
  reason?: string;
  /** The index path at which the server found the command's row. Present only in answers to commands with `base`. */
  at?: IndexPath;
  /**
   * The notification that the delegate of an iOS DataSourceController would have received. Present only in the answer
   * to a call of the data source.
   */
  notification?: { dataSource: true } | { section: number } | { rows: IndexPath[] } | null;
  /** What `insertRows` or `putRows` did with its models. `section` received the inserted and the moved rows. */
  rows?: { section: string; inserted: number; replaced: number; moved: number; unchanged: number };
  update: Update;
}

type Titles = { [section: string]: string | object | null };

/**
 * One method for each command of a session. The methods of `Session` send the command. The methods of `session.request`
 * only make the request.
 */
interface Commands<Result> {
  edit(body: { delete: RowReference } | { insert: RowReference; model?: JSONValue }, options?: CommandOptions): Result;
  /**
   * Moves a row. A row number in `to` counts the rows without the moved row. If `to` contains an id, the row moves
   * before the row with this id.
   */
  move(body: { from: RowReference; to: RowReference }, options?: CommandOptions): Result;
  /**
   * Reports an event of a cell, such as typing. `event` has one member, whose name is the event's name and whose value
   * contains the event's parameters.
   */
  event(at: RowReference, event: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  tap(at: RowReference, options?: CommandOptions): Result;
  displayedRows(rows: RowReference[], options?: CommandOptions): Result;
  /** Replaces the models of all sections. Sections that `models` does not name become empty. */
  setModels(models: { [section: string]: JSONValue[] }, options?: CommandOptions): Result;
  /** Replaces the models of the sections that `models` names. */
  patchModels(models: { [section: string]: JSONValue[] | null }, options?: CommandOptions): Result;
  /** Sets the headers of all sections. Sections that `headers` does not name show the header from the description. */
  setHeaders(headers: Titles, options?: CommandOptions): Result;
  /** Sets the headers of the sections that `headers` names. */
  patchHeaders(headers: Titles, options?: CommandOptions): Result;
  /** Sets the footers of all sections. Sections that `footers` does not name show the footer from the description. */
  setFooters(footers: Titles, options?: CommandOptions): Result;
  /** Sets the footers of the sections that `footers` names. */
  patchFooters(footers: Titles, options?: CommandOptions): Result;
  setDisplayedSections(ids: string[], options?: CommandOptions): Result;
  /** Replaces the whole state. */
  setState(state: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  /** Merges a patch into the state (RFC 7396). */
  patchState(patch: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  /** Applies all of the commands as one revision. If a command fails, the server applies none of them. */
  transaction(commands: object[], options?: StrictOptions): Result;
  /** Resets the session to the models, titles, displayed sections, state and cells that it was opened with. */
  reset(options?: CommandOptions): Result;
  /**
   * Binds the session to another version of its table description, or to another description of the same name.
   * `discard` lists the ids of sections that may lose models or titles that do not fit the new description.
   */
  setTable(table: { version: number; discard?: string[] } | { table: object; discard?: string[] }, options?: CommandOptions): Result;
  addRow(at: RowReference, model: JSONValue, options?: DataSourceOptions): Result;
  updateRow(at: IndexPath, model: JSONValue, options?: DataSourceOptions): Result;
  /** `section` is a section's id or its index, also in the following calls. */
  updateRowsOfSection(section: string | number, models: JSONValue[], options?: DataSourceOptions): Result;
  updateRows(rows: { at: RowReference; model: JSONValue }[], options?: DataSourceOptions): Result;
  removeRow(at: IndexPath, options?: DataSourceOptions): Result;
  /** Adds a section before the section with the index `at`. If `at` is null, the server appends the section. */
  addSection(section: object, at: number | null, options?: DataSourceOptions): Result;
  updateSectionData(section: string | number, data: { header?: string | object | null; footer?: string | object | null }, options?: DataSourceOptions): Result;
  updateSection(section: string | number, content: object, options?: DataSourceOptions): Result;
  updateAllSections(sections: object[], options?: DataSourceOptions): Result;
  removeSection(section: string | number, options?: DataSourceOptions): Result;
  removeAllSections(options?: DataSourceOptions): Result;
  /** Inserts a row into a section. `at` is a place among the section's stored rows. */
  insertRow(section: string | number, at: RowPlacement, model: JSONValue, options?: DataSourceOptions): Result;
  /** Inserts several rows, as `insertRow` does. */
  insertRows(section: string | number, at: RowPlacement, models: JSONValue[], options?: DataSourceOptions): Result;
  /**
   * Replaces the rows that have the models' ids, in whichever section each of them is, and inserts the other models into
   * `section`, at the end or at `at`. With `move`, rows of other sections move there.
   */
  putRows(section: string | number, models: JSONValue[], how?: { at?: RowPlacement; move?: boolean }, options?: DataSourceOptions): Result;
  /** Replaces the row with this id in a section, or appends the row. The model must contain the id. */
  putRow(section: string | number, id: string | number, model: JSONValue, options?: DataSourceOptions): Result;
  /** Merges a patch (RFC 7396) into the model of the row with this id. */
  patchRow(section: string | number, id: string | number, patch: JSONValue, options?: DataSourceOptions): Result;
  /** Deletes the row with this id. */
  deleteRow(section: string | number, id: string | number, options?: DataSourceOptions): Result;
  registerCell(modelType: string, cell: string, options?: CommandOptions): Result;
}

/** A token for one session, without its secret. */
export interface SessionToken {
  tokenId: string;
  role: "participant" | "viewer";
  created: string;
  expires: string;
}

export interface Session extends Commands<Promise<Answer>> {}
/** A session on the server. A command's method returns the command's answer. A refused command throws a `Problem`. */
export declare class Session {
  constructor(client: BraidClient, id: string, opened?: Snapshot);
  readonly id: string;
  /** The answer to opening the session. `undefined` if this object was made by `client.session`. */
  readonly opened?: Snapshot;
  /** Makes the requests of commands without sending them, for `client.send` and `client.curl`. */
  readonly request: Commands<Request>;
  readonly tokens: {
    create(token: { role: "participant" | "viewer"; expiresIn: number }, options?: SendOptions): Promise<SessionToken & { token: string }>;
    list(options?: { limit?: number; after?: string; signal?: AbortSignal }): Promise<{ tokens: SessionToken[]; next?: string }>;
    delete(tokenId: string, options?: SendOptions): Promise<void>;
  };
  /** Returns the session's revision, times and number of rows, without its rows. */
  summary(options?: SendOptions): Promise<SessionSummary>;
  /** Returns the table description to which the session is bound. */
  table(options?: { signal?: AbortSignal }): Promise<object>;
  /**
   * Gets the snapshot of the whole table or of a window. `at` is an earlier position, which the journal must still
   * contain.
   */
  snapshot(options?: { window?: TableWindow; at?: Position; signal?: AbortSignal }): Promise<Snapshot>;
  /**
   * Gets the updates after the position `since`. If there are none, the server waits up to `wait` seconds for one. The
   * server refuses a `wait` of more than 60. If the caller's snapshot at `since` shows another window than `window`,
   * `from` is that window.
   */
  updates(
    since: Position,
    options?: { wait?: number; coalesce?: boolean; window?: TableWindow; from?: TableWindow; signal?: AbortSignal },
  ): Promise<{ reset?: undefined; from: number; to: number; updates: Update[] } | { reset: true; snapshot: Snapshot }>;
  /** Returns one page of the session's journal. `next` is the value of `after` for the next page. */
  journal(options?: { after?: number; limit?: number; signal?: AbortSignal }): Promise<{
    records: { revision: number; at: string; command: JSONValue; update: Update }[];
    next?: number;
  }>;
  /** Returns the whole journal as lines of JSON, for `braid-server replay`. */
  journalFile(options?: SendOptions): Promise<string>;
  /** Returns the stored model of the row at an index path. If the row has no model, returns its view model or null. */
  model(at: IndexPath, options?: SendOptions): Promise<JSONValue>;
  /** Returns the stored model of the row with an id. `section` is the section's id. */
  row(section: string, id: string | number, options?: SendOptions): Promise<JSONValue>;
  /** Returns the stored header and footer of the section with an index. */
  sectionData(section: number, options?: SendOptions): Promise<{ header: JSONValue; footer: JSONValue }>;
  /** Ends the session. */
  delete(options?: SendOptions): Promise<void>;
  /** Follows the session's changes until `close()` is called or the subscription ends (`onEnd`). */
  subscribe(options?: SubscribeOptions): Subscription;
}

export type SubscriptionStatus = "connecting" | "live" | "waiting" | "paused" | "ended" | "closed";

/** A tap on a row. The members describe the row as it was before the handler of the tap ran. */
export interface Tap {
  at: IndexPath;
  id?: string;
  cell: string;
  model?: JSONValue;
}

/**
 * An event of a row's cell, such as typing. `event` has one member, whose name is the event's name and whose value
 * contains the event's parameters.
 */
export interface CellEvent extends Tap {
  event: { [name: string]: JSONValue };
}

/** An event that a handler of the table description emitted. */
export interface EmittedEvent {
  name: string;
  payload?: JSONValue;
}

export interface SubscribeOptions {
  /** A snapshot that the caller already has. The subscription continues from it. Without `from`, the server sends a snapshot first. */
  from?: Snapshot;
  /** The window to follow, in place of the whole table. */
  window?: TableWindow;
  /** The number of rows that `show` requests before and after the visible rows: 50 by default. */
  overscan?: number;
  /**
   * Called with each snapshot that the server sends, at first or in place of updates. Show the snapshot without
   * animation.
   */
  onSnapshot?: (snapshot: Snapshot, previous: Snapshot | undefined) => void;
  /** Called with each update. `snapshot` is `previous` with the update applied. */
  onUpdate?: (update: Update, snapshot: Snapshot, previous: Snapshot) => void;
  /**
   * Called with each cell event, if the client is a controller. The call comes before the update that the event
   * caused. If the connection was lost between the event and its update, the event comes again.
   */
  onCellEvent?: (event: CellEvent) => void;
  /**
   * Called with each tap, if the client is a controller. A tap comes before the update that the tap caused,
   * and may come again, as described for `onCellEvent`.
   */
  onTap?: (tap: Tap) => void;
  /**
   * Called with each emitted event, if the client is a controller. An emitted event comes before the update of
   * its command, and may come again, as described for `onCellEvent`.
   */
  onEmitted?: (event: EmittedEvent) => void;
  /**
   * Called with each change of the subscription's status, except by `close()`. `failure` says why the subscription
   * waits or has ended.
   */
  onStatus?: (status: SubscriptionStatus, failure?: Error) => void;
  /**
   * Called when the subscription ends. Without a `problem`, the session has ended. A `problem` is a refusal that the
   * server would repeat, for example because the token is not valid.
   */
  onEnd?: (problem?: Problem) => void;
  /**
   * The number of milliseconds without data from the server after which the client connects again: 40,000 by default.
   */
  silence?: number;
}

/** A connection to the server that follows a session's changes. Made by `session.subscribe`. */
export declare class Subscription {
  private constructor();
  readonly status: SubscriptionStatus;
  /** The session's snapshot, kept up to date. Without `from`, `undefined` until a snapshot has arrived. */
  readonly snapshot?: Snapshot;
  /** The revision of `snapshot`. */
  readonly revision?: number;
  /** The window that the subscription follows, with its current anchor, if any. `undefined` for the whole table. */
  readonly window?: TableWindow;
  /**
   * Follows another window from now on. An update changes the snapshot of the old window into the snapshot of the new
   * one, or a new snapshot arrives.
   */
  move(window: TableWindow): void;
  /**
   * Tells the subscription which rows are visible: from the row with the index `first` to the row with the index
   * `last`. The indexes count the rows of the window's section, or of the whole table. Moves the window if fewer rows
   * than half of `overscan` are between the visible rows and an edge of the window that is not also the table's edge.
   * The new window contains the visible rows, and `overscan` rows before and after them. The new window stays with the
   * row in the middle of the visible rows, if this row is loaded and has an id.
   */
  show(first: number, last: number): void;
  /** Closes the connection until `resume`, for example while the page is hidden. */
  pause(): void;
  /** Connects again after `pause`. The subscription continues after the last event that it received. */
  resume(): void;
  /** Ends the subscription and closes its connection. */
  close(): void;
}
