import type { BraidClient, ClientOptions, Session } from "braid-server-client";

/** The part of a `TestContext` of `node:test` that this module needs. */
export interface Test {
  after(hook: () => Promise<void> | void): void;
}

export interface StartOptions {
  /** The folder with the files `*.table.json` and `*.session.json`. */
  fixtures: string;
  /** More command-line options of `braid-server serve`. */
  options?: string[];
  /** Options for the `BraidClient` that the server object creates. */
  client?: Omit<ClientOptions, "url" | "token">;
}

/** A server in test mode. If `start`, `run` or `find` started the server, the server ends when this process ends. */
export declare class BraidServer {
  /** Uses a server that is already running. */
  constructor(url: string, options?: { token?: string; client?: StartOptions["client"] });
  /**
   * Returns the server that the environment names, or starts one:
   *
   * - `BRAID_SERVER_URL`, with `BRAID_SERVER_TOKEN`: a server that is already running. Then `fixtures` and `options`
   *   have no effect.
   * - `BRAID_SERVER_IMAGE`: a container of this image.
   * - `BRAID_SERVER_BINARY`, or `braid-server` on the `PATH`: a process of this binary.
   */
  static find(options: StartOptions & { environment?: { [name: string]: string | undefined } }): Promise<BraidServer>;
  /** Starts a server from the binary, on a free port. Resolves once the server accepts connections. */
  static start(binary: string, options: StartOptions): Promise<BraidServer>;
  /** Starts a container of the image with docker or podman, or with the program that `engine` names. */
  static run(image: string, options: StartOptions & { engine?: string }): Promise<BraidServer>;
  readonly url: string;
  /** The controller's token. If `start`, `run` or `find` started the server, the token is new. */
  readonly token?: string;
  readonly client: BraidClient;
  readonly faults: Faults;
  readonly requests: Requests;
  readonly clock: Clock;
  /**
   * The server's log, by default its warnings and errors. Empty for a server that `start`, `run` or `find` did not
   * start.
   */
  readonly log: string;
  session(id: string): Session;
  /**
   * Opens a fork: a copy of a session as it is now, or as it was at an earlier `revision`. `id` is the fork's id. The
   * fork ends when the `test` ends.
   */
  fork(session: string, options?: { revision?: number; id?: string; test?: Test }): Promise<Session>;
  /**
   * Resets the server to its state after the start: tables, sessions, tokens, faults, recorded requests and the clock.
   */
  reset(): Promise<void>;
  /** Ends the server, if `start`, `run` or `find` started it. */
  stop(): Promise<void>;
}

/**
 * The conditions by which a rule or a verification selects requests. A request matches if it meets all conditions that
 * are present.
 */
export interface Match {
  method?: string;
  /**
   * The path of the request. `*` stands for any text in a segment. A last segment `**` stands for any rest of the path.
   */
  path?: string;
  session?: string;
  role?: "controller" | "participant" | "viewer";
  /** The id of the token with which the request was sent. */
  token?: string;
  /** The values of header fields. `*` in a value stands for any text. */
  headers?: { [name: string]: string };
  query?: { [name: string]: string };
  /** A part of the request's body: the body must contain these members with these values. */
  body?: unknown;
}

/** A rule of `faults.set`, as the functions of `fault` make it. */
export interface Rule {
  id?: string;
  /** The number of matching requests that the rule leaves alone before it applies to any. */
  skip?: number;
  /** The maximum number of requests to which the rule applies. */
  times?: number;
  probability?: number;
  /** The time that the server waits before it handles the request. */
  delay?: { milliseconds: number; jitter?: number };
  match?: Match;
  action?: object;
}
/**
 * The options of a rule: its id, its delay, which requests match the rule, and to which of these requests the rule
 * applies.
 */
export interface RuleOptions extends Match, Omit<Rule, "match" | "action"> {}

