// How a cell looks depends on its view model (or else model), its name, and the events declared for it. The first rule
// that fits wins; docs/inspector.md lists them.
import { compactJSON, h, symbol } from "./dom.js";

const isText = (value) => typeof value === "string";
const isLabel = (value) => isText(value) || typeof value === "number";
/** The first text or number. Models can be any JSON, even with a `toString` that is no function. */
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
/** iOS Braid's samples name events so; assumed if the description may not be read. */
const customary = {
  flag: { event: "switchToggled", name: "isOn" },
  text: { event: "textEntered", name: "text" },
  choice: { event: "segmentChosen", name: "segment" },
  date: { event: "dateSelected", name: "date" },
};

/**
 * The first declared event with such a parameter: `{event, name, schema}`. `events` null: unknown, so the usual names.
 */
export function parameter(events, kind) {
  if (!events) return customary[kind];
  for (const [event, schema] of Object.entries(events)) {
    const found = Object.entries(schema.properties ?? {}).find(([, type]) => jtdTypes[kind](type));
    if (found) return { event, name: found[0], schema };
  }
}

/** `value`, or an empty one of the schema's type. */
export function initial(schema, value) {
  if (schema.nullable && (value ?? null) === null) return null;
  if (schema.enum) return schema.enum.includes(value) ? value : schema.enum[0];
  if (schema.type === "boolean") return value === true;
  if (schema.type === "string" || schema.type === "timestamp") return labelText(value);
  return schema.type ? (typeof value === "number" ? value : 0) : value ?? null;
}

/** The entered one, all required ones, and optional ones that the content has. */
function parameters({ name, schema = {} }, content, entered) {
  const { properties = {}, optionalProperties = {} } = schema;
  const optional = Object.entries(optionalProperties).filter(([name]) => Object.hasOwn(content, name));
  const others = [...Object.entries(properties), ...optional].map(([name, type]) => [name, initial(type, content[name])]);
  return { ...Object.fromEntries(others), [name]: entered };
}

/**
 * Only what cannot run code: `http`, `https`, paths on this server, and `data:` of PNG, JPEG, GIF, WebP, AVIF and SVG.
 * Otherwise null.
 */
export function safeImageURL(text) {
  if (/^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/i.test(text)) return text;
  if (!/^(https?:\/\/|\/(?!\/))/i.test(text) || !URL.canParse(text, location.href)) return null;
  return new URL(text, location.href).href;
}

/**
 * A row's elements. `context`: `{events, state, send(event, parameters), entry(event), readOnly}`; `entry` gives what
 * was entered and not answered yet.
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
    // One bad cell must not hide the rows after it.
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
        on: { click: () => context.send(event.event, parameters(event, content, !content[name])) },
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
            on: { click: () => context.send(event.event, parameters(event, content, segment)) },
          }, String(segment))
        ),
      ),
    ];
  },
  date(content, context) {
    const event = parameter(context.events, "date");
    const type = inputTypes.get(content.mode) ?? "date";
    // Without a date, the state's member that `picks` names (Examples/form).
    const value = labelText(content.date, content.value, isText(content.picks) ? context.state?.[content.picks] : undefined);
    return [
      isLabel(content.title) && labels(content),
      input({ type, value, "aria-label": labelText(content.title, content.picks, "Date") }, event, content, context),
    ];
  },
  field(content, context) {
    const event = parameter(context.events, "text");
    const name = labelText(content.title, content.placeholder, "Text");
    const hint = [content.placeholder, content.title].find(isText) ?? "";
    return [input({ type: "text", value: labelText(content.text), placeholder: hint, "aria-label": name }, event, content, context)];
  },
  image(content) {
    const named = [content.imageURL, content.image].find(isText);
    const url = safeImageURL(named);
    // Other names are images in the app's bundle.
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

/** Milliseconds. Date fields fire `change` at each key, so wait for a pause; Enter and blur send at once. */
const entryPause = 700;

function input(props, event, content, context) {
  let waiting;
  const entry = () => event && context.entry(event.event);
  /** Marks input that could not be sent. */
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
    context.send(event.event, parameters(event, content, sent));
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
  // As the field has it: browsers drop invalid dates and line breaks. Comparing with this avoids sending what nobody
  // typed.
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

/** Without a view model: other texts and numbers as a subtitle, `members 2`. */
function otherMembers(model, row) {
  const told = new Set(["id", "type", "cell", "title", "name", "subtitle", "detail", "image", "imageURL"]);
  return Object.entries(model).filter(([name, value]) => !told.has(name) && isLabel(value) && String(value) !== row.id).map(([name, value]) =>
    `${name} ${value}`
  ).join(" · ");
}

const glyph = (name) => h("div", { class: "thumbnail glyph", title: name, role: "img", "aria-label": name }, symbol("icon-image"));

const unknown = (row, content) =>
  h("div", { class: "unknown" }, h("div", { class: "subtitle" }, row.cell ?? "cell"), h("pre", {}, compactJSON(content ?? null)));

/** For events without parameters. */
function plainEvents({ events, send, readOnly }) {
  return Object.entries(events ?? {})
    .filter(([, schema]) =>
      Object.keys(schema.properties ?? {}).length === 0 && Object.keys(schema).every((name) => name === "properties" || name === "metadata")
    )
    .map(([event]) => h("button", { type: "button", class: "event", disabled: readOnly, on: { click: () => send(event, {}) } }, event));
}
