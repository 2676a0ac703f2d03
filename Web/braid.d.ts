/** The JavaScript client of Braid Server. Guide: docs/clients/web.md. Requests: docs/http-api/. */

// Values. Numbers are JavaScript's: digits beyond a double are rounded.

export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };
/** Among displayed sections and rows, from 0. */
export type IndexPath = [section: number, row: number];
/** A row by its number in a section (id or displayed index), or by its id. */
export type RowReference =
  | { section: string | number; row: number }
  | readonly [section: string | number, row: number]
  | { id: string | number; section?: string | number };
/** Among the section's stored rows; a number is an index from 0. */
export type RowPlacement = "start" | "end" | { before: string | number } | { after: string | number } | number;
/** The client decides the unit. */
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
  /** All displayed rows, also outside of a window. */
  rowCount: number;
  /** In a window: the index of `rows[0]` in the section. */
  offset?: number;
  /** Where rows may move; "anySection": to all with stored rows of the same model type. */
  movesTo?: "anySection" | string[];
  /** Some rows, or the model type, have no ids. */
  diffable?: false;
  rows: Row[];
}

/** A run of rows, by place (`offset`, `limit`) or around a row (`around`, `before`, `after`). */
export interface TableWindow {
  /** Without it, across all sections. */
  section?: string;
  /** Of the first row; negative from the end. */
  offset?: number;
  /** 100 by default, at most 10,000. */
  limit?: number;
  /** The anchor's id: the window stays with this row. */
  around?: string;
  /** The anchor's section. */
  aroundSection?: string;
  /** At most so many rows before the anchor; 50 by default. */
  before?: number;
  /** At most so many rows after the anchor; 50 by default. */
  after?: number;
}

/** The rows before the window, and its anchor. */
export interface WindowPlace {
  offset: number;
  anchor?: { section: string; id: string };
}

/** What is displayed at one revision: the table or a window of it. */
export interface Snapshot {
  session?: string;
  table?: string;
  epoch?: string;
  revision: number;
  /** Of the whole table. */
  totalRowCount: number;
  /** Only in a window. */
  window?: WindowPlace;
  sections: Section[];
  state: { [name: string]: JSONValue };
  /** What to show while there are no rows. */
  empty?: JSONValue;
}

/**
 * Operations to apply together, as in one `performBatchUpdates`. Deletes, reloads, updates and `from` refer to the
 * table before the stage; inserts and `to`, to the one after it.
 */
export interface Stage {
  deleteSections?: number[];
  insertSections?: { at: number; section: Section }[];
  moveSections?: { from: number; to: number }[];
  reloadSections?: { at: number; section: Section }[];
  /** null: no longer has it. */
  updateSections?: { at: number; header?: SectionTitle | null; footer?: SectionTitle | null; movesTo?: "anySection" | string[] | null }[];
  deleteRows?: IndexPath[];
  insertRows?: { at: IndexPath; row: Row }[];
  /** `row`: new content, if it changed without need of a redraw. */
  moveRows?: { from: IndexPath; to: IndexPath; row?: Row }[];
  reloadRows?: { at: IndexPath; row: Row }[];
  updateRows?: { at: IndexPath; row: Row }[];
}

export type Role = "controller" | "participant" | "viewer";

/** A user in your own system. */
export interface Author {
  id: string;
  name: string | null;
}

/** Who sent a command. `id` is null for a token without a user. */
export interface Actor {
  id: string | null;
  name: string | null;
  role: Role;
  /** In the journal, if there are any. */
  claims?: { [name: string]: JSONValue };
}

/** One of those present in a session. */
export interface PresentClient {
  /** The same as long as the client's token and name are. */
  id: string;
  user?: { id: string | null; name: string | null };
  role: Role;
  /** It may have moved, or be gone. `section`: if several display a row with this id. */
  at?: { id: string; section?: string };
  data?: JSONValue;
  since: string;
}

/** From one revision to another. */
export interface Update {
  from: number;
  to: number;
  stages: Stage[];
  /** Of the whole table, afterwards. */
  totalRowCount: number;
  /** Absent if unchanged. */
  state?: { [name: string]: JSONValue };
  /** Absent if unchanged; null if no longer there. */
  empty?: JSONValue;
  /** Who made it, if it is of one revision and the description has `authors`. */
  by?: Author;
  /** In a window: new `offset` and `rowCount` of sections that stay. `section`: the index after the update. */
  extents?: { section: number; offset: number; rowCount: number }[];
  /** In a window: its new place, if changed. */
  window?: WindowPlace;
}

