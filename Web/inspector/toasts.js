import { ConnectionError, Problem } from "/braid.js";
import { button, h, readJSON, shortened } from "./dom.js";

const place = document.querySelector("#toasts");
const announcer = document.querySelector("#announcer");

/** For screen readers. */
export function announce(text) {
  announcer.textContent = announcer.textContent === text ? `${text}\u00a0` : text;
}

/** Closes visible messages, oldest first. */
const open = [];

/**
 * Goes after some seconds, unless hovered, focused or `stays`; at most four at a time. Returns a function that closes
 * it. `closed()`: whenever it closes.
 */
export function toast(title, { detail, errors = [], kind = "", actions = [], stays = false, closed } = {}) {
  const close = () => {
    if (!open.includes(close)) return;
    open.splice(open.indexOf(close), 1);
    element.remove();
    closed?.();
  };
  const element = h(
    "div",
    { class: `toast ${kind}`, role: kind === "problem" ? "alert" : "status" },
    h(
      "div",
      { class: "toast-text" },
      h("strong", {}, title),
      detail && h("p", {}, detail),
      errors.length > 0 && h("ul", {}, errors.slice(0, 4).map(({ pointer, detail }) => h("li", {}, h("code", {}, pointer), " ", detail))),
    ),
    actions,
    button("Dismiss", close, { icon: "icon-close", iconOnly: true }),
  );
  place.append(element);
  open.push(close);
  while (open.length > 4) open[0]();
  const leave = () => element.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : close();
  if (!stays) setTimeout(leave, kind === "problem" || actions.length > 0 ? 9000 : 3000);
  return close;
}

const unanswered = "The server does not answer";
/** Shown with Retry already. */
const offered = new WeakSet();

/**
 * Offers Retry while the server does not answer; throws if that is declined. `failed()`: each time; `signal`: retrying
 * is pointless.
 */
export async function untilAnswered(send, { curl, failed, signal } = {}) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      failed?.();
      offered.add(error);
      if (!await retryOffered(error.message, curl, signal)) throw error;
    }
  }
}

function retryOffered(detail, curl, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const retry = button("Retry", () => {
      resolve(true);
      close();
    }, { kind: "small primary" });
    const actions = [retry, curl && copyButton(() => curl)];
    const close = toast(unanswered, { detail, kind: "problem", actions, stays: true, closed: () => resolve(false) });
    signal?.addEventListener("abort", close, { once: true });
  });
}

/** A refusal's texts, or no answer. Other errors are defects of this page, and thrown. */
export function problemToast(error, curl) {
  if (offered.has(error)) return;
  const actions = curl ? [copyButton(() => curl)] : [];
  if (error instanceof Problem) toast(error.title ?? "Refused", { detail: error.detail, errors: error.errors, kind: "problem", actions });
  else if (error instanceof ConnectionError) toast(unanswered, { detail: error.message, kind: "problem", actions });
  else throw error;
}

/** `text()`: what to copy. */
export const copyButton = (text, label = "Copy as curl") =>
  button(label, () => copy(text()), { icon: label.endsWith("curl") ? "icon-terminal" : "icon-copy", iconOnly: true, kind: "copy" });

/** Without a secure context there is no clipboard: a dialog shows the text. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied", { detail: shortened(text, 160) });
  } catch {
    const area = h("textarea", { readOnly: true, rows: 6, value: text, "aria-label": "To copy" });
    dialog("Copy", [area], [["Done", null]]);
    area.select();
  }
}

/** Resolves to the button's value (a function is called), `undefined` if cancelled. */
export function dialog(title, content, choices) {
  return new Promise((resolve) => {
    const close = (value) => {
      // Returns the focus.
      element.close();
      element.remove();
      resolve(value);
    };
    const form = h(
      "form",
      {
        method: "dialog",
        on: {
          submit: (event) => {
            event.preventDefault();
            form.querySelector(".primary, .destructive")?.click();
          },
        },
      },
      h("h2", {}, title),
      content,
      h(
        "div",
        { class: "choices" },
        choices.map(([label, value, kind = ""]) =>
          button(label, () => {
            const result = typeof value === "function" ? value() : value;
            if (result !== undefined) close(result ?? undefined);
          }, { kind })
        ),
      ),
    );
    const element = h("dialog", { "aria-label": title, on: { close: () => close(undefined), cancel: () => close(undefined) } }, form);
    document.body.append(element);
    element.showModal();
  });
}

export const confirmed = (title, text, label) => dialog(title, [h("p", {}, text)], [["Cancel", false], [label, true, "destructive"]]);

/** `undefined` if cancelled. */
export function askForJSON(title, text, value) {
  const area = h("textarea", { class: "code", rows: 8, spellcheck: false, value: JSON.stringify(value, null, 2), "aria-label": "JSON" });
  const fault = h("p", { class: "fault", role: "alert" });
  return dialog(title, [h("p", {}, text), area, fault], [["Cancel", null], ["Send", () => {
    try {
      return readJSON(area);
    } catch (error) {
      fault.textContent = error.message;
    }
  }, "primary"]]);
}
