import { initial } from "./cells.js";
import { button, compactJSON, h, jsonBlock, readJSON } from "./dom.js";
import { indexIn, rowName } from "./frames.js";
import { copy, toast } from "./toasts.js";

/** The selected row: its data and the commands that it allows, to send or copy as curl. */
export class RowPanel {
  element = h("div", { class: "panel-content" });
  #about = h("div", { class: "panel-content" });
  #actions = h("div", { class: "actions", on: { input: () => (this.#isTyped = true), submit: () => (this.#isTyped = false) } });
  /** Something was typed and not sent. */
  #isTyped = false;

  show(screen) {
    const place = screen.table.find(screen.selected);
    if (!place) {
      const note = screen.selected && screen.snapshot.window
        ? "The selected row is not near the rows that are in sight."
        : "Select a row: its model, what it is shown from, and what can be done with it stand here.";
      return this.element.replaceChildren(h("p", { class: "note" }, note));
    }
    const [s, r] = place;
    const section = screen.snapshot.sections[s];
    const row = section.rows[r];
    if (this.element.firstChild !== this.#about) this.element.replaceChildren(this.#about, h("h3", {}, "Commands"), this.#actions);
    const { sections } = screen.snapshot;
    const offer = JSON.stringify([
      screen.selected, row.cell, row.editing, row.movable && [section.movesTo, sections.map(({ id }) => id)], screen.table.readOnly,
    ]);
    const isOffered = offer === this.offer && screen.description === this.description;
    if (row === this.row && isOffered) {
      this.place.textContent = placeText(section, place);
      return;
    }
    Object.assign(this, { row, offer, description: screen.description });
    this.place = h("dd", {}, placeText(section, place));
    const facts = [
      ["Place", this.place],
      ["id", row.id],
      ["cell", row.cell],
      ["editing", row.editing],
      ["movable", row.movable && movesTo(section)],
      ["height", row.height ?? row.estimatedHeight],
    ];
    this.#about.replaceChildren(
      h("h2", {}, rowName(row, r)),
      h(
        "dl",
        { class: "facts" },
        facts.filter(([, value]) => value !== undefined && value !== false).flatMap((
          [name, value],
        ) => [h("dt", {}, name), value instanceof Node ? value : h("dd", {}, String(value))]),
      ),
      ...(row.viewModel !== undefined ? [h("h3", {}, "View model"), jsonBlock(row.viewModel, "View model")] : []),
      ...(row.model !== undefined ? [h("h3", {}, "Model"), jsonBlock(row.model, "Model")] : []),
    );
    // Typed fields stay while the row allows the same commands.
    if (isOffered && this.#isTyped) return;
    const controls = () => [...this.#actions.querySelectorAll("input, textarea, select, button")];
    const focused = controls().indexOf(document.activeElement);
    this.#actions.replaceChildren(...actions(screen, screen.selected, section, row));
    this.#isTyped = false;
    controls()[focused]?.focus({ preventScroll: true });
  }
}

/** In a window, the section's index in the table is unknown. */
const placeText = (section, [s, r]) =>
  section.offset === undefined ? `[${s}, ${r}] in ${section.id}` : `${indexIn(section, r).toLocaleString("en")} in ${section.id}`;
const movesTo = ({ movesTo }) => movesTo === "anySection" ? "to any section" : `to ${movesTo?.join(", ") ?? "nowhere"}`;

/** Each form looks up the row's place when sent: it may have moved. */
function actions(screen, key, section, row) {
  const place = () => screen.table.find(key);
  const named = () => screen.table.reference(place());
  const onRow = (kind, body) => () => {
    const { ref, base } = named();
    return [kind, body(ref), { base }];
  };
  const onPlace = (kind, body) => () => {
    const at = place();
    return [kind, body(screen.table.place(at), at), { base: screen.snapshot.revision }];
  };
  const list = [action(screen, key, "Tap", [], onRow("taps", (at) => ({ at })))];
  if (row.editing === "delete") list.push(action(screen, key, "Delete", [], onRow("edits", (ref) => ({ delete: ref }))));
  if (row.editing === "insert") {
    const model = jsonField("Model of the new row", row.model ?? {});
    list.push(action(screen, key, "Insert here", [model], onPlace("edits", (insert) => ({ insert, model: model.read() }))));
  }
  if (row.movable) {
    const targets = screen.snapshot.sections.map(({ id }) => id).filter((id) => section.movesTo === "anySection" || section.movesTo?.includes(id));
    const [to, index] = [field("to", { enum: targets }, section.id), field("row", { type: "uint32" }, 0)];
    const target = () => ({ section: to.read(), row: index.read() });
    list.push(action(screen, key, "Move", [to, index], onPlace("moves", () => ({ from: named().ref, to: target() }))));
  }
  for (const [event, schema] of Object.entries(screen.description?.cells?.[row.cell]?.events ?? {})) {
    const content = row.viewModel ?? row.model;
    const fields = Object.entries({ ...schema.properties, ...schema.optionalProperties }).map(([name, type]) => field(name, type, content?.[name]));
    const parameters = () => Object.fromEntries(fields.map((field) => [field.name, field.read()]));
    list.push(action(screen, key, event, fields, onRow("events", (at) => ({ at, event: { [event]: parameters() } }))));
  }
  if (row.model !== undefined && screen.description) {
    const model = jsonField("Model", row.model);
    const byIndex = onPlace("update row", (_, at) => ({ at, model: model.read() }));
    const byId = onRow("put row", ({ id, section }) => ({ section, rowId: id, model: model.read() }));
    const isOfWindow = section.offset !== undefined;
    if (!isOfWindow || row.id !== undefined) list.push(action(screen, key, "Update model", [model], isOfWindow ? byId : byIndex));
  }
  return list;
}

/** `command()` returns `[kind, body, {base}]`. */
function action(screen, key, label, fields, command) {
  // A field without JSON is reported like a refusal.
  const using = (use) => {
    if (!screen.table.find(key)) return toast("The row is gone", { kind: "problem" });
    try {
      use(command());
    } catch (error) {
      toast("Not JSON", { detail: error.message, kind: "problem" });
    }
  };
  const submit = (event) => {
    event.preventDefault();
    // Without an answer, the input counts as typed again, and is kept.
    const failed = () => event.target.dispatchEvent(new Event("input", { bubbles: true }));
    using(([kind, body, options]) => screen.perform(kind, body, { ...options, failed }));
  };
  const send = button("Send", () => {}, { type: "submit", kind: "small", disabled: screen.table.readOnly, "aria-label": `Send ${label}` });
  const copying = button(`Copy ${label} as curl`, () => using((parts) => copy(screen.curl(...parts))), {
    icon: "icon-terminal",
    iconOnly: true,
    kind: "copy",
  });
  const elements = fields.map(({ element }) => element);
  return h(
    "form",
    { class: "action", on: { submit } },
    h("span", { class: "action-name" }, label),
    elements,
    h("span", { class: "action-buttons" }, send, copying),
  );
}

function jsonField(label, value) {
  const element = h("textarea", { class: "code", rows: 4, spellcheck: false, value: compactJSON(value), "aria-label": label });
  return { element, read: () => readJSON(element) };
}

/** For a value of a JTD schema: `{name, element, read()}`. */
function field(name, schema, value) {
  const label = (input) => h("label", {}, h("span", {}, name), input);
  if (schema.enum) {
    const input = h("select", {}, schema.enum.map((option) => h("option", { value: option, selected: option === value }, option)));
    return { name, element: label(input), read: () => input.value };
  }
  if (schema.type === "boolean") {
    const input = h("input", { type: "checkbox", checked: value === false });
    return { name, element: label(input), read: () => input.checked };
  }
  const first = initial(schema, value);
  const isText = schema.type === "string" || schema.type === "timestamp";
  const isNumber = schema.type && !isText;
  const input = h("input", {
    type: isNumber ? "number" : "text",
    step: "any",
    spellcheck: false,
    value: isText ? first : JSON.stringify(first),
  });
  return { name, element: label(input), read: () => isText ? input.value : isNumber ? (input.value === "" ? null : Number(input.value)) : readJSON(input) };
}