/** In a session's history: a revision, `"<epoch>.<revision>"`, or a snapshot's. */
export type Position = number | string | Snapshot;
/** `"<epoch>.<revision>"`, or the revision without an epoch. */
export declare function position(at: Position): string;

// Updates.

/** An update that does not fit, or breaks a rule. */
export declare class UpdateFault extends Error {
  constructor(detail: string, stage?: number);
  readonly detail: string;
  /** From 0; `undefined` outside of stages. */
  readonly stage?: number;
}

/** The snapshot after the update; `snapshot` does not change. Throws `UpdateFault`. */
export declare function applying(update: Update, snapshot: Snapshot): Snapshot;

/** One stage, with the snapshots around it. */
export interface Step {
  /** From 0. */
  number: number;
  stage: Stage;
  /** Before the stage. */
  previous: Snapshot;
  /**
   * After it. `revision`, `state` and `empty` are still old; in a window, `totalRowCount`, `window`, `offset` and
   * `rowCount`, too.
   */
  snapshot: Snapshot;
}

/** The stages one by one, to animate. Throws `UpdateFault`. */
export declare function stages(update: Update, snapshot: Snapshot): Generator<Step, void, undefined>;

// Failures.

/** Newer servers may send others. */
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

/** A fault of a body, or a failed template. */
export interface Fault {
  /** JSON Pointer into the body, or to the template in the description. */
  readonly pointer: string;
  readonly code: FaultCode;
  /** What is wrong, for developers. */
  readonly detail: string;
  /** The row for which a template failed. */
  readonly section?: string;
  readonly row?: number;
  readonly id?: string;
}

/** A refusal by the server or a proxy. */
export declare class Problem extends Error {
  constructor(status: number, document?: { [name: string]: unknown }, retryAfter?: number);
  readonly status: number;
  /** All members, also rare ones. */
  readonly document: { [name: string]: any };
  /** Such as `/problems/row-gone`; "about:blank" from a proxy. */
  readonly type: string;
  /** The last part of `type`: `row-gone`. */
  readonly kind: string;
  readonly title?: string;
  readonly detail?: string;
  readonly instance?: string;
  readonly requestId?: string;
  /** Of an `observe` body: the refused line, from 1. */
  readonly line?: number;
  /** Faults of the body; maybe none. */
  readonly errors: Fault[];
  /** Of `errors[0]`. */
  readonly pointer?: string;
  /** Milliseconds; absent if the server says nothing. */
  readonly retryAfter?: number;
  /** How often it was tried. Again with a new token is the same try. */
  readonly tries: number;
}

/**
 * No usable answer, such as a lost connection. A command may have been applied: with the same idempotency key, it is
 * not applied twice.
 */
export declare class ConnectionError extends Error {
  constructor(message: string, cause?: unknown);
  /** How often it was tried. Again with a new token is the same try. */
  readonly tries: number;
}

// The client.

/** For `send`. */
export interface Request {
  method: string;
  /** Path and query. */
  path: string;
  headers: { [name: string]: string };
  /** Sent as JSON. */
  body?: JSONValue;
  /** Whether it may be sent again although the server may have applied it; true by default. */
  isRepeatable?: boolean;
}

export interface SendOptions {
  signal?: AbortSignal;
  /** How often a failed request is sent again. */
  retries?: number;
}

/**
 * A token, or a function that provides it: called without argument at first, after a 401 with the refused token. Its
 * error counts as a failed connection.
 */
export type Token = string | ((refused?: string) => string | undefined | Promise<string | undefined>);

