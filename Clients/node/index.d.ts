import type { BraidClient, ClientOptions, Session } from "braid-server-client";

/** A `TestContext` of `node:test`. */
export interface Test {
  after(hook: () => Promise<void> | void): void;
}

export interface StartOptions {
  /** With `*.table.json` and `*.session.json`. */
  fixtures: string;
  /** Of `braid-server serve`. */
  options?: string[];
  /** For its `client`. */
  client?: Omit<ClientOptions, "url" | "token">;
}

/** In test mode. One that was started here ends with this process. */
export declare class BraidServer {
  /** One that runs already. */
  constructor(url: string, options?: { token?: string; client?: StartOptions["client"] });
  /**
   * The server that the environment names, or a new one:
   *
   * - `BRAID_SERVER_URL`, with `BRAID_SERVER_TOKEN`: one that runs already; `fixtures` and `options` have no effect
   * - `BRAID_SERVER_IMAGE`: a container
   * - `BRAID_SERVER_BINARY`, or `braid-server` on the `PATH`: a process
   */
  static find(options: StartOptions & { environment?: { [name: string]: string | undefined } }): Promise<BraidServer>;
  /** A process on a free port, once it accepts connections. */
  static start(binary: string, options: StartOptions): Promise<BraidServer>;
  /** A container of docker, podman or `engine`. */
  static run(image: string, options: StartOptions & { engine?: string }): Promise<BraidServer>;
  readonly url: string;
  /** The controller's; new if it was started here. */
  readonly token?: string;
  readonly client: BraidClient;
  readonly faults: Faults;
  readonly requests: Requests;
  readonly clock: Clock;
  /** Warnings and errors by default. Empty unless it was started here. */
  readonly log: string;
  session(id: string): Session;
  /** Opens a copy of a session as it is, or was at `revision`. Ends with the `test`. */
  fork(session: string, options?: { revision?: number; id?: string; test?: Test }): Promise<Session>;
  /** Back to the start: tables, sessions, tokens, faults, recorded requests, clock. */
  reset(): Promise<void>;
  /** If it was started here. */
  stop(): Promise<void>;
}

/** All present conditions must hold. */
export interface Match {
  method?: string;
  /** `*`: any text in a segment; a last `**`: any rest. */
  path?: string;
  session?: string;
  role?: "controller" | "participant" | "viewer";
  /** Its id. */
  token?: string;
  /** `*`: any text. */
  headers?: { [name: string]: string };
  query?: { [name: string]: string };
  /** The body must contain these members. */
  body?: unknown;
}

/** Made by the functions of `fault`. */
export interface Rule {
  id?: string;
  /** Leaves so many matching requests alone first. */
  skip?: number;
  /** Applies at most so often. */
  times?: number;
  probability?: number;
  /** Before the request is handled. */
  delay?: { milliseconds: number; jitter?: number };
  match?: Match;
  action?: object;
}
/** Members of a rule, and conditions for its requests. */
export interface RuleOptions extends Match, Omit<Rule, "match" | "action"> {}

export declare const fault: {
  /** Waits before it handles the request. */
  delay(milliseconds: number, options?: Omit<RuleOptions, "delay"> & { jitter?: number }): Rule;
  /** Refuses. `retryAfter`: seconds; `type`: such as "row-gone". */
  respond(status: number, options?: RuleOptions & { retryAfter?: number; type?: string }): Rule;
  /** Closes the connection, not handling the request. */
  close(options?: RuleOptions): Rule;
  /** Handles the request, then closes without an answer. */
  loseAnswer(options?: RuleOptions): Rule;
  /** Closes after so many bytes of the body. */
  truncate(bytes: number, options?: RuleOptions): Rule;
  /** Sends the body slowly. */
  throttle(bytesPerSecond: number, options?: RuleOptions): Rule;
  /** Closes a stream after `events` events and `bytes` bytes of the next. */
  cutStream(events: number, options?: RuleOptions & { bytes?: number }): Rule;
  /** After so many events of a stream, sends nothing for a while. */
  pauseStream(events: number, milliseconds: number, options?: RuleOptions): Rule;
  /** Sends a snapshot instead of updates, as if beyond the journal. */
  snapshot(options?: RuleOptions): Rule;
  /** Changes the session's epoch first. */
  newEpoch(options?: RuleOptions): Rule;
  /** Closes all connections, not handling the request, and refuses new ones for a while, as in a restart. */
  refuseConnections(milliseconds: number, options?: RuleOptions): Rule;
};

/** Make the server fail. The first rule that matches and is due (`skip`, `times`, `probability`) applies. */
export declare class Faults {
  private constructor();
  /** Replaces all rules, until the `test` ends. `seed` makes chance reproducible. */
  set(rules: Rule[], options?: { seed?: number; test?: Test }): Promise<void>;
  /** `matched`: requests that matched, without those of earlier rules; `applied`: those it was applied to. */
  all(): Promise<(Rule & { id: string; matched: number; applied: number })[]>;
  /** How often the rule, or any, was applied. */
  applied(id?: string): Promise<number>;
  clear(): Promise<void>;
}

/** For `verify`. */
export interface RequestMatch extends Match {
  status?: number;
  problem?: string;
  /** The stored answer of an idempotency key. */
  replayed?: boolean;
  /** The applied rule's id. */
  fault?: string;
}

/** A request and its answer; no `answer` if a fault closed the connection first. */
export interface Entry {
  id: string;
  time: string;
  milliseconds: number;
  method: string;
  path: string;
  query: { [name: string]: string };
  headers: { [name: string]: string };
  role?: string;
  token?: string;
  session?: string;
  body?: any;
  bodyBytes?: number;
  answer?: { status?: number; headers?: { [name: string]: string }; body?: any; problem?: string; replayed?: boolean; events?: number };
  fault?: string;
  lost?: boolean;
}

/** Not the expected number of matching requests. An `AssertionError` of Node. */
export declare class VerificationFailed extends Error {
  private constructor();
  readonly count: number;
  readonly nearestMisses: { request: Entry; differences: { member: string; expected?: any; actual?: any }[] }[];
}

/** The newest requests to `/v1`, without `/v1/test`, since the start, the last reset or `clear`. */
export declare class Requests {
  private constructor();
  /** Oldest first. */
  all(): Promise<Entry[]>;
  clear(): Promise<void>;
  /** Resolves to the ids of matching requests; throws `VerificationFailed` for another number. */
  verify(match: RequestMatch, count: { exactly: number } | { atLeast: number } | { atMost: number }): Promise<string[]>;
}

/** The server's. */
export declare class Clock {
  private constructor();
  now(): Promise<Date>;
  /**
   * From `time` it follows real time; with `--deterministic`, it advances in steps of 1 ms, for example with a command.
   */
  set(time: Date): Promise<Date>;
  advance(milliseconds: number): Promise<Date>;
}
