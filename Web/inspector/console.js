import { button, h, jsonBlock, readJSON } from "./dom.js";
import { commands } from "./server.js";
import { copyButton, toast } from "./toasts.js";

const modelsOf = (sections) => Object.fromEntries(sections.map(({ id, rows }) => [id, rows.slice(0, 20).map((row) => row.model ?? row.viewModel)]));
const titlesOf = (sections, name) => Object.fromEntries(sections.map((section) => [section.id, section[name]?.title ?? null]));
const firstRow = ({ sections }) => ({ section: sections[0]?.id ?? "", rowId: sections[0]?.rows[0]?.id ?? "" });

/** Suggested bodies, from what is displayed. */
const samples = {
  patchModels: ({ sections }) => modelsOf(sections.slice(0, 1)),
  models: ({ sections }) => modelsOf(sections),
  patchState: ({ state }) => state,
  state: ({ state }) => state,
  patchHeaders: ({ sections }) => titlesOf(sections.slice(0, 1), "header"),
  headers: ({ sections }) => titlesOf(sections, "header"),
  patchFooters: ({ sections }) => titlesOf(sections.slice(0, 1), "footer"),
  footers: ({ sections }) => titlesOf(sections, "footer"),
  displayedSections: ({ sections }) => sections.map(({ id }) => id),
  edits: ({ sections }) => ({ delete: { section: sections[0]?.id ?? "", row: 0 } }),
  moves: ({ sections }) => ({ from: { section: sections[0]?.id ?? "", row: 0 }, to: { section: sections[0]?.id ?? "", row: 1 } }),
  taps: ({ sections }) => ({ at: { section: sections[0]?.id ?? "", row: 0 } }),
  events: ({ sections }) => ({ at: { section: sections[0]?.id ?? "", row: 0 }, event: { name: {} } }),
  displayedRows: ({ sections }) => ({ rows: sections.slice(-1).map(({ id, rowCount }) => ({ section: id, row: Math.max(0, rowCount - 1) })) }),
  transactions: ({ state }) => ({ commands: [{ patchState: state }] }),
  rows: () => ({ at: [0, 0], model: {} }),
  "update row": () => ({ at: [0, 0], model: {} }),
  "put row": (snapshot) => ({ ...firstRow(snapshot), model: snapshot.sections[0]?.rows[0]?.model ?? {} }),
  "patch row": (snapshot) => ({ ...firstRow(snapshot), patch: {} }),
  "delete row": (snapshot) => firstRow(snapshot),
  "remove row": () => ({ at: [0, 0] }),
  sections: () => ({ section: { rows: [] }, at: null }),
};

/** Any command of `samples` as JSON: send, dry-run, or copy as curl. */
export class Console {
  #screen;
  /** The last command; only its answer is shown. */
  #sent;
  constructor(screen) {
    this.#screen = screen;
    this.kind = h(
      "select",
      { "aria-label": "Command", on: { change: () => this.#suggest() } },
      Object.keys(samples).map((kind) => h("option", { value: kind }, `${commands[kind].method} ${kind}`)),
    );
    this.body = h("textarea", { class: "code", rows: 7, spellcheck: false, "aria-label": "Body" });
    this.fault = h("p", { class: "fault", role: "alert" });
    this.result = h("div", {});
    this.element = h(
      "div",
      { class: "console" },
      this.kind,
      this.body,
      this.fault,
      h(
        "div",
        { class: "choices" },
        copyButton(() => {
          const body = this.#read();
          return body === undefined ? this.body.value : screen.curl(this.kind.value, body);
        }),
        button("Dry run", () => this.#send(true), { kind: "small" }),
        button("Send", () => this.#send(false), { kind: "small primary" }),
      ),
      this.result,
    );
  }

  show() {
    if (this.suggested === undefined) this.#suggest();
  }

  #suggest() {
    this.suggested = samples[this.kind.value](this.#screen.snapshot);
    this.body.value = JSON.stringify(this.suggested, null, 2);
    this.#sent = undefined;
    this.result.replaceChildren();
  }

  /** `undefined` for no JSON, or JSON that does not fit the command. */
  #read() {
    this.fault.textContent = "";
    let body;
    try {
      body = readJSON(this.body);
      this.#screen.curl(this.kind.value, body);
      return body;
    } catch (error) {
      this.fault.textContent = body === undefined ? error.message : `It needs a body like ${JSON.stringify(this.suggested)}.`;
    }
  }

  async #send(dryRun) {
    const body = this.#read();
    if (body === undefined) return;
    const sent = this.#sent = {};
    const done = await this.#screen.perform(this.kind.value, body, { dryRun });
    if (done !== true) return;
    const { answer } = this.#screen;
    if (sent === this.#sent) this.result.replaceChildren(h("h3", {}, dryRun ? "It would answer" : "Answer"), jsonBlock(answer, "Answer"));
    if (dryRun) return;
    const close = toast(answer?.outcome ?? "Done", {
      detail: answer?.reason,
      actions: this.#screen.mayUndo && answer?.outcome === "applied"
        ? [button("Undo", () => {
          close();
          this.#screen.takeBack("undo", { revision: answer.revision });
        }, { kind: "small" })]
        : [],
    });
  }
}
