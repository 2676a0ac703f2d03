import { toast } from "./toasts.js";

/** Seconds that the server waits for a change of a file before it answers. */
const wait = 30;
/** Milliseconds before a server that did not answer is asked again. */
const patience = 2000;

/** Follows the description files that the server watches, and shows what is wrong with them until it is mended. */
export class WatchedFiles {
  #app;
  /** What is shown of each file, and what closes it. */
  #shown = new Map();

  constructor(app) {
    this.#app = app;
    this.#follow();
  }

  async #follow() {
    let since;
    for (;;) {
      // A browser has six connections for all of its tabs.
      if (document.visibilityState === "hidden") {
        await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
        continue;
      }
      try {
        const { revision, watching, files } = await this.#app.server.client.fixtures({ since, wait: since === undefined ? 0 : wait });
        if (!watching) return;
        // Another version may have been registered.
        if (since !== undefined && revision !== since) this.#app.sessionsChanged();
        since = revision;
        this.#show(files);
      } catch (error) {
        // A session's token shows no files.
        if (error.status === 403) return;
        since = undefined;
        await new Promise((resolve) => setTimeout(resolve, patience));
      }
    }
  }

  #show(files) {
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
