/** Braid Server's client. docs/http-api/ says what the requests, snapshots and updates are; docs/clients.md how to use this. */

// Values. Numbers are JavaScript's: integers beyond 2^53, and digits that a double does not hold, come out rounded.

export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };
/** `[section, row]`, counted from 0. */
export type IndexPath = [section: number, row: number];
/** A section by its id or displayed index, and a row of it; or a row by its id. */
export type RowReference =
  | { section: string | number; row: number }
  | readonly [section: string | number, row: number]
  | { id: string | number; section?: string | number };
/** Where a new row goes; a number is an index from 0. */
export type RowPlacement = "start" | "end" | { before: string | number } | { after: string | number } | number;
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
  /** The number of the section's rows, in a window and outside of it. */
  rowCount: number;
  /** Only in a window: the index, in the section, of the first row that the window contains. */
  offset?: number;
  movesTo?: "anySection" | string[];
  diffable?: false;
  rows: Row[];
}

/** A run of a table's rows: by its place (`offset`, `limit`), or around a row (`around`, `before`, `after`). */
export interface TableWindow {
  /** The section whose rows the window shows. Without it, the window goes across all sections. */
  section?: string;
  /** The index of the first row. A negative offset counts from the end. */
  offset?: number;
  limit?: number;
  /** The id of the row that the window stays with, and the id of the row's section. */
  around?: string;
  aroundSection?: string;
  before?: number;
  after?: number;
}

/** Where a window is: how many rows come before its first row, and the row that it stays with. */
export interface WindowPlace {
  offset: number;
  anchor?: { section: string; id: string };
}

export interface Snapshot {
  session?: string;
  table?: string;
  epoch?: string;
  revision: number;
  /** The number of rows of the whole table. */
  totalRowCount: number;
  /** Only of a window. */
  window?: WindowPlace;
  sections: Section[];
  state: { [name: string]: JSONValue };
  empty?: JSONValue;
}

/**
 * Operations for one `performBatchUpdates`. Deletes, reloads, updates and the `from` of moves count in the table before the
 * stage; inserts and the `to` of moves after it.
 */
export interface Stage {
  deleteSections?: number[];
  insertSections?: { at: number; section: Section }[];
  moveSections?: { from: number; to: number }[];
  reloadSections?: { at: number; section: Section }[];
  /** Null: it went away. */
  updateSections?: { at: number; header?: SectionTitle | null; footer?: SectionTitle | null; movesTo?: "anySection" | string[] | null }[];
  deleteRows?: IndexPath[];
  insertRows?: { at: IndexPath; row: Row }[];
  /** `row`: its content changed too, and needs no visual reload. */
  moveRows?: { from: IndexPath; to: IndexPath; row?: Row }[];
  reloadRows?: { at: IndexPath; row: Row }[];
  updateRows?: { at: IndexPath; row: Row }[];
}

export interface Update {
  from: number;
  to: number;
  stages: Stage[];
  totalRowCount: number;
  /** When it changed. */
  state?: { [name: string]: JSONValue };
  /** When it changed; null: it went away. */
  empty?: JSONValue;
  /** Of a window: the new numbers of sections that stay in the window. `section` is an index after the update. */
  extents?: { section: number; offset: number; rowCount: number }[];
  /** Of a window: its new place, if that changed. */
  window?: WindowPlace;
}

/** A place in a session's history: a revision, `"<epoch>.<revision>"`, or a snapshot. */
export type Position = number | string | Snapshot;
export declare function position(at: Position): string;

// Updates.

/** An update that does not fit the snapshot, or breaks a rule. */
export declare class UpdateFault extends Error {
  constructor(detail: string, stage?: number);
  readonly detail: string;
  /** From 0; undefined when the fault is none of a stage's. */
  readonly stage?: number;
}

/** The snapshot after the update; the one before stays as it is. Throws `UpdateFault`. */
export declare function applying(update: Update, snapshot: Snapshot): Snapshot;

