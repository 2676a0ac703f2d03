// The real server, and a network between it and the client that loses what it likes.
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
  /** Ends with the test. */
  static async start(test, { fixtures = "Examples", token, options = [] } = {}) {
    const server = new Server();
    server.directory = mkdtempSync(join(tmpdir(), "braid-"));
    server.options = ["--database", join(server.directory, "braid.sqlite"), "--log-level", "warning", "--fixtures", join(ROOT, fixtures), ...options];
    // The server refuses variables BRAID_… that are not its own.
    server.environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BRAID_")));
    if (token) server.environment.BRAID_TOKEN = token;
    test.after(async () => {
      await server.kill();
      rmSync(server.directory, { recursive: true });
    });
    await server.start();
    return server;
  }

  /** On the port that it had before. */
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

  /** As a power cut would. */
  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill("SIGKILL");
    await once(this.process, "exit");
  }
}

export class Proxy {
  /**
   * Passes bytes on. `fate(toServer, bytes)` says of each piece what happens to it: "pass"; "lose": the connection is lost
   * before it arrives; "tear": half of it arrives; "stall": from now on nothing goes through, and nobody is told.
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

/** The same numbers for the same seed: mulberry32. */
export function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** No time passes before a retry. */
export const atOnce = async (milliseconds, signal) => {
  await new Promise(setImmediate);
  signal?.throwIfAborted();
};

/** Notes what a subscription tells, and lets a test wait for it. Ends with the test. */
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
      onSnapshot: note("snapshot"), onUpdate: note("update"), onCellEvent: note("cellEvent"), onTap: note("tap"), onEmitted: note("emitted"), onStatus: note("status"), onEnd: note("end"), ...options,
    });
  }

  of(name) {
    return this.told.filter(([told]) => told === name).map(([, ...values]) => values);
  }

  /** Until something that is told makes it true. */
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