export interface ClientOptions {
  /** In a page, by default its origin. */
  url?: string | URL;
  /** The controller's, or one for a session. */
  token?: Token;
  /** Milliseconds for a complete answer: 60,000 by default. Long polls get their `wait` in addition. */
  timeout?: number;
  /** How often a failed request is sent again: 6 by default, over about 16 seconds on average. */
  retries?: number;
  /** For tests. */
  fetch?: typeof fetch;
  /** For tests: 0 to 1. */
  random?: () => number;
  /** For tests. */
  wait?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/** Without its rows. */
export interface SessionSummary {
  id: string;
  /** Absent without a description. */
  table?: string;
  /** Absent without a registered description. */
  tableVersion?: number;
  epoch: string;
  revision: number;
  created: string;
  updated: string;
  totalRowCount: number;
}

/** Files of descriptions that the server watches. */
export interface WatchedFiles {
  /** Grows with each change. */
  revision: number;
  /** Whether any are watched. */
  watching: boolean;
  /**
   * A fault mostly reads `file:line:column: pointer: message`. `behind`: sessions that keep an earlier version, and
   * why.
   */
  files: { file: string; table?: string; version?: number; faults: string[]; behind: { session: string; detail: string }[] }[];
}

/**
 * How to open a session. `table`: a registered name or a whole description; without it, rows come from `row`, `rows`,
 * `section`, `sections`, or `from` another session, as it is or was at `revision`.
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
  /** Only without `table`: what to show while there are no rows. Not null. */
  empty?: JSONValue;
  /** Seconds, at least 60, after which an unused session ends. */
  endIfUnused?: number;
}

export declare class BraidClient {
  constructor(options?: ClientOptions);
  url: string;
  token?: Token;
  readonly tables: {
    list(options?: SendOptions): Promise<{ table: string; version: number; updated: string }[]>;
    /** The latest version, or `options.version`. */
    get(name: string, options?: SendOptions & { version?: number }): Promise<object>;
    versions(name: string, options?: SendOptions): Promise<{ version: number; updated: string }[]>;
    /**
     * Registers. `ifMatch`: only if the current version has this ETag; `ifNoneMatch: "*"`: only if new. Otherwise a
     * `Problem` 412.
     */
    put(
      name: string,
      description: object,
      options?: SendOptions & { ifMatch?: string; ifNoneMatch?: "*" },
    ): Promise<{ table: string; version: number }>;
    delete(name: string, options?: SendOptions): Promise<void>;
    /** Checks without registering. Faults are the `errors` of a `Problem`; `warnings` are probable mistakes. */
    validate(description: object, options?: SendOptions): Promise<{ table: string; valid: true; warnings?: Fault[] }>;
  };
  readonly sessions: {
    /** One page; `next` is its `after`. */
    list(options?: { table?: string; limit?: number; after?: string; signal?: AbortSignal }): Promise<{ sessions: SessionSummary[]; next?: string }>;
    /**
     * Opens a session. `key`: the idempotency key, made by default. null: not sent again once the server may have done
     * it.
     */
    open(opening: Opening, options?: { key?: string | null; signal?: AbortSignal }): Promise<Session>;
    /** Ends it. */
    delete(id: string, options?: SendOptions): Promise<void>;
  };
  /** Sends no request. */
  session(id: string): Session;
  /** Renders a JSON-e template with the names of `context`. */
  render(template: JSONValue, context?: { [name: string]: JSONValue }, options?: SendOptions): Promise<JSONValue | undefined>;
  /** The minimal update between two snapshots. */
  diff(from: Snapshot, to: Snapshot, options?: SendOptions): Promise<Update>;
  /**
   * The watched files (`--watch`). With `since`, an earlier answer's `revision`, waits up to `wait` seconds for a newer
   * one.
   */
  fixtures(options?: SendOptions & { since?: number; wait?: number }): Promise<WatchedFiles>;
  /** Throws at once if the server is not ready (`/readyz`). */
  health(options?: SendOptions): Promise<{ status: string }>;
  /** A curl command for the request, with $BRAID_TOKEN in place of the token. */
  curl(request: Request): string;
  /**
   * Returns the answer's JSON, or its text if `Accept` asks for that. A session's commands go out one after the other,
   * in the order of the calls.
   */
  send(request: Request, options?: SendOptions): Promise<any>;
}

export interface CommandOptions {
  /** The snapshot that index paths refer to. For edits, moves, events, taps and the data source. */
  base?: Position;
  /** Only at this position; otherwise 412. */
  ifMatch?: string | Snapshot;
  /** Only computes the answer. */
  dryRun?: boolean;
  /** The idempotency key, made by default. null: not sent again once the server may have applied it. */
  key?: string | null;
  signal?: AbortSignal;
}