export interface Step {
  /** From 0. */
  number: number;
  stage: Stage;
  previous: Snapshot;
  /** With the sections after the stage; its revision, state and empty state are those before the update. */
  snapshot: Snapshot;
}

/** The update's stages one after the other, for a view to animate. Throws `UpdateFault`. */
export declare function stages(update: Update, snapshot: Snapshot): Generator<Step, void, undefined>;

// Failures.

/** The kind of a fault. A newer server can have more of them. */
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

/** One fault of a request's body. */
export interface Fault {
  /** A JSON Pointer into the body. */
  readonly pointer: string;
  readonly code: FaultCode;
  /** For a developer: what is wrong there. */
  readonly detail: string;
}

/** The server refused. */
export declare class Problem extends Error {
  constructor(status: number, document?: { [name: string]: unknown }, retryAfter?: number);
  readonly status: number;
  /** `/problems/row-gone`; "about:blank" where a proxy answered. */
  readonly type: string;
  /** `row-gone` */
  readonly kind: string;
  readonly title?: string;
  readonly detail?: string;
  readonly instance?: string;
  readonly requestId?: string;
  readonly line?: number;
  readonly errors: Fault[];
  /** Of the first of `errors`. */
  readonly pointer?: string;
  /** Milliseconds. */
  readonly retryAfter?: number;
  /** How often the request was sent. */
  readonly tries: number;
}

/** No whole answer came. A command that failed so may have been carried out: sent again with the same key, it is not done twice. */
export declare class ConnectionError extends Error {
  constructor(message: string, cause?: unknown);
  readonly tries: number;
}

// The client.

export interface Request {
  method: string;
  /** With its query. */
  path: string;
  headers: { [name: string]: string };
  /** Sent as JSON. */
  body?: JSONValue;
  /** False: sent twice, it might be done twice; so it is not sent again where it may have been done. */
  isRepeatable?: boolean;
}

export interface SendOptions {
  signal?: AbortSignal;
  /** How often the request is sent again. */
  retries?: number;
}

/**
 * A token, or its provider: called with nothing before the first request, and with the refused token when the server answers
 * 401. A provider that throws counts as a failed connection.
 */
export type Token = string | ((refused?: string) => string | undefined | Promise<string | undefined>);