export declare const fault: {
  /** Makes a rule: the server waits before it handles a matching request. */
  delay(milliseconds: number, options?: Omit<RuleOptions, "delay"> & { jitter?: number }): Rule;
  /**
   * Makes a rule: the server refuses a matching request with a problem document. `retryAfter` is a number of seconds.
   * `type` is the name of a problem, such as "row-gone".
   */
  respond(status: number, options?: RuleOptions & { retryAfter?: number; type?: string }): Rule;
  /** Makes a rule: the server closes the connection without handling a matching request. */
  close(options?: RuleOptions): Rule;
  /** Makes a rule: the server handles a matching request, and then closes the connection without an answer. */
  loseAnswer(options?: RuleOptions): Rule;
  /** Makes a rule: the server closes the connection after the first `bytes` bytes of the answer's body. */
  truncate(bytes: number, options?: RuleOptions): Rule;
  /** Makes a rule: the server sends the answer's body slowly, with `bytesPerSecond` bytes per second. */
  throttle(bytesPerSecond: number, options?: RuleOptions): Rule;
  /** Makes a rule: the server closes a stream after `events` events, and after `bytes` bytes of the next event. */
  cutStream(events: number, options?: RuleOptions & { bytes?: number }): Rule;
  /** Makes a rule: after `events` events of a stream, the server sends nothing for `milliseconds` milliseconds. */
  pauseStream(events: number, milliseconds: number, options?: RuleOptions): Rule;
  /** Makes a rule: the server sends a snapshot instead of updates, as if its journal did not reach back far enough. */
  snapshot(options?: RuleOptions): Rule;
  /** Makes a rule: the session's epoch changes before the server handles a matching request. */
  newEpoch(options?: RuleOptions): Rule;
  /**
   * Makes a rule: on a matching request, the server closes all connections without handling the request. It refuses new
   * connections for `milliseconds` milliseconds, as during a restart.
   */
  refuseConnections(milliseconds: number, options?: RuleOptions): Rule;
};

/**
 * The rules that make the server fail in tests. To a request, the server applies the first rule that matches and is due
 * (see `skip`, `times` and `probability`).
 */
export declare class Faults {
  private constructor();
  /**
   * Replaces all rules. `seed` makes the random choices and delays reproducible. The rules are removed when the `test`
   * ends.
   */
  set(rules: Rule[], options?: { seed?: number; test?: Test }): Promise<void>;
  /**
   * Returns all rules. `matched` is the number of requests that matched the rule and to which no earlier rule was
   * applied. `applied` is the number of requests to which the rule was applied.
   */
  all(): Promise<(Rule & { id: string; matched: number; applied: number })[]>;
  /**
   * Returns the number of requests to which the fault rule with this id was applied. Without an id, returns the number
   * of requests to which any rule was applied.
   */
  applied(id?: string): Promise<number>;
  clear(): Promise<void>;
}

/** The conditions by which `verify` selects requests and their answers. */
export interface RequestMatch extends Match {
  status?: number;
  problem?: string;
  /** Whether the answer is the stored answer of an idempotency key. */
  replayed?: boolean;
  /** The id of the rule that the server applied to the request. */
  fault?: string;
}

/**
 * A request that the server received, and its answer. Without `answer` if a fault closed the connection before the
 * server handled the request.
 */
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

/** The error if the number of matching requests is not the expected one. An `AssertionError` of Node. */
export declare class VerificationFailed extends Error {
  private constructor();
  readonly count: number;
  readonly nearestMisses: { request: Entry; differences: { member: string; expected?: any; actual?: any }[] }[];
}

/**
 * The record of the newest requests to `/v1` that the server received since its start, its last reset or the last
 * `clear`. The record does not contain requests to `/v1/test`.
 */
export declare class Requests {
  private constructor();
  /** Returns all recorded requests with their answers, the oldest first. */
  all(): Promise<Entry[]>;
  clear(): Promise<void>;
  /**
   * Resolves to the ids of the requests that match. Throws `VerificationFailed` if the number of these requests is not
   * as `count` says.
   */
  verify(match: RequestMatch, count: { exactly: number } | { atLeast: number } | { atMost: number }): Promise<string[]>;
}

/** The clock of the server. Tests can set and advance it. */
export declare class Clock {
  private constructor();
  now(): Promise<Date>;
  /**
   * Sets the server's clock. From `time`, the clock follows real time. With `--deterministic`, it instead advances in
   * steps of 1 ms, for example with a command.
   */
  set(time: Date): Promise<Date>;
  advance(milliseconds: number): Promise<Date>;
}