export interface StrictOptions extends CommandOptions {
  /** 404 instead of ignoring a call of the data source. */
  strict?: boolean;
}

export interface DataSourceOptions extends StrictOptions {
  /** false: stores the change for the next command to publish. */
  notify?: boolean;
}

/** What a command did. */
export interface Answer {
  /** After the command. */
  revision: number;
  outcome: "applied" | "unchanged" | "ignored";
  /** Why it was ignored. */
  reason?: string;
  /** Where the row was found; only with `base`. */
  at?: IndexPath;
  /** After data source calls: what the delegate of an iOS DataSourceController would get. */
  notification?: { dataSource: true } | { section: number } | { rows: IndexPath[] } | null;
  /** After `insertRows` and `putRows`. `section`: where rows were inserted and moved to. */
  rows?: { section: string; inserted: number; replaced: number; moved: number; unchanged: number };
  update: Update;
}

type Titles = { [section: string]: string | object | null };

/** The commands. `Session` sends them, `session.request` only makes the requests. */
interface Commands<Result> {
  edit(body: { delete: RowReference } | { insert: RowReference; model?: JSONValue }, options?: CommandOptions): Result;
  /** A row number in `to` counts without the moved row; an id means before that row. */
  move(body: { from: RowReference; to: RowReference }, options?: CommandOptions): Result;
  /** A cell's event: `{name: parameters}`. */
  event(at: RowReference, event: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  tap(at: RowReference, options?: CommandOptions): Result;
  displayedRows(rows: RowReference[], options?: CommandOptions): Result;
  /** All models; sections left out become empty. */
  setModels(models: { [section: string]: JSONValue[] }, options?: CommandOptions): Result;
  /** The models of these sections. */
  patchModels(models: { [section: string]: JSONValue[] | null }, options?: CommandOptions): Result;
  /** All headers; sections left out show the description's. */
  setHeaders(headers: Titles, options?: CommandOptions): Result;
  /** The headers of these sections. */
  patchHeaders(headers: Titles, options?: CommandOptions): Result;
  /** All footers; sections left out show the description's. */
  setFooters(footers: Titles, options?: CommandOptions): Result;
  /** The footers of these sections. */
  patchFooters(footers: Titles, options?: CommandOptions): Result;
  setDisplayedSections(ids: string[], options?: CommandOptions): Result;
  /** Replaces it. */
  setState(state: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  /** Merges a patch (RFC 7396). */
  patchState(patch: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  /** All as one revision, or none. */
  transaction(commands: object[], options?: StrictOptions): Result;
  /** Back to the models, titles, displayed sections, state and cells at the opening. */
  reset(options?: CommandOptions): Result;
  /** Takes back what the command of a revision did; by default your last one that is not taken back yet. */
  undo(what?: { revision: number } | { last: "mine" }, options?: CommandOptions): Result;
  /** Takes back an undo, by its revision; by default your last one. */
  redo(what?: { revision: number } | { last: "mine" }, options?: CommandOptions): Result;
  /**
   * Another version, or another description of the same name. `discard`: ids of sections that may lose models or
   * titles.
   */
  setTable(table: { version: number; discard?: string[] } | { table: object; discard?: string[] }, options?: CommandOptions): Result;
  addRow(at: RowReference, model: JSONValue, options?: DataSourceOptions): Result;
  updateRow(at: IndexPath, model: JSONValue, options?: DataSourceOptions): Result;
  /** `section`: id or index, also below. */
  updateRowsOfSection(section: string | number, models: JSONValue[], options?: DataSourceOptions): Result;
  updateRows(rows: { at: RowReference; model: JSONValue }[], options?: DataSourceOptions): Result;
  removeRow(at: IndexPath, options?: DataSourceOptions): Result;
  /** Before the section at this index; null appends. */
  addSection(section: object, at: number | null, options?: DataSourceOptions): Result;
  updateSectionData(section: string | number, data: { header?: string | object | null; footer?: string | object | null }, options?: DataSourceOptions): Result;
  updateSection(section: string | number, content: object, options?: DataSourceOptions): Result;
  updateAllSections(sections: object[], options?: DataSourceOptions): Result;
  removeSection(section: string | number, options?: DataSourceOptions): Result;
  removeAllSections(options?: DataSourceOptions): Result;
  /** `at`: among stored rows. */
  insertRow(section: string | number, at: RowPlacement, model: JSONValue, options?: DataSourceOptions): Result;
  /** As `insertRow`. */
  insertRows(section: string | number, at: RowPlacement, models: JSONValue[], options?: DataSourceOptions): Result;
  /**
   * Replaces rows with the models' ids, in any section, and inserts the others at `at`, by default the end. With
   * `move`, replaced rows of other sections move there.
   */
  putRows(section: string | number, models: JSONValue[], how?: { at?: RowPlacement; move?: boolean }, options?: DataSourceOptions): Result;
  /** Replaces or appends the row. The model must contain the id. */
  putRow(section: string | number, id: string | number, model: JSONValue, options?: DataSourceOptions): Result;
  /** Merges a patch (RFC 7396) into the row's model. */
  patchRow(section: string | number, id: string | number, patch: JSONValue, options?: DataSourceOptions): Result;
  /** By id. */
  deleteRow(section: string | number, id: string | number, options?: DataSourceOptions): Result;
  registerCell(modelType: string, cell: string, options?: CommandOptions): Result;
}

/** Without its secret. */
export interface SessionToken {
  tokenId: string;
  role: "participant" | "viewer";
  user?: string;
  name?: string;
  claims?: { [name: string]: JSONValue };
  created: string;
  expires: string;
}

export interface Session extends Commands<Promise<Answer>> {}
/** A command's method returns its answer, or throws a `Problem`. */
export declare class Session {
  constructor(client: BraidClient, id: string, opened?: Snapshot);
  readonly id: string;
  /** The snapshot of its opening; `undefined` from `client.session`. */
  readonly opened?: Snapshot;
  /** Makes requests without sending them, for `client.send` and `client.curl`. */
  readonly request: Commands<Request>;
  readonly tokens: {
    /** `user`, `name` and `claims`: whose it is. */
    create(
      token: Pick<SessionToken, "role" | "user" | "name" | "claims"> & { expiresIn: number },
      options?: SendOptions,
    ): Promise<SessionToken & { token: string }>;
    list(options?: { limit?: number; after?: string; signal?: AbortSignal }): Promise<{ tokens: SessionToken[]; next?: string }>;
    delete(tokenId: string, options?: SendOptions): Promise<void>;
  };
  readonly presence: {
    /** In the order in which they came. */
    get(options?: SendOptions): Promise<PresentClient[]>;
    /**
     * Shows this client to the others, in place of what it has shown: for 30 seconds, and as long as it has a
     * subscription with `presence`, which repeats it after each connection. `data`: at most 1,024 bytes.
     */
    set(at?: RowReference | null, data?: JSONValue, options?: SendOptions): Promise<PresentClient>;
    leave(options?: SendOptions): Promise<void>;
  };
  /** Without its rows. */
  summary(options?: SendOptions): Promise<SessionSummary>;
  /** The session's description. */
  table(options?: { signal?: AbortSignal }): Promise<object>;
  /** Of the table or a window, now or at an earlier position within the journal. */
  snapshot(options?: { window?: TableWindow; at?: Position; signal?: AbortSignal }): Promise<Snapshot>;
  /**
   * The updates after `since`; waits up to `wait` seconds, at most 60, for one. `from`: the window of your snapshot, if
   * it is not `window`.
   */
  updates(
    since: Position,
    options?: { wait?: number; coalesce?: boolean; window?: TableWindow; from?: TableWindow; signal?: AbortSignal },
  ): Promise<{ reset?: undefined; from: number; to: number; updates: Update[] } | { reset: true; snapshot: Snapshot }>;
  /** One page; `next` is its `after`. */
  journal(options?: { after?: number; limit?: number; signal?: AbortSignal }): Promise<{
    records: { revision: number; at: string; command: JSONValue; update: Update; by?: Actor }[];
    next?: number;
  }>;
  /** All of it as lines of JSON, for `braid-server replay`. */
  journalFile(options?: SendOptions): Promise<string>;
  /**
   * What this client sees, of the members that the description's `view` declares: `{hideDone: true}`. Added to what was
   * chosen before; subscriptions change over by one update. Returns all that is chosen.
   */
  view(chosen?: Record<string, JSONValue>): Record<string, JSONValue>;
  /** One page of the stored models, of all sections or one, hidden ones included; `next` is its `after`. */
  models(options?: { section?: string; after?: string; limit?: number; signal?: AbortSignal }): Promise<{
    session: string;
    epoch: string;
    revision: number;
    models: { section: string; id?: string; model: JSONValue }[];
    next?: string;
  }>;
  /** The stored model; without one, the view model or null. */
  model(at: IndexPath, options?: SendOptions): Promise<JSONValue>;
  /** The stored model, by ids. */
  row(section: string, id: string | number, options?: SendOptions): Promise<JSONValue>;
  /** The stored header and footer. */
  sectionData(section: number, options?: SendOptions): Promise<{ header: JSONValue; footer: JSONValue }>;
  /** Ends the session. */
  delete(options?: SendOptions): Promise<void>;
  /** Follows the session until `close()` or `onEnd`. */
  subscribe(options?: SubscribeOptions): Subscription;
}

export type SubscriptionStatus = "connecting" | "live" | "waiting" | "paused" | "ended" | "closed";

/** A tap; the row as it was before. */
export interface Tap {
  at: IndexPath;
  id?: string;
  cell: string;
  model?: JSONValue;
  by?: Actor;
}

/** A cell's event: `{name: parameters}`. */
export interface CellEvent extends Tap {
  event: { [name: string]: JSONValue };
}

/** From a handler of the description. */
export interface EmittedEvent {
  name: string;
  payload?: JSONValue;
  by?: Actor;
}

export interface SubscribeOptions {
  /** The snapshot that you have; without it, the server sends one first. */
  from?: Snapshot;
  /** Instead of the whole table. */
  window?: TableWindow;
  /** Rows that `show` loads before and after the visible ones: 50 by default. */
  overscan?: number;
  /** Also follows who is present, and keeps this client present after `session.presence.set`. */
  presence?: boolean;
  /** At first, and in place of missed updates: show it without animation. */
  onSnapshot?: (snapshot: Snapshot, previous: Snapshot | undefined) => void;
  /** `snapshot` is `previous` with the update. */
  onUpdate?: (update: Update, snapshot: Snapshot, previous: Snapshot) => void;
  /** For controllers, before its update. Repeated if the connection is lost in between. */
  onCellEvent?: (event: CellEvent) => void;
  /** As `onCellEvent`. */
  onTap?: (tap: Tap) => void;
  /** As `onCellEvent`. */
  onEmitted?: (event: EmittedEvent) => void;
  /** With `presence`: everybody, after each change. */
  onPresence?: (present: PresentClient[]) => void;
  /** Not after `close()`. `failure`: why it waits or ended. */
  onStatus?: (status: SubscriptionStatus, failure?: Error) => void;
  /** The session has ended; with a `problem`, refused for good, for example for an invalid token. */
  onEnd?: (problem?: Problem) => void;
  /** Milliseconds without data before it connects again: 40,000 by default. */
  silence?: number;
}

/** Follows a session. Made by `session.subscribe`. */
export declare class Subscription {
  private constructor();
  readonly status: SubscriptionStatus;
  /** Up to date; without `from`, at first `undefined`. */
  readonly snapshot?: Snapshot;
  /** Who is present, with `presence`; empty until then. */
  readonly present: PresentClient[];
  /** Of `snapshot`. */
  readonly revision?: number;
  /** With its current anchor; `undefined` for the whole table. */
  readonly window?: TableWindow;
  /** Follows another window. One update leads there, or a new snapshot. */
  move(window: TableWindow): void;
  /**
   * Tells which rows are visible, by index in the window's section or the whole table. Near an edge (half of
   * `overscan`), the window moves around the middle row, with `overscan` rows on both sides.
   */
  show(first: number, last: number): void;
  /** Closes the connection until `resume`, for example for a hidden page. */
  pause(): void;
  /** Connects again, and continues after the last event. */
  resume(): void;
  /** Ends the subscription. */
  close(): void;
}
