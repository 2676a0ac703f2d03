// What a cell looks like follows from what it is given to show (its view model, or else its model) and from the events that the
// description declares for it. The rules, in order; the first that fits holds (docs/inspector.md has them as a table).
import { compactJSON, h, symbol } from "./dom.js";

const isText = (value) => typeof value === "string";
const isLabel = (value) => isText(value) || typeof value === "number";
/** The first of these that can be shown. Anything may stand under any name, also an object whose `toString` is no function. */
export const labelText = (...values) => String(values.find(isLabel) ?? "");

export const rules = [
  { look: "switch", fits: (content) => ["isOn", "value"].some((name) => typeof content[name] === "boolean") },
  { look: "segments", fits: (content) => Array.isArray(content.segments) && content.segments.every(isLabel) },
  { look: "date", fits: (content, cell) => isText(content.date) || /date|time|picker/i.test(cell) && isText(content.mode) },
  {
    look: "field",
    fits: (content, _cell, events) =>
      isText(content.placeholder) || isText(content.text) && (isText(content.title) || events && parameter(events, "text")),
  },
  { look: "image", fits: (content) => ["image", "imageURL"].some((name) => isText(content[name])) },
  { look: "labels", fits: (content) => isLabel(content.title) || isLabel(content.name) },
  { look: "text", fits: (content) => isLabel(content.text) },
];

const inputTypes = new Map([["time", "time"], ["dateTime", "datetime-local"], ["dateAndTime", "datetime-local"]]);

const jtdTypes = {
  flag: (schema) => schema.type === "boolean",
  text: (schema) => schema.type === "string",
  choice: (schema) => Array.isArray(schema.enum) || schema.type === "string",
  date: (schema) => schema.type === "string" || schema.type === "timestamp",
};
/** What Braid's own samples call their events: for who may not read the session's description. */
const customary = {
  flag: { event: "switchToggled", name: "isOn" },
  text: { event: "textEntered", name: "text" },
  choice: { event: "segmentChosen", name: "segment" },
  date: { event: "dateSelected", name: "date" },
};

/** The declared event with a parameter of a kind: `{event, name}`, or undefined. `events` null: they are not known. */
export function parameter(events, kind) {
  if (!events) return customary[kind];
  for (const [event, schema] of Object.entries(events)) {
    const found = Object.entries(schema.properties ?? {}).find(([, type]) => jtdTypes[kind](type));
    if (found) return { event, name: found[0] };
  }
}

/** Only what cannot run: images of the web, of this server, or inside the URL. */
export function safeImageURL(text) {
  if (/^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/i.test(text)) return text;
  if (!/^(https?:\/\/|\/(?!\/))/i.test(text) || !URL.canParse(text, location.href)) return null;
  return new URL(text, location.href).href;
}

/**
 * The content of a row's cell: elements.
 * `context`: `{events, state, send(event, parameters), entry(event), readOnly}`; `entry`: what was entered for an event and has no answer yet.
 */
export function cellContent(row, context) {
  const content = row.viewModel ?? row.model;
  if (content === null || typeof content !== "object" || Array.isArray(content)) {
    return isLabel(content) ? [labels({ title: content })] : [unknown(row, content)];
  }
  return [...parts(row, content, context), ...plainEvents(context)];
}

function parts(row, content, context) {
  const rule = rules.find((rule) => rule.fits(content, row.cell, context.events));
  if (!rule) return [unknown(row, content)];
  try {
    return looks[rule.look](content, context, row);
  } catch (error) {
    // A fault of one look must not hide the rows behind it.
    console.warn(`A ${rule.look} could not be made`, error);
    return [unknown(row, content)];
  }
}

