import { compactJSON, h, jsonBlock } from "./dom.js";
import { chips, stagePictures } from "./stages.js";
import { copyButton } from "./toasts.js";

const listed = 60;

/** The panel of what happened: each revision, and of the one that is shown its command, its picture, its JSON. */
export class UpdatesPanel {
  #commands = new Map();
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
    this.element.replaceChildren(h("ol", { class: "moments" }, items));
  }

  #item(screen, moment, index) {
    const { timeline } = screen;
    const isShown = moment === timeline.shown;
    const head = h(
      "button",
      { type: "button", class: "moment", "aria-expanded": String(isShown), on: { click: () => timeline.show(index) } },
      h("span", { class: "revision" }, `r${moment.revision}`),
      h("span", { class: "chips" }, moment.stages ? moment.stages.length ? chips(moment.stages) : "state only" : "snapshot"),
      moment.at && h("time", {}, clock(moment.at)),
    );
    return h("li", { class: isShown ? "shown" : "" }, head, isShown && this.#detail(screen, moment, index));
  }

  #detail(screen, moment, index) {
    const { timeline } = screen;
    if (!moment.update) {
      return h(
        "div",
        { class: "detail-body" },
        h("p", { class: "note" }, index === 0 ? "What this page saw first." : "A snapshot in place of updates that were missed."),
      );
    }
    const previous = timeline.moments[index - 1];
    return h(
      "div",
      { class: "detail-body" },
      this.#command(screen, moment.revision),
      previous && moment.stages.length > 0 && stagePictures(moment, previous.frame),
      moment.stages.length === 0 && h("p", { class: "note" }, "No row changed: what the rows are made from did."),
      h(
        "details",
        {
          open: this.open ?? true,
          on: {
            toggle: (event) => {
              this.open = event.target.open;
            },
          },
        },
        h("summary", {}, "Update as JSON", copyButton(() => JSON.stringify(moment.update), "Copy as JSON")),
        jsonBlock(moment.update, `Update of revision ${moment.revision}`),
      ),
    );
  }

  /** The command that led to it, as soon as the journal has told. */
  #command(screen, revision) {
    const place = h("div", { class: "command" });
    const put = (command) => {
      if (!command) return;
      const [kind, body] = Object.entries(command)[0];
      place.append(
        h("code", {}, kind),
        h("span", { class: "body" }, compactJSON(body, "", 400)),
        copyButton(() => screen.curl(...asRequest(kind, command))),
      );
    };
    const known = `${screen.snapshot.epoch}.${revision}`;
    if (this.#commands.has(known)) put(this.#commands.get(known));
    else {screen.commandOf(revision).then((command) => {
        this.#commands.set(known, command);
        put(command);
      });}
    return place;
  }
}

/** A cell event, above the moment after which it came. */
function eventItem({ event, id, cell, time }) {
  const [[name, parameters]] = Object.entries(event);
  return h(
    "li",
    { class: "cell-event" },
    h("span", { class: "revision" }, "event"),
    h("span", { class: "chips" }, `${name} ${compactJSON(parameters, "", 400)} · ${id ?? cell}`),
    h("time", {}, clock(time)),
  );
}

const clock = (time) => time.toLocaleTimeString([], { hour12: false });

/** A command of the journal as what `POST …/transactions` takes, where its name alone is no resource. */
function asRequest(kind, command) {
  if (kind === "data-source" || Object.keys(command).length > 1) return ["transactions", { commands: [command] }];
  return kind === "transactions"
    ? ["transactions", Array.isArray(command[kind]) ? { commands: command[kind] } : command[kind]]
    : [kind, command[kind]];
}
