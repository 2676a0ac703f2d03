import { h, jsonBlock, shortened } from "./dom.js";
import { chips, stagePictures } from "./stages.js";
import { copyButton } from "./toasts.js";

const listed = 60;

/** The revisions; of the displayed one, its command, picture and JSON. */
export class UpdatesPanel {
  #asking;
  /** From the journal, by moment. */
  #commands = new WeakMap();
  /** `{moment, element}` of the displayed revision only: they are large. */
  #shown = {};
  element = h("div", { class: "panel-content updates" });

  show(screen) {
    const { timeline } = screen;
    if (!timeline.last) return;
    // At most `listed`, with the displayed one.
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
        // At the click: indexes change when revisions are added or dropped.
        on: { click: () => timeline.show(timeline.moments.findIndex(({ revision }) => revision === moment.revision)) },
      },
      h("span", { class: "revision" }, `r${moment.revision}`),
      h("span", { class: "chips" }, summary(moment)),
      moment.at && h("time", {}, clock(moment.at)),
    );
    return h("li", { class: isShown ? "shown" : "" }, head, isShown && this.#detail(screen, moment, index));
  }

  /** Made once, to keep scroll position and selection. */
  #detail(screen, moment, index) {
    if (this.#shown.moment !== moment) {
      this.#shown = { moment, element: h("div", { class: "detail-body" }, this.#told(moment, index)) };
      this.#showCommand(screen);
    }
    return this.#shown.element;
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

  /** From the journal. */
  #askForCommand(screen, moment) {
    clearTimeout(this.#asking);
    if (!moment.update || this.#commands.has(moment)) return;
    // Of fast updates, only the last.
    this.#asking = setTimeout(async () => {
      const command = await screen.commandOf(moment.revision);
      if (!command) return;
      this.#commands.set(moment, command);
      this.#showCommand(screen);
    }, 100);
  }

  #showCommand(screen) {
    const { moment, element } = this.#shown;
    const command = this.#commands.get(moment);
    if (!command) return;
    const [kind, body] = Object.entries(command)[0];
    element.querySelector(".command").replaceChildren(
      h("code", {}, kind),
      h("span", { class: "body" }, shortened(JSON.stringify(body), 300)),
      copyButton(() => screen.curl(...asRequest(kind, command))),
    );
  }
}

function summary({ stages, update }) {
  if (!stages) return "snapshot";
  if (stages.length > 0) return chips(stages);
  return update.extents || update.window ? "outside of the window" : "state only";
}

/** The newest is on top, so an event is above the revision before it. */
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

/** As a request; without a resource of that name, a transaction. */
function asRequest(kind, command) {
  if (kind === "dataSource") return ["transactions", { commands: [command] }];
  return kind === "transactions"
    ? ["transactions", Array.isArray(command[kind]) ? { commands: command[kind] } : command[kind]]
    : [kind, command[kind]];
}
