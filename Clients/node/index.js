// @ts-self-types="./index.d.ts"
/** Braid Server in tests with `node:test`: a server, faults, and a record of requests. */
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

/** To the test mode. `isRepeatable`: even if the server may have handled it. */
function send(client, method, path, body, isRepeatable = true) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  return client.send({ method, path: `/v1/test/${path}`, headers, body, isRepeatable });
}

/** The first of these programs. */
function onPath(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // Not here.
      }
    }
  }
  return undefined;
}

/** In test mode. One that was started here ends with this process. */
export class BraidServer {
  #process;
  #container;
  #log = () => "";

  /** One that runs already. `client`: options for the `BraidClient`. */
  constructor(url, { token, client = {} } = {}) {
    this.url = url;
    this.token = token;
    this.client = new BraidClient({ ...client, url, token });
    this.faults = new Faults(this.client);
    this.requests = new Requests(this.client);
    this.clock = new Clock(this.client);
  }

  /**
   * The server that `BRAID_SERVER_URL` names, or starts the image in `BRAID_SERVER_IMAGE`, the binary in
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

  /** A process on a free port, once it accepts connections. */
  static start(binary, { fixtures, options = [], client }) {
    const command = [binary, ...ARGUMENTS, "--port", "0", "--fixtures", fixtures, ...options];
    return BraidServer.#started(command, (url, token) => new BraidServer(url, { token, client }));
  }

  /** With docker or podman; its port is published on loopback only. */
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
    // The server ends with its standard input, so with this process, which it does not keep alive.
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref();
    return server;
  }

  /** Warnings and errors by default. Empty unless it was started here. */
  get log() {
    return this.#log();
  }

  session(id) {
    return this.client.session(id);
  }

  /** Opens a copy of a session as it is, or was at `revision`. Ends with the `test`. */
  async fork(session, { revision, id, test } = {}) {
    const fork = await this.client.sessions.open({ id, from: { session, revision } });
    test?.after(async () => {
      // First: rules could apply to the delete.
      await this.faults.clear();
      try {
        await fork.delete();
      } catch (error) {
        // Already ended, or reset.
        if (!(error instanceof Problem && error.status === 404)) throw error;
      }
    });
    return fork;
  }

  /** Back to the start: tables, sessions, tokens, faults, recorded requests, clock. */
  reset() {
    return send(this.client, "POST", "reset");
  }

  /** If it was started here. */
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

/** The options in `RULE` are the rule's, all others conditions. */
function rule(action, options = {}) {
  const entries = Object.entries(options);
  const match = Object.fromEntries(entries.filter(([name]) => !RULE.includes(name)));
  return { ...Object.fromEntries(entries.filter(([name]) => RULE.includes(name))), match, action };
}

/** Makes rules for `faults.set`. */
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

/** Make the server fail. */
class Faults {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Replaces all rules, until the `test` ends. */
  async set(rules, { seed, test } = {}) {
    test?.after(() => this.clear());
    await send(this.#client, "PUT", "faults", { seed, faults: rules });
  }

  /** `matched`: requests that matched, without those of earlier rules; `applied`: those it was applied to. */
  async all() {
    return (await send(this.#client, "GET", "faults")).faults;
  }

  /** How often the rule, or any, was applied. */
  async applied(id) {
    const rules = (await this.all()).filter((rule) => id === undefined || rule.id === id);
    if (rules.length === 0) throw new RangeError(id === undefined ? "There are no rules." : `There is no rule "${id}".`);
    return rules.reduce((sum, rule) => sum + rule.applied, 0);
  }

  clear() {
    return send(this.#client, "DELETE", "faults");
  }
}

/** Not the expected number of matching requests. */
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

/** The newest requests to `/v1`, without `/v1/test`, since the start, the last reset or `clear`. */
class Requests {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Oldest first. */
  async all() {
    return (await send(this.#client, "GET", "requests")).requests;
  }

  clear() {
    return send(this.#client, "DELETE", "requests");
  }

  /**
   * Resolves to the ids of matching requests; throws `VerificationFailed` unless as many as `count` says: `exactly`,
   * `atLeast` or `atMost`.
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

/** The server's. */
class Clock {
  #client;

  constructor(client) {
    this.#client = client;
  }

  async now() {
    return new Date((await send(this.#client, "GET", "clock")).time);
  }

  /**
   * From `time`, a `Date`, it follows real time; with `--deterministic`, it advances in steps of 1 ms, for example with
   * a command.
   */
  async set(time) {
    return new Date((await send(this.#client, "PUT", "clock", { time: time.toISOString() })).time);
  }

  async advance(milliseconds) {
    // Repeated, it would advance twice.
    return new Date((await send(this.#client, "PUT", "clock", { advance: milliseconds / 1000 }, false)).time);
  }
}
