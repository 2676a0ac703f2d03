import { h, jsonBlock, shortened } from "./dom.js";
import { chips, stagePictures } from "./stages.js";
import { copyButton } from "./toasts.js";

const listed = 60;

/** The panel of what happened: each revision, and of the one that is shown its command, its picture, its JSON. */
export class UpdatesPanel {
  #asking;
  #asked = new WeakSet();
  #details = new WeakMap();
  element = h("div", { class: "panel-content updates" });

  show(screen) {
    const { timeline } = screen;
    if (!timeline.last) return;
    // So many that the one that is shown is among them.
    const shown = timeline.position ?? timeline.moments.length - 1;
    const first = Math.max(0, Math.min(shown - listed / 4, timeline.moments.length - listed));
    const items = timeline.moments.slice(first, first + listed).flatMap((moment, i) => [
      this.#item(screen, moment, first + i),
      ...timeline.events.filter(({ after }) => after === moment).map(eventItem),
    ]).reverse();
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.revision : undefined;
    this.element.replaceChildren(h("ol", { class: "moments" }, items));
    this.#askForCommand(screen, timeline.shown);
    if (focused !== undefined) this.element.querySelector(`[data-revision="${focused}"]`)?.focus({ preventScroll: true });
  }

  #item(screen, moment, index) {
    const { timeline } = screen;
    const isShown = moment === timeline.shown;
    const head = h(
      "button",
      {
        type: "button",
        class: "moment",
        "data-revision": moment.revision,
        "aria-expanded": String(isShown),
        // Where it stands by then: earlier ones come from the journal, and go when there are too many.
        on: { click: () => timeline.show(timeline.moments.findIndex(({ revision }) => revision === moment.revision)) },
      },
      h("span", { class: "revision" }, `r${moment.revision}`),
      h("span", { class: "chips" }, summary(moment)),
      moment.at && h("time", {}, clock(moment.at)),
    );
    return h("li", { class: isShown ? "shown" : "" }, head, isShown && this.#detail(moment, index));
  }

  /** Made once for each moment, so that what was scrolled to or selected in it stays so. */
  #detail(moment, index) {
    if (!this.#details.has(moment)) this.#details.set(moment, h("div", { class: "detail-body" }, this.#told(moment, index)));
    return this.#details.get(moment);
  }

  #told(moment, index) {
    if (!moment.update) {
      const told = moment.revision === 0
        ? "As it was opened."
        : index === 0
        ? "What this page saw first."
        : "A snapshot in place of updates that were missed.";
      return [h("p", { class: "note" }, told)];
    }
    const json = h("details", { open: this.open ?? true, on: { toggle: () => (this.open = json.open) } });
    json.append(
      h("summary", {}, "Update as JSON", copyButton(() => JSON.stringify(moment.update), "Copy as JSON")),
      jsonBlock(moment.update, `Update of revision ${moment.revision}`),
    );
    const { extents, window } = moment.update;
    const unseen = extents || window ? "No row of the window changed: rows outside of it did." : "No row changed: what the rows are made from did.";
    const picture = moment.stages.length === 0 ? h("p", { class: "note" }, unseen) : stagePictures(moment);
    return [h("div", { class: "command" }), picture, json];
  }

  /** Puts the command that led to a moment into its detail, as soon as the journal has told. */
  #askForCommand(screen, moment) {
    clearTimeout(this.#asking);
    if (!moment.update || this.#asked.has(moment)) return;
    // Of updates in quick succession, only the last one's is asked for.
    this.#asking = setTimeout(async () => {
      const command = await screen.commandOf(moment.revision);
      if (!command || this.#asked.has(moment)) return;
      this.#asked.add(moment);
      const [kind, body] = Object.entries(command)[0];
      this.#details.get(moment).querySelector(".command").append(
        h("code", {}, kind),
        h("span", { class: "body" }, shortened(JSON.stringify(body), 300)),
        copyButton(() => screen.curl(...asRequest(kind, command))),
      );
    }, 100);
  }
}

function summary({ stages, update }) {
  if (!stages) return "snapshot";
  if (stages.length > 0) return chips(stages);
  return update.extents || update.window ? "outside of the window" : "state only";
}

/** A tap or a cell event, above the moment after which it came. */
function eventItem({ name: emitted, payload, event, id, cell, time }) {
  const [[name, parameters]] = emitted === undefined ? Object.entries(event ?? { tap: undefined }) : [[emitted, payload]];
  return h(
    "li",
    { class: "cell-event" },
    h("span", { class: "revision" }, emitted === undefined ? "event" : "emitted"),
    h("span", { class: "chips" }, `${name}${parameters === undefined ? "" : ` ${JSON.stringify(parameters)}`}${emitted === undefined ? ` · ${id ?? cell}` : ""}`),
    h("time", {}, clock(time)),
  );
}

const clock = (time) => time.toLocaleTimeString([], { hour12: false });

/** A command of the journal as what `POST …/transactions` takes, where its name alone is no resource. */
function asRequest(kind, command) {
  if (kind === "dataSource") return ["transactions", { commands: [command] }];
  return kind === "transactions"
    ? ["transactions", Array.isArray(command[kind]) ? { commands: command[kind] } : command[kind]]
    : [kind, command[kind]];
}
