import { cellContent } from "./cells.js";
import { compactJSON, h, isHeld, symbol } from "./dom.js";
import { rowName, titleText } from "./frames.js";

/** Makes a list's items, again when their content changes. */
export class ItemMaker {
  /** What all rows depend on; a new `version` makes all again. */
  context = {};
  #made = new WeakMap();
  /** The row that Tab reaches; `isSelected`: a person selected it. */
  selected = null;
  isSelected = false;

  /** `forget(key)`: its height may have changed. `again()`: what could not be replaced earlier, can be now. */
  constructor(forget, again) {
    this.forget = forget;
    this.again = again;
  }

  /** What is on a row's edge, by section and id; null for nothing. */
  marks = () => null;

  make = (item, element) => {
    this.#make(item, element);
    if (item.kind === "row") this.#mark(element, item.content.id);
  };

  /** Again, as others have come, gone or moved. */
  markAll(list) {
    for (const element of list.querySelectorAll(".row")) this.#mark(element, this.#made.get(element)?.content.id);
  }

  #mark(element, id) {
    const marks = this.marks(element.dataset.section, id);
    const old = element.querySelector(".marks");
    if (old?.isEqualNode(marks)) return;
    old?.remove();
    if (marks) element.querySelector(".cell")?.append(marks);
  }

  #make(item, element) {
    const made = this.#made.get(element);
    if (item.index) element.setAttribute("aria-rowindex", item.index);
    element.setAttribute("role", item.index ? "row" : "presentation");
    element.dataset.section = this.context.sections[item.s]?.id ?? "";
    const look = item.kind === "row" ? `item row${item.isFirst ? " first" : ""}${item.isLast ? " last" : ""}` : `item ${item.kind}`;
    if (element.className !== look) element.className = look;
    if (item.kind === "row") {
      element.tabIndex = item.key === this.selected ? 0 : -1;
      element.setAttribute("aria-selected", String(this.isSelected && item.key === this.selected));
    }
    if (made && made.content === item.content && made.version === this.context.version) return;
    // Not while a person types in it; when the field loses the focus.
    if (made && element.contains(document.activeElement) && document.activeElement.matches("input")) {
      document.activeElement.addEventListener("blur", this.again, { once: true });
      return;
    }
    if (made && isHeld(element, this.again)) return;
    this.#made.set(element, { content: item.content, version: this.context.version });
    this.forget(item.key);
    keepingFocus(element, () => element.replaceChildren(...this[item.kind](item, element)));
  }

  row(item, element) {
    const { content: row, fixed } = item;
    element.style.height = fixed === undefined ? "" : `${fixed}px`;
    element.toggleAttribute("data-fixed", fixed !== undefined);
    const name = rowName(row, item.r);
    const { events, state, send, entry, readOnly } = this.context;
    const context = {
      events: events === null ? null : events[row.cell] ?? {},
      state,
      readOnly,
      send: (event, parameters) => send(element, event, parameters),
      entry: (event) => entry(item.key, event),
    };
    const sign = { delete: ["minus", `Delete ${name}`], insert: ["plus", `Insert at ${name}`] }[row.editing];
    return [
      h(
        "div",
        { class: "cell", role: "gridcell", "data-cell": row.cell },
        sign && h("button", { type: "button", class: `sign ${sign[0]}`, "aria-label": sign[1], disabled: readOnly }, symbol(`icon-${sign[0]}`)),
        h("div", { class: "content" }, cellContent(row, context)),
        row.movable && h("button", { type: "button", class: "handle", "aria-label": `Move ${name}`, disabled: readOnly }, symbol("icon-handle")),
        row.editing === "delete" &&
          h("button", { type: "button", class: "delete", disabled: readOnly, "aria-label": `Confirm: delete ${name}` }, "Delete"),
      ),
    ];
  }

  header({ content }, element) {
    const height = content?.height;
    element.style.height = typeof height === "number" && content ? `${height + 10}px` : "";
    return [title(content, "columnheader", 2)];
  }

  footer({ content }, element) {
    element.style.height = typeof content?.height === "number" ? `${content.height}px` : "";
    return [title(content, "rowheader")];
  }

  gap() {
    return [];
  }

  hidden({ id }) {
    const { display } = this.context;
    return [
      h(
        "div",
        { class: "title-text" },
        symbol("icon-hidden"),
        h("span", {}, `${id} · hidden`),
        display && h("button", { type: "button", class: "button small", on: { click: () => display(id) } }, "Display"),
      ),
    ];
  }
}

function title(content, role, level) {
  const text = titleText(content);
  const cell = h("div", { class: "title-text", role: content ? role : "presentation" });
  if (text) cell.append(level ? h("span", { role: "heading", "aria-level": level }, text) : text);
  else if (content?.view) cell.append(h("pre", {}, compactJSON(content)));
  if (content?.view) cell.title = `view ${content.view}`;
  return cell;
}

/** The focus goes to the same control in the new content. */
function keepingFocus(element, change) {
  const focused = element.contains(document.activeElement) && document.activeElement !== element ? document.activeElement : null;
  change();
  if (focused) (element.querySelector(controlLike(focused)) ?? element).focus({ preventScroll: true });
}

/** A selector for it in the new content. */
function controlLike(control) {
  const name = control.getAttribute("aria-label") ?? "";
  return control.classList.length > 0 ? `.${control.classList[0]}` : `${control.localName}[aria-label="${CSS.escape(name)}"], ${control.localName}`;
}