const looks = {
  switch(content, context) {
    const name = typeof content.isOn === "boolean" ? "isOn" : "value";
    const event = parameter(context.events, "flag");
    return [
      labels(content),
      h("button", {
        type: "button",
        class: "switch",
        role: "switch",
        "aria-checked": String(content[name]),
        "aria-label": labelText(content.title, content.text, name),
        disabled: !event || context.readOnly,
        on: { click: () => context.send(event.event, { [event.name]: !content[name] }) },
      }),
    ];
  },
  segments(content, context) {
    const event = parameter(context.events, "choice");
    const chosen = content.chosen ?? content.selected;
    return [
      h(
        "div",
        { class: "segments", role: "radiogroup", "aria-label": labelText(content.title, event?.name, "Segments") },
        content.segments.map((segment) =>
          h("button", {
            type: "button",
            role: "radio",
            "aria-checked": String(segment === chosen),
            disabled: !event || context.readOnly,
            on: { click: () => context.send(event.event, { [event.name]: segment }) },
          }, String(segment))
        ),
      ),
    ];
  },
  date(content, context) {
    const event = parameter(context.events, "date");
    const type = inputTypes.get(content.mode) ?? "date";
    // A picker without a date of its own picks a member of the state, as in the form example.
    const value = labelText(content.date, content.value, isText(content.picks) ? context.state?.[content.picks] : undefined);
    return [
      isLabel(content.title) && labels(content),
      input({ type, value, "aria-label": labelText(content.title, content.picks, "Date") }, event, context),
    ];
  },
  field(content, context) {
    const event = parameter(context.events, "text");
    const name = labelText(content.title, content.placeholder, "Text");
    const hint = [content.placeholder, content.title].find(isText) ?? "";
    return [input({ type: "text", value: labelText(content.text), placeholder: hint, "aria-label": name }, event, context)];
  },
  image(content) {
    const named = [content.imageURL, content.image].find(isText);
    const url = safeImageURL(named);
    // A name without a path is an image of the app's own: only its app has it.
    const image = url
      ? h("img", {
        class: "thumbnail",
        src: url,
        alt: "",
        loading: "lazy",
        referrerPolicy: "no-referrer",
        on: { error: (event) => event.target.replaceWith(glyph(named)) },
      })
      : glyph(named);
    return [image, labels(content)];
  },
  labels: (content, _context, row) => [labels(content, row)],
  text: (content) => [h("div", { class: "centred" }, String(content.text))],
};

/** Dates change with every key; what was entered is sent when no more keys come. */
const entryPause = 700;

function input(props, event, context) {
  let waiting;
  const entry = () => event && context.entry(event.event);
  /** Shows whether what was entered could be sent, now and whenever that changes. */
  const show = () => {
    const isUnsent = entry()?.isUnsent ?? false;
    element.classList.toggle("unsent", isUnsent);
    element.title = isUnsent ? "Not sent. Enter sends it again, Escape drops it." : "";
    if (entry()) entry().changed = show;
  };
  const enter = ({ target, type }) => {
    clearTimeout(waiting);
    if (target.value === sent && !(type === "keydown" && entry()?.isUnsent)) return;
    sent = target.value;
    context.send(event.event, { [event.name]: sent });
    show();
  };
  const element = h("input", {
    ...props,
    class: `field ${props.type}`,
    autocomplete: "off",
    disabled: !event || context.readOnly,
    on: {
      blur: enter,
      change: (event) => {
        clearTimeout(waiting);
        if (props.type === "text") enter(event);
        else waiting = setTimeout(enter, entryPause, event);
      },
      keydown: (event) => {
        if (event.key === "Escape" && entry()?.isUnsent) {
          entry().drop();
          sent = held;
          show();
        }
        if (event.key === "Escape") event.target.value = sent;
        if (event.key === "Enter" && !event.isComposing) enter(event);
      },
    },
  });
  // As the field holds it: a date that is none, or a text of two lines, is not sent changed by who only looks at it.
  const held = element.value;
  let sent = held;
  if (entry()) element.value = sent = entry().parameters[event.name];
  show();
  return element;
}

function labels(content, row) {
  const title = content.title ?? content.name;
  const rest = row && content === row.model ? otherMembers(content, row) : null;
  const subtitle = content.subtitle ?? rest;
  return h(
    "div",
    { class: "labels" },
    h(
      "div",
      { class: "names" },
      isLabel(title) && h("div", { class: "title" }, String(title)),
      isLabel(subtitle) && String(subtitle) !== "" && h("div", { class: "subtitle" }, String(subtitle)),
    ),
    isLabel(content.detail) && h("div", { class: "detail" }, String(content.detail)),
  );
}

/** Where a cell is given its model, what a model says beside its name: `members 2`. */
function otherMembers(model, row) {
  const told = new Set(["id", "type", "cell", "title", "name", "subtitle", "detail", "image", "imageURL"]);
  return Object.entries(model).filter(([name, value]) => !told.has(name) && isLabel(value) && String(value) !== row.id).map(([name, value]) =>
    `${name} ${value}`
  ).join(" · ");
}

const glyph = (name) => h("div", { class: "thumbnail glyph", title: name, role: "img", "aria-label": name }, symbol("icon-image"));

const unknown = (row, content) =>
  h("div", { class: "unknown" }, h("div", { class: "subtitle" }, row.cell ?? "cell"), h("pre", {}, compactJSON(content ?? null)));

/** Events without parameters are buttons. */
function plainEvents({ events, send, readOnly }) {
  return Object.entries(events ?? {})
    .filter(([, schema]) =>
      Object.keys(schema.properties ?? {}).length === 0 && Object.keys(schema).every((name) => name === "properties" || name === "metadata")
    )
    .map(([event]) => h("button", { type: "button", class: "event", disabled: readOnly, on: { click: () => send(event, {}) } }, event));
}
