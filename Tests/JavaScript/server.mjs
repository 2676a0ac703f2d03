// The real server, and a proxy that simulates a bad network between the server and the client.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BINARY = process.env.BRAID_SERVER_BINARY ?? join(ROOT, ".build/debug/braid-server");

export class Server {
  /** Starts a server that ends with the test. */
  static async start(test, { fixtures = "Examples", token, options = [] } = {}) {
    const server = new Server();
    server.directory = mkdtempSync(join(tmpdir(), "braid-"));
    server.options = ["--database", join(server.directory, "braid.sqlite"), "--log-level", "warning", "--fixtures", join(ROOT, fixtures), ...options];
    // The server refuses to start if an environment variable `BRAID_…` is not one of its settings.
    server.environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BRAID_")));
    if (token) server.environment.BRAID_TOKEN = token;
    test.after(async () => {
      await server.kill();
      rmSync(server.directory, { recursive: true });
    });
    await server.start();
    return server;
  }

  /** Starts the server. If it has been started before, it gets the same port again. */
  async start() {
    const command = ["serve", "--port", String(this.port ?? 0), ...this.options];
    this.process = spawn(BINARY, command, { stdio: ["ignore", "pipe", "inherit"], env: this.environment });
    for await (const line of createInterface(this.process.stdout)) {
      this.url = line.replace("listening on ", "");
      this.port = Number(new URL(this.url).port);
      return;
    }
    throw new Error("the server did not start");
  }

  /** Kills the server with SIGKILL, so that the server cannot clean up. */
  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill("SIGKILL");
    await once(this.process, "exit");
  }
}

export class Proxy {
  /**
   * Starts a proxy that forwards bytes. `fate(toServer, bytes)` decides what happens to each piece: "pass" forwards it.
   * "lose" closes the connection before the piece arrives. "tear" forwards half of the piece and closes the connection.
   * "stall" forwards nothing from now on, but keeps the connection open.
   */
  static async start(test, port, fate = () => "pass") {
    const proxy = new Proxy();
    proxy.fate = fate;
    proxy.lost = 0;
    const sockets = new Set();
    const server = net.createServer((client) => {
      const upstream = net.connect(port, "127.0.0.1");
      for (const [from, to, toServer] of [[client, upstream, true], [upstream, client, false]]) {
        sockets.add(from);
        from.on("error", () => {});
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
        let isStalled = false;
        from.on("data", (bytes) => {
          if (isStalled) return;
          const what = proxy.fate(toServer, bytes);
          if (what === "pass") return void to.write(bytes);
          proxy.lost++;
          if (what === "stall") isStalled = true;
          else if (what === "tear") to.write(bytes.subarray(0, bytes.length >> 1), () => (client.destroy(), upstream.destroy()));
          else client.destroy(), upstream.destroy();
        });
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    proxy.url = `http://127.0.0.1:${server.address().port}`;
    test.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return proxy;
  }
}

/** A random number generator (mulberry32) that returns the same numbers for the same seed. */
export function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Replaces the client's timer, so that retries do not wait. */
export const atOnce = async (milliseconds, signal) => {
  await new Promise(setImmediate);
  signal?.throwIfAborted();
};

/**
 * Records the calls of a subscription's listeners, and lets a test wait for them. The subscription ends with the test.
 */
export class Listener {
  constructor(test, session, options = {}) {
    test.after(() => this.subscription.close());
    this.told = [];
    this.waiting = [];
    const note = (name) => (...values) => {
      this.told.push([name, ...values]);
      this.waiting = this.waiting.filter(([holds, resolve]) => !holds() || resolve());
    };
    this.subscription = session.subscribe({
      onSnapshot: note("snapshot"), onUpdate: note("update"), onCellEvent: note("cellEvent"), onTap: note("tap"), onEmitted: note("emitted"), onPresence: note("presence"), onStatus: note("status"), onEnd: note("end"), ...options,
    });
  }

  of(name) {
    return this.told.filter(([told]) => told === name).map(([, ...values]) => values);
  }

  /** Waits until `holds` returns true. The condition is checked after each call of a listener. */
  until(holds) {
    return new Promise((resolve) => (holds() ? resolve() : this.waiting.push([holds, resolve])));
  }

  revision(revision) {
    return this.until(() => this.subscription.revision >= revision);
  }

  status(status) {
    return this.until(() => this.subscription.status === status);
  }
}
