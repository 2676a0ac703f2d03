import { button, h, isHeld, jsonBlock, shortened } from "./dom.js";
import { actor } from "./people.js";
import { chips, stagePictures } from "./stages.js";
import { copyButton } from "./toasts.js";

const listed = 60;

/** The revisions with who acted; of the displayed one, its command, picture and JSON. */
export class UpdatesPanel {
  #asking;
  /** `{moment, element}` of the displayed revision only: they are large. */
  #shown = {};
  element = h("div", { class: "panel-content updates" });

  /** `me`: see `People`. */
  show(screen, me) {
    const { timeline } = screen;
    if (!timeline.last) return;
    const again = () => this.show(screen, me);
    // At most `listed`, with the displayed one.
    const shown = timeline.position ?? timeline.moments.length - 1;
    const first = Math.max(0, Math.min(shown - listed / 4, timeline.moments.length - listed));
    const moments = timeline.moments.slice(first, first + listed);
    const items = moments.flatMap((moment, i) => [
      this.#item(screen, moment, first + i, me),
      ...timeline.events.filter(({ after }) => after === moment).map((event) => eventItem(event, me)),
    ]).reverse();
    const { revision, undo } = this.element.contains(document.activeElement) ? document.activeElement.dataset : {};
    this.element.replaceChildren(h("ol", { class: "moments" }, items));
    this.#askForRecords(screen, moments, again);
    const focused = undo ? `[data-undo="${undo}"]` : revision && `[data-revision="${revision}"]`;
    if (focused) this.element.querySelector(focused)?.focus({ preventScroll: true });
  }

  #item(screen, moment, index, me) {
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
      (moment.record || moment.update?.by) && actor(moment.record ? moment.record.by : moment.update.by, me),
      moment.at && h("time", {}, clock(moment.at)),
    );
    const mayUndo = moment.update && screen.mayUndo && !screen.isEnded;
    const line = h("div", { class: "moment-line" }, head, mayUndo && undoButton(screen, moment, timeline.isUndo(moment) ? "redo" : "undo"));
    return h("li", { class: isShown ? "shown" : "" }, line, isShown && this.#detail(screen, moment, index));
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

  /** Page by page. */
  #askForRecords(screen, moments, again) {
    clearTimeout(this.#asking);
    const missing = moments.filter(({ update, record }) => update && record === undefined);
    if (missing.length === 0 || !screen.description) return;
    // Of fast updates, many together.
    this.#asking = setTimeout(async () => {
      if (!await screen.readRecords(missing[0].revision, missing.at(-1).revision)) return;
      this.#showCommand(screen);
      if (this.element.isConnected && !isHeld(this.element, again)) again();
    }, 100);
  }

  #showCommand(screen) {
    const { moment, element } = this.#shown;
    const command = moment?.record?.command;
    if (!command) return;
    const [kind, body] = Object.entries(undoAsSent(command))[0];
    element.querySelector(".command").replaceChildren(
      h("code", {}, kind),
      h("span", { class: "body" }, shortened(JSON.stringify(body), 300)),
      copyButton(() => screen.curl(...asRequest(kind, undoAsSent(command)))),
    );
  }
}

function summary({ stages, update }) {
  if (!stages) return "snapshot";
  if (stages.length > 0) return chips(stages);
  return update.extents || update.window ? "outside of the window" : "state only";
}

/** The newest is on top, so an event is above the revision before it. */
function eventItem({ name: emitted, payload, event, id, cell, time, by }, me) {
  const [[name, parameters]] = emitted === undefined ? Object.entries(event ?? { tap: undefined }) : [[emitted, payload]];
  return h(
    "li",
    { class: "cell-event" },
    h("span", { class: "revision" }, emitted === undefined ? "event" : "emitted"),
    h("span", { class: "chips" }, `${name}${parameters === undefined ? "" : ` ${JSON.stringify(parameters)}`}${emitted === undefined ? ` · ${id ?? cell}` : ""}`),
    by && actor(by, me),
    h("time", {}, clock(time)),
  );
}

const clock = (time) => time.toLocaleTimeString([], { hour12: false });

/** Without the change that the server found. */
const undoAsSent = (command) => command.undo ? { undo: { revision: command.undo.revision } } : command;

function undoButton(screen, { revision }, kind) {
  return button(`${kind === "redo" ? "Redo what was undone by" : "Undo"} revision ${revision}`, () => screen.takeBack(kind, { revision }), {
    icon: `icon-${kind}`,
    iconOnly: true,
    kind: "copy",
    "data-undo": revision,
  });
}

/** As a request; without a resource of that name, a transaction. */
function asRequest(kind, command) {
  if (kind === "dataSource") return ["transactions", { commands: [command] }];
  return kind === "transactions"
    ? ["transactions", Array.isArray(command[kind]) ? { commands: command[kind] } : command[kind]]
    : [kind, command[kind]];
}
