// Elements without a framework. Text is only ever inserted as text, never as HTML: a model's text cannot run.
import { parsed } from "./pointers.js";

/** `props`: `class`, `on: {event: listener}`, properties (`value`, `disabled`, …), anything else as an attribute. */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** All props but `on` are attributes. */
export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") { for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener); }
    else if (name === "class") element.setAttribute("class", value);
    else if (name in element && !(element instanceof SVGElement) && !name.startsWith("aria")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** `icon`: a symbol's id in index.html. */
export function button(label, action, { icon, iconOnly = false, kind = "", ...props } = {}) {
  const content = [icon && symbol(icon), iconOnly ? null : h("span", {}, label)];
  return h("button", {
    type: "button",
    class: `button ${kind} ${iconOnly ? "icon" : ""}`.trim(),
    title: iconOnly ? label : undefined,
    "aria-label": iconOnly ? label : undefined,
    on: { click: action },
    ...props,
  }, content);
}

export const symbol = (id) => svg("svg", { class: "symbol", "aria-hidden": "true" }, svg("use", { href: `#${id}` }));

/** Where the pointer or space bar is down, and what to call after its release. */
let held = null;
const putOff = new Set();

const hold = ({ target }) => held = target;
const letGo = () =>
  // After the click, which follows the release.
  setTimeout(() => {
    held = null;
    const actions = [...putOff];
    putOff.clear();
    for (const action of actions) action();
  });
addEventListener("pointerdown", (event) => event.button === 0 && hold(event), true);
addEventListener("keydown", (event) => event.key === " " && hold(event), true);
// With a context menu, `pointerup` never comes.
for (const type of ["pointerup", "pointercancel", "keyup", "contextmenu"]) addEventListener(type, letGo, true);

/** Replacing a pressed element would lose the click. True if pressed; `later` then runs after the click. */
export function isHeld(element, later) {
  if (!held || !element.contains(held)) return false;
  putOff.add(later);
  return true;
}

const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Text nodes and colored spans. */
export function coloured(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const kind = match[1] ? (match[2] ? "key" : "string") : match[3] ? "word" : "number";
    parts.push(h("span", { class: `json-${kind}` }, match[1] ?? match[0]), match[2] ?? "");
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** Indented, with values up to `width` characters on one line. `before`: characters already on the first one. */
export function compactJSON(value, { width = 48, indent = "", before = 0 } = {}) {
  if (typeof value !== "object" || value === null) return spaced(value);
  const line = JSON.stringify(value).length <= width ? spaced(value) : null;
  if (line !== null && line.length + indent.length + before <= width) return line;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const lines = Array.isArray(value)
    ? value.map((item) => inner + compactJSON(item, { width, indent: inner }))
    : Object.entries(value).map(([name, item]) => {
      const label = `${JSON.stringify(name)}: `;
      return inner + label + compactJSON(item, { width, indent: inner, before: label.length });
    });
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${spaced(item)}`);
  return members.length ? `{ ${members.join(", ")} }` : "{}";
}

export const shortened = (text, length) => text.length > length ? `${text.slice(0, length)}…` : text;

const shownAtOnce = 20_000;

export function jsonBlock(value, label) {
  const text = compactJSON(value);
  const block = h("pre", { class: "json", tabindex: 0, role: "region", "aria-label": label });
  block.append(...coloured(text.slice(0, shownAtOnce)));
  if (text.length > shownAtOnce) {
    block.append(
      button(`Show all ${text.length.toLocaleString("en")} characters`, () => block.replaceChildren(...coloured(text)), { kind: "small" }),
    );
  }
  return block;
}

/** Otherwise selects the fault and throws an error with its line. */
export function readJSON(field) {
  try {
    return parsed(field.value);
  } catch (error) {
    field.focus();
    field.setSelectionRange(error.fault.start, error.fault.end);
    throw error;
  }
}
