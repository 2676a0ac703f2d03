// @ts-self-types="./index.d.ts"
/** Braid Server in tests with `node:test`: a server, faults, and a record of the requests that the server received. */
import { AssertionError } from "node:assert";
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { BraidClient, Problem } from "braid-server-client";

const ARGUMENTS = ["serve", "--test-mode", "--deterministic", "--database", ":memory:", "--exit-with-stdin"];
const execute = promisify(execFile);

/**
 * Sends a request of the server's test mode. `isRepeatable` says whether the client may repeat the request even if the
 * server may have handled it.
 */
function send(client, method, path, body, isRepeatable = true) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  return client.send({ method, path: `/v1/test/${path}`, headers, body, isRepeatable });
}

/** The path of the first program on the `PATH` that has one of these names. */
function onPath(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // The program is not in this folder, so the loop continues with the next one.
      }
    }
  }
  return undefined;
}

/** A server in test mode. If `start`, `run` or `find` started the server, the server ends when this process ends. */
export class BraidServer {
  #process;
  #container;
  #log = () => "";

  /** Uses a server that is already running. `client` contains options for the `BraidClient`. */
  constructor(url, { token, client = {} } = {}) {
    this.url = url;
    this.token = token;
    this.client = new BraidClient({ ...client, url, token });
    this.faults = new Faults(this.client);
    this.requests = new Requests(this.client);
    this.clock = new Clock(this.client);
  }

  /**
   * Returns the server that `BRAID_SERVER_URL` names, or starts the image in `BRAID_SERVER_IMAGE`, the binary in
   * `BRAID_SERVER_BINARY`, or `braid-server` on the `PATH`.
   */
  static async find({ environment = process.env, ...options }) {
    if (environment.BRAID_SERVER_URL) {
      return new BraidServer(environment.BRAID_SERVER_URL, { token: environment.BRAID_SERVER_TOKEN, client: options.client });
    }
    if (environment.BRAID_SERVER_IMAGE) return BraidServer.run(environment.BRAID_SERVER_IMAGE, options);
    const binary = environment.BRAID_SERVER_BINARY ?? onPath("braid-server");
    if (binary) return BraidServer.start(binary, options);
    throw new Error(
      "No server was found. Set BRAID_SERVER_BINARY to the path of braid-server, BRAID_SERVER_IMAGE to an image, " +
        "or BRAID_SERVER_URL to the address of a server in test mode.",
    );
  }

  /** Starts a server from the binary, on a free port. Resolves once the server accepts connections. */
  static start(binary, { fixtures, options = [], client }) {
    const command = [binary, ...ARGUMENTS, "--port", "0", "--fixtures", fixtures, ...options];
    return BraidServer.#started(command, (url, token) => new BraidServer(url, { token, client }));
  }

  /**
   * Starts a container of the image with docker or podman. The container's port is published only on the loopback
   * address of this machine.
   */
  static async run(image, { fixtures, options = [], engine = onPath("docker", "podman"), client }) {
    if (!engine) throw new Error("To run the image, install docker or podman.");
    const name = `braid-${randomBytes(6).toString("hex")}`;
    const command = [
      engine, "run", "--rm", "--interactive", "--name", name, "--publish", "127.0.0.1::8080",
      "--volume", `${resolve(fixtures)}:/fixtures:ro`, "--env", "BRAID_TOKEN", "--env", "BRAID_LOG_LEVEL",
      image, ...ARGUMENTS, "--fixtures", "/fixtures", ...options,
    ];
    return BraidServer.#started(command, async (_, token) => {
      const { stdout } = await execute(engine, ["port", name, "8080/tcp"]);
      const server = new BraidServer(`http://${stdout.split(/\s/)[0]}`, { token, client });
      server.#container = [engine, ["rm", "--force", name]];
      return server;
    });
  }

  static async #started(command, make) {
    const token = randomBytes(16).toString("hex");
    const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BRAID_")));
    const child = spawn(command[0], command.slice(1), { env: { ...kept, BRAID_LOG_LEVEL: "warning", BRAID_TOKEN: token } });
    let log = "";
    let server;
    child.stderr.setEncoding("utf8").on("data", (text) => {
      log += text;
    });
    const line = await new Promise((resolve) => {
      child.on("error", (error) => resolve(String(error)));
      child.on("close", () => resolve(""));
      createInterface(child.stdout).once("line", resolve);
    });
    if (!line.startsWith("listening on ")) throw new Error(`The server did not start: ${command.join(" ")}\n${line}\n${log}`);
    try {
      server = await make(line.slice("listening on ".length), token);
    } catch (error) {
      child.stdin.end();
      throw error;
    }
    server.#process = child;
    server.#log = () => log;
    // When this process ends, the server's standard input ends, and so the server ends. The server does not keep this
    // process alive.
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref();
    return server;
  }

  /**
   * The server's log, by default its warnings and errors. Empty for a server that `start`, `run` or `find` did not
   * start.
   */
  get log() {
    return this.#log();
  }

  session(id) {
    return this.client.session(id);
  }

  /**
   * Opens a fork: a copy of a session as it is now, or as it was at an earlier `revision`. `id` is the fork's id. The
   * fork ends when the `test`, a test context of `node:test`, ends.
   */
  async fork(session, { revision, id, test } = {}) {
    const fork = await this.client.sessions.open({ id, from: { session, revision } });
    test?.after(async () => {
      // The rules are removed first, because they could otherwise apply to the request that ends the fork.
      await this.faults.clear();
      try {
        await fork.delete();
      } catch (error) {
        // The server answers 404 if the test has already ended the session or reset the server.
        if (!(error instanceof Problem && error.status === 404)) throw error;
      }
    });
    return fork;
  }

  /**
   * Resets the server to its state after the start: tables, sessions, tokens, faults, recorded requests and the clock.
   */
  reset() {
    return send(this.client, "POST", "reset");
  }

  /** Ends the server, if `start`, `run` or `find` started it. */
  async stop() {
    const child = this.#process;
    if (!child) return;
    this.#process = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    child.stdin.end();
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      if (this.#container) execFile(...this.#container);
    }, 15_000);
    await once(child, "close");
    clearTimeout(timer);
  }
}

