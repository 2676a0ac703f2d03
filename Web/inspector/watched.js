import { toast } from "./toasts.js";

/** Seconds that the server waits for a change. */
const wait = 30;
/** Milliseconds before asking a silent server again. */
const patience = 2000;

/** Shows faults of watched files (`--watch`) until they are corrected or deleted. */
export class WatchedFiles {
  #app;
  /** By file: a message's text, and what closes it. */
  #shown = new Map();

  constructor(app) {
    this.#app = app;
    this.#follow();
  }

  async #follow() {
    let since;
    for (;;) {
      // A browser opens at most six HTTP/1.1 connections to a server, for all tabs, so hidden ones do not ask.
      if (document.visibilityState === "hidden") {
        await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
        continue;
      }
      try {
        const { revision, watching, files } = await this.#app.server.client.fixtures({ since, wait: since === undefined ? 0 : wait });
        if (!watching) return;
        // Maybe a new version.
        if (since !== undefined && revision !== since) this.#app.sessionsChanged();
        since = revision;
        this.#show(files);
      } catch (error) {
        // A token for one session may not read this.
        if (error.status === 403) return;
        since = undefined;
        await new Promise((resolve) => setTimeout(resolve, patience));
      }
    }
  }

  #show(files) {
    const listed = new Set(files.map(({ file }) => file));
    for (const [file, { close }] of this.#shown) {
      if (listed.has(file)) continue;
      close();
      this.#shown.delete(file);
    }
    for (const { file, faults, behind } of files) {
      const lines = [...faults, ...behind.map(({ session, detail }) => `${session} keeps its version: ${detail}`)];
      const text = lines.join("\n");
      const shown = this.#shown.get(file);
      if (shown?.text === text || (!shown && lines.length === 0)) continue;
      shown?.close();
      this.#shown.delete(file);
      if (lines.length === 0) continue;
      const title = faults.length > 0 ? `${nameOf(file)} is faulty` : `${nameOf(file)} does not fit all sessions`;
      const close = toast(title, { errors: lines.map((detail) => ({ pointer: "", detail })), kind: "problem", stays: true });
      this.#shown.set(file, { text, close });
    }
  }
}

const nameOf = (path) => path.split("/").at(-1);
