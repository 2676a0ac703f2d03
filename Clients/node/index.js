// @ts-self-types="./index.d.ts"
/** Braid Server in Node's tests: a server, faults, and the requests that the server received. */
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

/** Sends a request of the test mode. `isRepeatable`: whether it may be carried out twice. */
function send(client, method, path, body, isRepeatable = true) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  return client.send({ method, path: `/v1/test/${path}`, headers, body, isRepeatable });
}

/** The first program with one of these names on the `PATH`. */
function onPath(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // The next folder.
      }
    }
  }
  return undefined;
}

/** A server in test mode. A server that `start`, `run` or `find` started ends with this process. */
export class BraidServer {
  #process;
  #container;
  #log = () => "";

  /** A server that runs already. `client`: options of its `BraidClient`. */
  constructor(url, { token, client = {} } = {}) {
    this.url = url;
    this.token = token;
    this.client = new BraidClient({ ...client, url, token });
    this.faults = new Faults(this.client);
    this.requests = new Requests(this.client);
    this.clock = new Clock(this.client);
  }

  /** The server that the environment names, or a new one: `BRAID_SERVER_URL`, `BRAID_SERVER_IMAGE`, `BRAID_SERVER_BINARY`, the `PATH`. */
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

  /** Starts the binary on a free port. Resolves once the server accepts connections. */
  static start(binary, { fixtures, options = [], client }) {
    const command = [binary, ...ARGUMENTS, "--port", "0", "--fixtures", fixtures, ...options];
    return BraidServer.#started(command, (url, token) => new BraidServer(url, { token, client }));
  }

  /** Starts a container of the image with docker or podman. Its port is published on this machine's loopback address only. */
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
    // The server ends when this process ends, because its standard input ends. It does not keep this process alive.
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref();
    return server;
  }

  /** The warnings and errors that a server of `start`, `run` or `find` has logged. */
  get log() {
    return this.#log();
  }

  session(id) {
    return this.client.session(id);
  }

  /**
   * Opens a copy of a session, as the session is now or was at an earlier `revision`. `id`: the copy's id. The copy ends with
   * the `test`, a test context of `node:test`.
   */
  async fork(session, { revision, id, test } = {}) {
    const fork = await this.client.sessions.open({ id, from: { session, revision } });
    test?.after(async () => {
      // Rules of the test must not apply to the request that ends the copy.
      await this.faults.clear();
      try {
        await fork.delete();
      } catch (error) {
        // The test has ended the session, or reset the server.
        if (!(error instanceof Problem && error.status === 404)) throw error;
      }
    });
    return fork;
  }

  /** Brings the server back to its fixtures: tables, sessions, tokens, faults, requests and the clock. */
  reset() {
    return send(this.client, "POST", "reset");
  }

  /** Ends a server that `start`, `run` or `find` started. */
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

/** A rule: the members of `RULE` are its own, all others say which requests match. */
function rule(action, options = {}) {
  const entries = Object.entries(options);
  const match = Object.fromEntries(entries.filter(([name]) => !RULE.includes(name)));
  return { ...Object.fromEntries(entries.filter(([name]) => RULE.includes(name))), match, action };
}

/** Makes the rules of `faults.set`. */
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

/** The rules by which the server fails. */
class Faults {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Replaces all rules. The rules are removed after the `test`, a test context of `node:test`. */
  async set(rules, { seed, test } = {}) {
    test?.after(() => this.clear());
    await send(this.#client, "PUT", "faults", { seed, faults: rules });
  }

  /** The rules, with the members `matched` and `applied`: numbers of requests. */
  async all() {
    return (await send(this.#client, "GET", "faults")).faults;
  }

  /** The number of requests to which the rule with this id applied, or any rule. */
  async applied(id) {
    const rules = (await this.all()).filter((rule) => id === undefined || rule.id === id);
    if (rules.length === 0) throw new RangeError(id === undefined ? "There are no rules." : `There is no rule "${id}".`);
    return rules.reduce((sum, rule) => sum + rule.applied, 0);
  }

  clear() {
    return send(this.#client, "DELETE", "faults");
  }
}

/** Another number of requests matched. */
export class VerificationFailed extends AssertionError {
  constructor({ detail, expected, count, nearestMisses }) {
    const lines = [detail ?? "Another number of requests matched."];
    for (const { request, differences } of nearestMisses) {
      lines.push(`nearest: ${request.method} ${request.path} → ${request.answer?.status}`);
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

/** The requests that the server received since its start, its reset or `clear`. */
class Requests {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** All requests with their answers, oldest first. */
  async all() {
    return (await send(this.#client, "GET", "requests")).requests;
  }

  clear() {
    return send(this.#client, "DELETE", "requests");
  }

  /** Resolves to the ids of the requests that match. `count`: one of `exactly`, `atLeast` and `atMost`. Throws `VerificationFailed`. */
  async verify(match, count) {
    try {
      return (await send(this.#client, "POST", "requests/verify", { match, ...count })).requests;
    } catch (error) {
      if (error instanceof Problem && error.kind === "verification-failed") throw new VerificationFailed(error.document);
      throw error;
    }
  }
}

/** The server's clock. */
class Clock {
  #client;

  constructor(client) {
    this.#client = client;
  }

  async now() {
    return new Date((await send(this.#client, "GET", "clock")).time);
  }

  /** The clock goes on from the `time`, a `Date`. */
  async set(time) {
    return new Date((await send(this.#client, "PUT", "clock", { time: time.toISOString() })).time);
  }

  async advance(milliseconds) {
    // Repeated, the request would advance the clock twice.
    return new Date((await send(this.#client, "PUT", "clock", { advance: milliseconds / 1000 }, false)).time);
  }
}