const RULE = ["id", "skip", "times", "probability", "delay"];

/**
 * Makes a rule. The options that `RULE` lists are members of the rule. All other options are conditions for requests.
 */
function rule(action, options = {}) {
  const entries = Object.entries(options);
  const match = Object.fromEntries(entries.filter(([name]) => !RULE.includes(name)));
  return { ...Object.fromEntries(entries.filter(([name]) => RULE.includes(name))), match, action };
}

/** Functions that make rules for `faults.set`. */
export const fault = {
  delay: (milliseconds, { jitter, ...options } = {}) => rule(undefined, { ...options, delay: { milliseconds, jitter } }),
  respond: (status, { retryAfter, type, ...options } = {}) => rule({ respond: { status, retryAfter, type } }, options),
  close: (options) => rule({ close: {} }, options),
  loseAnswer: (options) => rule({ loseAnswer: {} }, options),
  truncate: (bytes, options) => rule({ truncate: { bytes } }, options),
  throttle: (bytesPerSecond, options) => rule({ throttle: { bytesPerSecond } }, options),
  cutStream: (events, { bytes, ...options } = {}) => rule({ cutStream: { events, bytes } }, options),
  pauseStream: (events, milliseconds, options) => rule({ pauseStream: { events, milliseconds } }, options),
  snapshot: (options) => rule({ snapshot: {} }, options),
  newEpoch: (options) => rule({ newEpoch: {} }, options),
  refuseConnections: (milliseconds, options) => rule({ refuseConnections: { milliseconds } }, options),
};

/** The rules that make the server fail in tests. */
class Faults {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Replaces all rules. The rules are removed when the `test`, a test context of `node:test`, ends. */
  async set(rules, { seed, test } = {}) {
    test?.after(() => this.clear());
    await send(this.#client, "PUT", "faults", { seed, faults: rules });
  }

  /**
   * Returns all rules. `matched` is the number of requests that matched the rule and to which no earlier rule was
   * applied. `applied` is the number of requests to which the rule was applied.
   */
  async all() {
    return (await send(this.#client, "GET", "faults")).faults;
  }

  /**
   * Returns the number of requests to which the fault rule with this id was applied. Without an id, returns the number
   * of requests to which any rule was applied.
   */
  async applied(id) {
    const rules = (await this.all()).filter((rule) => id === undefined || rule.id === id);
    if (rules.length === 0) throw new RangeError(id === undefined ? "There are no rules." : `There is no rule "${id}".`);
    return rules.reduce((sum, rule) => sum + rule.applied, 0);
  }

  clear() {
    return send(this.#client, "DELETE", "faults");
  }
}

/** The error if the number of matching requests is not the expected one. */
export class VerificationFailed extends AssertionError {
  constructor({ detail, expected, count, nearestMisses }) {
    const lines = [detail ?? "Another number of requests matched."];
    for (const { request, differences } of nearestMisses) {
      lines.push(`nearest: ${request.method} ${request.path} → ${request.answer?.status ?? "no answer"}`);
      for (const { member, expected, actual } of differences) {
        lines.push(`  ${member}: expected ${JSON.stringify(expected)}, was ${JSON.stringify(actual)}`);
      }
    }
    super({ message: lines.join("\n"), actual: count, expected });
    this.name = "VerificationFailed";
    this.count = count;
    this.nearestMisses = nearestMisses;
  }
}

/**
 * The record of the newest requests to `/v1` that the server received since its start, its last reset or the last
 * `clear`. The record does not contain requests to `/v1/test`.
 */
class Requests {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Returns all recorded requests with their answers, the oldest first. */
  async all() {
    return (await send(this.#client, "GET", "requests")).requests;
  }

  clear() {
    return send(this.#client, "DELETE", "requests");
  }

  /**
   * Resolves to the ids of the requests that match. Throws `VerificationFailed` if the number of these requests is not
   * as `count` says: `exactly`, `atLeast` or `atMost`.
   */
  async verify(match, count) {
    try {
      return (await send(this.#client, "POST", "requests/verify", { match, ...count })).requests;
    } catch (error) {
      if (error instanceof Problem && error.kind === "verification-failed") throw new VerificationFailed(error.document);
      throw error;
    }
  }
}

/** The clock of the server. Tests can set and advance it. */
class Clock {
  #client;

  constructor(client) {
    this.#client = client;
  }

  async now() {
    return new Date((await send(this.#client, "GET", "clock")).time);
  }

  /**
   * Sets the server's clock. From `time`, a `Date`, the clock follows real time. With `--deterministic`, it instead
   * advances in steps of 1 ms, for example with a command.
   */
  async set(time) {
    return new Date((await send(this.#client, "PUT", "clock", { time: time.toISOString() })).time);
  }

  async advance(milliseconds) {
    // The request that advances the clock is not repeatable, because a repetition would advance the clock twice.
    return new Date((await send(this.#client, "PUT", "clock", { advance: milliseconds / 1000 }, false)).time);
  }
}