export interface ClientOptions {
  /** The server's; in a page, the page's own by default. */
  url?: string | URL;
  /** The controller's, or one for a session. */
  token?: Token;
  /** Milliseconds for a whole answer: 60,000 by default. */
  timeout?: number;
  /** How often a request is sent again: 6 times by default, over about a quarter of a minute. */
  retries?: number;
  fetch?: typeof fetch;
  /** From 0 to 1. */
  random?: () => number;
  wait?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

export interface SessionSummary {
  id: string;
  table?: string;
  /** Of a registered description. */
  tableVersion?: number;
  epoch: string;
  revision: number;
  created: string;
  updated: string;
  totalRowCount: number;
}

export interface WatchedFiles {
  revision: number;
  /** Whether the server watches files. */
  watching: boolean;
  /** `faults`: `file:line:column: pointer: message`. `behind`: sessions that keep an earlier version. */
  files: { file: string; table?: string; version?: number; faults: string[]; behind: { session: string; detail: string }[] }[];
}

/** `table`: a name or a description. Without it, `row`, `rows`, `section` or `sections`. */
export interface Opening {
  id?: string;
  table?: string | object;
  models?: { [section: string]: JSONValue[] };
  state?: { [name: string]: JSONValue };
  row?: JSONValue;
  rows?: JSONValue[];
  section?: object;
  sections?: object[];
  cellsForModelTypes?: { [modelType: string]: string };
  /** Without `table`: any value but null, shown as the snapshot's `empty` while there are no rows. */
  empty?: JSONValue;
}

export declare class BraidClient {
  constructor(options?: ClientOptions);
  url: string;
  token?: Token;
  readonly tables: {
    list(options?: SendOptions): Promise<{ table: string; version: number; updated: string }[]>;
    /** The latest version, or an older one. */
    get(name: string, options?: SendOptions & { version?: number }): Promise<object>;
    versions(name: string, options?: SendOptions): Promise<{ version: number; updated: string }[]>;
    /** `ifMatch`: replaces this version only. `ifNoneMatch`: "*" creates the table, and replaces none. Else 412. */
    put(
      name: string,
      description: object,
      options?: SendOptions & { ifMatch?: string; ifNoneMatch?: "*" },
    ): Promise<{ table: string; version: number }>;
    delete(name: string, options?: SendOptions): Promise<void>;
    /** Throws a `Problem` whose `errors` name every fault. `warnings`: what is allowed, but surely not meant. */
    validate(description: object, options?: SendOptions): Promise<{ table: string; valid: true; warnings?: Fault[] }>;
  };
  readonly sessions: {
    /** A page; `next` is the `after` of the one behind it. */
    list(options?: { table?: string; limit?: number; after?: string; signal?: AbortSignal }): Promise<{ sessions: SessionSummary[]; next?: string }>;
    /** `key`: null for none; then it is not sent again where it may have been done. */
    open(opening: Opening, options?: { key?: string | null; signal?: AbortSignal }): Promise<Session>;
    delete(id: string, options?: SendOptions): Promise<void>;
  };
  session(id: string): Session;
  render(template: JSONValue, context?: { [name: string]: JSONValue }, options?: SendOptions): Promise<JSONValue | undefined>;
  diff(from: Snapshot, to: Snapshot, options?: SendOptions): Promise<Update>;
  /** The description files that the server watches (`--watch`). With `since`, a `revision`, and `wait` in seconds: waits for a change. */
  fixtures(options?: SendOptions & { since?: number; wait?: number }): Promise<WatchedFiles>;
  /** Throws at once where the server cannot serve. */
  health(options?: SendOptions): Promise<{ status: string }>;
  /** A command for a shell. The token stands in it as the variable BRAID_TOKEN. */
  curl(request: Request): string;
  /**
   * The answer's JSON; text where the request's `Accept` asks for that. Commands of one session are sent in the order of the calls,
   * each after those before it are answered or have failed.
   */
  send(request: Request, options?: SendOptions): Promise<any>;
}

export interface CommandOptions {
  /** As of which revision index paths are meant: for edits, moves, events, taps and the data source. */
  base?: Position;
  /** Only if the session is still there; else 412. */
  ifMatch?: string | Snapshot;
  /** Checks and computes everything, and changes nothing. */
  dryRun?: boolean;
  /** The Idempotency-Key: one is made for each request; null for none: then the command is not sent again where it may have been done. */
  key?: string | null;
  signal?: AbortSignal;
}

export interface StrictOptions extends CommandOptions {
  /** Refuses a data source call that would be ignored, with 404. */
  strict?: boolean;
}

export interface DataSourceOptions extends StrictOptions {
  /** False: stored, and published with the next command. */
  notify?: boolean;
}

export interface Answer {
  revision: number;
  outcome: "applied" | "unchanged" | "ignored";
  /** Why it was ignored. */
  reason?: string;
  /** Where the row was by then, if there was a `base`. */
  at?: IndexPath;
  /** Of the data source: what its delegate would have been told. */
  notification?: { dataSource: true } | { section: number } | { rows: IndexPath[] } | null;
  update: Update;
}

type Titles = { [section: string]: string | object | null };

/** The commands: each with what it resolves to. */
interface Commands<Result> {
  edit(body: { delete: RowReference } | { insert: RowReference; model?: JSONValue }, options?: CommandOptions): Result;
  /** `to`: a place with an index counts after the row was taken out; a row by its id is the one that will follow. */
  move(body: { from: RowReference; to: RowReference }, options?: CommandOptions): Result;
  /** `event`: its name, with its parameters. */
  event(at: RowReference, event: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  tap(at: RowReference, options?: CommandOptions): Result;
  displayedRows(rows: RowReference[], options?: CommandOptions): Result;
  /** `set…` replaces the whole: of sections that are not named, nothing is kept. `patch…` changes the named sections alone. */
  setModels(models: { [section: string]: JSONValue[] }, options?: CommandOptions): Result;
  patchModels(models: { [section: string]: JSONValue[] | null }, options?: CommandOptions): Result;
  setHeaders(headers: Titles, options?: CommandOptions): Result;
  patchHeaders(headers: Titles, options?: CommandOptions): Result;
  setFooters(footers: Titles, options?: CommandOptions): Result;
  patchFooters(footers: Titles, options?: CommandOptions): Result;
  setDisplayedSections(ids: string[], options?: CommandOptions): Result;
  setState(state: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  /** A merge patch (RFC 7396). */
  patchState(patch: { [name: string]: JSONValue }, options?: CommandOptions): Result;
  /** All or nothing. */
  transaction(commands: object[], options?: StrictOptions): Result;
  reset(options?: CommandOptions): Result;
  /** Binds the session to another version of its table description. `discard`: sections that may lose what does not fit. */
  setTable(table: { version: number; discard?: string[] } | { table: object; discard?: string[] }, options?: CommandOptions): Result;
  addRow(at: RowReference, model: JSONValue, options?: DataSourceOptions): Result;
  updateRow(at: IndexPath, model: JSONValue, options?: DataSourceOptions): Result;
  updateRowsOfSection(section: number, models: JSONValue[], options?: DataSourceOptions): Result;
  updateRows(rows: { at: RowReference; model: JSONValue }[], options?: DataSourceOptions): Result;
  removeRow(at: IndexPath, options?: DataSourceOptions): Result;
  /** `at`: null, at the end. */
  addSection(section: object, at: number | null, options?: DataSourceOptions): Result;
  updateSectionData(section: number, data: { header?: string | object | null; footer?: string | object | null }, options?: DataSourceOptions): Result;
  updateSection(section: number, content: object, options?: DataSourceOptions): Result;
  updateAllSections(sections: object[], options?: DataSourceOptions): Result;
  removeSection(section: number, options?: DataSourceOptions): Result;
  removeAllSections(options?: DataSourceOptions): Result;
  /** `section`, here and in the three methods below: the section's id. `at`: among the section's stored rows. */
  insertRow(section: string, at: RowPlacement, model: JSONValue, options?: DataSourceOptions): Result;
  /** Replaces the row with this id, or appends it to the section. The model contains the id. */
  putRow(section: string, id: string | number, model: JSONValue, options?: DataSourceOptions): Result;
  /** A merge patch (RFC 7396). */
  patchRow(section: string, id: string | number, patch: JSONValue, options?: DataSourceOptions): Result;
  deleteRow(section: string, id: string | number, options?: DataSourceOptions): Result;
  registerCell(modelType: string, cell: string, options?: CommandOptions): Result;
}

export interface SessionToken {
  tokenId: string;
  role: "participant" | "viewer";
  created: string;
  expires: string;
}

export interface Session extends Commands<Promise<Answer>> {}
/** Commands resolve to their answers; refused, they throw a `Problem`, and changed nothing. */
export declare class Session {
  constructor(client: BraidClient, id: string, opened?: Snapshot);
  readonly id: string;
  /** The snapshot that the session was opened with, if it was opened here. */
  readonly opened?: Snapshot;
  /** Makes commands' requests without sending them: for `client.send` and `client.curl`. */
  readonly request: Commands<Request>;
  readonly tokens: {
    create(token: { role: "participant" | "viewer"; expiresIn: number }, options?: SendOptions): Promise<SessionToken & { token: string }>;
    list(options?: { limit?: number; after?: string; signal?: AbortSignal }): Promise<{ tokens: SessionToken[]; next?: string }>;
    delete(tokenId: string, options?: SendOptions): Promise<void>;
  };
  facts(options?: SendOptions): Promise<SessionSummary>;
  /** The table description to which the session is bound. */
  table(options?: { signal?: AbortSignal }): Promise<object>;
  /** The whole table, or a window of it. */
  snapshot(options?: { window?: TableWindow; signal?: AbortSignal }): Promise<Snapshot>;
  /** `wait`: seconds to wait for something to happen, 60 at most. `from`: the window at `since`, if it is another one. */
  updates(
    since: Position,
    options?: { wait?: number; coalesce?: boolean; window?: TableWindow; from?: TableWindow; signal?: AbortSignal },
  ): Promise<{ reset?: undefined; from: number; to: number; updates: Update[] } | { reset: true; snapshot: Snapshot }>;
  journal(options?: { after?: number; limit?: number; signal?: AbortSignal }): Promise<{
    records: { revision: number; at: string; command: JSONValue; update: Update }[];
    next?: number;
  }>;
  /** Lines of JSON, for `braid-server replay`. */
  journalFile(options?: SendOptions): Promise<string>;
  /** The stored model of a data source's row. */
  model(at: IndexPath, options?: SendOptions): Promise<JSONValue>;
  /** The stored model of the row with an id, in the section with an id. */
  row(section: string, id: string | number, options?: SendOptions): Promise<JSONValue>;
  sectionData(section: number, options?: SendOptions): Promise<{ header: JSONValue; footer: JSONValue }>;
  /** Ends the session. */
  delete(options?: SendOptions): Promise<void>;
  /** Follows the session until it ends, or `close()`. */
  subscribe(options?: SubscribeOptions): Subscription;
}

export type SubscriptionStatus = "connecting" | "live" | "waiting" | "paused" | "ended" | "closed";

/** A tap on a row. `id`, `cell` and `model` are the row's before its handler ran. */
export interface Tap {
  at: IndexPath;
  id?: string;
  cell: string;
  model?: JSONValue;
}

export interface CellEvent extends Tap {
  event: { [name: string]: JSONValue };
}

/** What a handler of the table description emitted. */
export interface EmittedEvent {
  name: string;
  payload?: JSONValue;
}

export interface SubscribeOptions {
  /** Goes on from a snapshot that is there already; without one, a snapshot is the first that is told. */
  from?: Snapshot;
  /** Follows a window, in place of the whole table. */
  window?: TableWindow;
  /** How many rows before and after the visible ones `show` requests: 50 by default. */
  overscan?: number;
  /** The first snapshot, and each that comes because history did not reach back: to be shown without animation. */
  onSnapshot?: (snapshot: Snapshot, previous: Snapshot | undefined) => void;
  /** `snapshot` is `previous` with the update applied. */
  onUpdate?: (update: Update, snapshot: Snapshot, previous: Snapshot) => void;
  /** For controllers. Comes before the update that it led to; told again if the connection was lost between the two. */
  onCellEvent?: (event: CellEvent) => void;
  /** For controllers, like `onCellEvent`. */
  onTap?: (tap: Tap) => void;
  /** For controllers, like `onCellEvent`. */
  onEmitted?: (event: EmittedEvent) => void;
  /** `failure`: why it waits, or ended. */
  onStatus?: (status: SubscriptionStatus, failure?: Error) => void;
  /** The session was ended; or, with a problem, nothing more is to be had: it is gone, or the token is not valid. */
  onEnd?: (problem?: Problem) => void;
  /** Milliseconds without a sign of the server's after which the connection is taken for dead: 40,000 by default. */
  silence?: number;
}

export declare class Subscription {
  private constructor();
  readonly status: SubscriptionStatus;
  /** Kept up to date; undefined before the first. */
  readonly snapshot?: Snapshot;
  readonly revision?: number;
  /** The window that the subscription follows, with its current anchor. */
  readonly window?: TableWindow;
  /** Follows another window from now on. The next update leads from the shown window to the new one. */
  move(window: TableWindow): void;
  /**
   * Says which rows are visible: the indexes of the first and the last one, in the window's section or in the whole table.
   * Moves the window if they come near its edge: within half of `overscan`. The new window stays with the row in the middle,
   * and has `overscan` more rows than the visible ones before and after them.
   */
  show(first: number, last: number): void;
  /** Gives the connection up, as a page does that is not seen. */
  pause(): void;
  /** Follows the session again after a pause, from where it was. */
  resume(): void;
  close(): void;
}
