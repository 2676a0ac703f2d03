import type { BraidClient, ClientOptions, Session } from "braid-server-client";

/** The part of a test context of `node:test` that this module uses. */
export interface Test {
  after(hook: () => Promise<void> | void): void;
}

export interface StartOptions {
  /** The folder of `*.table.json` and `*.session.json`. */
  fixtures: string;
  /** More options of `braid-server serve`. */
  options?: string[];
  /** Options of the server's `BraidClient`. */
  client?: Omit<ClientOptions, "url" | "token">;
}

/** A server in test mode. A server that `start`, `run` or `find` started ends with this process. */
export declare class BraidServer {
  /** A server that runs already. */
  constructor(url: string, options?: { token?: string; client?: StartOptions["client"] });
  /**
   * The server that the environment names, or a new one:
   *
   * - `BRAID_SERVER_URL`, with `BRAID_SERVER_TOKEN`: a server that runs already. It ignores `fixtures` and `options`.
   * - `BRAID_SERVER_IMAGE`: a container of this image.
   * - `BRAID_SERVER_BINARY`, or `braid-server` on the `PATH`: a process of this binary.
   */
  static find(options: StartOptions & { environment?: { [name: string]: string | undefined } }): Promise<BraidServer>;
  /** Starts the binary on a free port. Resolves once the server accepts connections. */
  static start(binary: string, options: StartOptions): Promise<BraidServer>;
  /** Starts a container of the image with docker or podman, or with the program `engine`. */
  static run(image: string, options: StartOptions & { engine?: string }): Promise<BraidServer>;
  readonly url: string;
  /** The controller's token. A server that `start`, `run` or `find` started has a new one. */
  readonly token?: string;
  readonly client: BraidClient;
  readonly faults: Faults;
  readonly requests: Requests;
  readonly clock: Clock;
  /** The warnings and errors that a server of `start`, `run` or `find` has logged. */
  readonly log: string;
  session(id: string): Session;
  /**
   * Opens a copy of a session, as the session is now or was at an earlier `revision`. `id`: the copy's id. The copy ends with
   * the `test`.
   */
  fork(session: string, options?: { revision?: number; id?: string; test?: Test }): Promise<Session>;
  /** Brings the server back to its fixtures: tables, sessions, tokens, faults, requests and the clock. */
  reset(): Promise<void>;
  /** Ends a server that `start`, `run` or `find` started. */
  stop(): Promise<void>;
}

/** Which requests match. All members that are present must hold. */
export interface Match {
  method?: string;
  /** `*` is one segment, `**` is any rest. */
  path?: string;
  session?: string;
  role?: "controller" | "participant" | "viewer";
  /** A token's id. */
  token?: string;
  /** Values may contain `*`. */
  headers?: { [name: string]: string };
  query?: { [name: string]: string };
  /** A part of the body. */
  body?: unknown;
}

/** A rule of `faults.set`. `fault` makes it. */
export interface Rule {
  id?: string;
  /** The number of matching requests to leave alone. */
  skip?: number;
  /** The number of matching requests after `skip` to which the rule applies. */
  times?: number;
  probability?: number;
  /** Before the server handles the request. */
  delay?: { milliseconds: number; jitter?: number };
  match?: Match;
  action?: object;
}
/** Which requests match, and to which of them the rule applies. */
export interface RuleOptions extends Match, Omit<Rule, "match" | "action"> {}

export declare const fault: {
  /** The server handles the request later. */
  delay(milliseconds: number, options?: Omit<RuleOptions, "delay"> & { jitter?: number }): Rule;
  /** The server refuses the request with a problem document. `retryAfter`: seconds. `type`: the name of a problem. */
  respond(status: number, options?: RuleOptions & { retryAfter?: number; type?: string }): Rule;
  /** The server closes the connection, and does nothing. */
  close(options?: RuleOptions): Rule;
  /** The server carries out the request, and closes the connection without an answer. */
  loseAnswer(options?: RuleOptions): Rule;
  /** The server closes the connection after this part of the answer's body. */
  truncate(bytes: number, options?: RuleOptions): Rule;
  /** The server sends the answer slowly. */
  throttle(bytesPerSecond: number, options?: RuleOptions): Rule;
  /** The server closes a stream after a number of events and of bytes of the next event. */
  cutStream(events: number, options?: RuleOptions & { bytes?: number }): Rule;
  /** The server delivers nothing for a while after a number of events. */
  pauseStream(events: number, milliseconds: number, options?: RuleOptions): Rule;
  /** The server sends a snapshot instead of updates, as if its history did not reach back. */
  snapshot(options?: RuleOptions): Rule;
  /** The session gets a new epoch before the server handles the request. */
  newEpoch(options?: RuleOptions): Rule;
  /** The server closes all connections and refuses new ones for a while, as during a restart. */
  refuseConnections(milliseconds: number, options?: RuleOptions): Rule;
};

/** The rules by which the server fails. The first matching rule that is due applies to a request. */
export declare class Faults {
  private constructor();
  /** Replaces all rules. `seed` decides all probabilities and jitter. The rules are removed after the `test`. */
  set(rules: Rule[], options?: { seed?: number; test?: Test }): Promise<void>;
  /** The rules with numbers of requests. */
  all(): Promise<(Rule & { id: string; matched: number; applied: number })[]>;
  /** The number of requests to which the rule with this id applied, or any rule. */
  applied(id?: string): Promise<number>;
  clear(): Promise<void>;
}

/** Which requests and answers match. */
export interface RequestMatch extends Match {
  status?: number;
  problem?: string;
  /** Whether the answer is the kept answer of an idempotency key. */
  replayed?: boolean;
  /** The id of the rule that applied. */
  fault?: string;
}

/** A request that the server received, with its answer. */
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
  answer: { status?: number; headers?: { [name: string]: string }; body?: any; problem?: string; replayed?: boolean; events?: number };
  fault?: string;
  lost?: boolean;
}

/** Another number of requests matched. An `AssertionError` of Node. */
export declare class VerificationFailed extends Error {
  private constructor();
  readonly count: number;
  readonly nearestMisses: { request: Entry; differences: { member: string; expected?: any; actual?: any }[] }[];
}

/** The requests that the server received since its start, its reset or `clear`. */
export declare class Requests {
  private constructor();
  /** All requests with their answers, oldest first. */
  all(): Promise<Entry[]>;
  clear(): Promise<void>;
  /** Resolves to the ids of the requests that match. Throws `VerificationFailed` if their number is another one. */
  verify(match: RequestMatch, count: { exactly: number } | { atLeast: number } | { atMost: number }): Promise<string[]>;
}

/** The server's clock. */
export declare class Clock {
  private constructor();
  now(): Promise<Date>;
  /** The clock goes on from the `time`. */
  set(time: Date): Promise<Date>;
  advance(milliseconds: number): Promise<Date>;
}
