import { toast } from "./toasts.js";

/** Seconds. The longest time that the server waits for a change of a file before it answers. */
const wait = 30;
/** Milliseconds before the page asks a server again that did not answer. */
const patience = 2000;

/**
 * Follows the description files that the server watches (`--watch`), and shows the faults of each file until they are
 * corrected or the file is deleted.
 */
export class WatchedFiles {
  #app;
  /** The displayed message of each file: its text, and the function that closes it. */
  #shown = new Map();

  constructor(app) {
    this.#app = app;
    this.#follow();
  }

  async #follow() {
    let since;
    for (;;) {
      // A browser opens at most six HTTP/1.1 connections to a server, for all of its tabs together, so a hidden tab
      // does not ask.
      if (document.visibilityState === "hidden") {
        await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
        continue;
      }
      try {
        const { revision, watching, files } = await this.#app.server.client.fixtures({ since, wait: since === undefined ? 0 : wait });
        if (!watching) return;
        // The changed file may have been registered as a new version.
        if (since !== undefined && revision !== since) this.#app.sessionsChanged();
        since = revision;
        this.#show(files);
      } catch (error) {
        // A token for a single session is not allowed to read the state of the files.
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
