import { ConnectionError, Problem } from "/braid.js";
import { button, h, shortened } from "./dom.js";

const place = document.querySelector("#toasts");
const announcer = document.querySelector("#announcer");

/** Says something to screen readers. */
export function announce(text) {
  announcer.textContent = announcer.textContent === text ? `${text}\u00a0` : text;
}

/** The functions that close the toasts on the page, the oldest first. */
const open = [];

/**
 * A message that goes by itself, unless the pointer or the focus rests on it or it `stays`. Returns what closes it; `closed()` is
 * called then.
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
  if (!stays) setTimeout(leave, kind === "problem" ? 9000 : 3000);
  return close;
}

const unanswered = "The server does not answer";
/** The errors for which a Retry was offered: they are on the page already. */
const offered = new WeakSet();

/**
 * Sends a request, and offers a Retry whenever there is no answer. Throws the error when nobody wants that.
 * `failed()` is called each time there was no answer. `signal`: aborted when the Retry would no longer make sense.
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

/** A refusal, in the words of the problem document; or that there was no answer. Other errors are faults of the page's: they are thrown on. */
export function problemToast(error, curl) {
  if (offered.has(error)) return;
  const actions = curl ? [copyButton(() => curl)] : [];
  if (error instanceof Problem) toast(error.title ?? "Refused", { detail: error.detail, errors: error.errors, kind: "problem", actions });
  else if (error instanceof ConnectionError) toast(unanswered, { detail: error.message, kind: "problem", actions });
  else throw error;
}

/** `text()` is what is copied. */
export const copyButton = (text, label = "Copy as curl") =>
  button(label, () => copy(text()), { icon: label.endsWith("curl") ? "icon-terminal" : "icon-copy", iconOnly: true, kind: "copy" });

/** Without a secure context there is no clipboard: the text is shown, to be copied by hand. */
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

/** A modal dialog; a promise of the value of the button that was pressed (a function is called for it), undefined if none was. */
export function dialog(title, content, choices) {
  return new Promise((resolve) => {
    const close = (value) => {
      // The focus goes back to where it was.
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

/** Asks for a JSON value; undefined if none was given. */
export function askForJSON(title, text, value) {
  const area = h("textarea", { class: "code", rows: 8, spellcheck: false, value: JSON.stringify(value, null, 2), "aria-label": "JSON" });
  const fault = h("p", { class: "fault", role: "alert" });
  return dialog(title, [h("p", {}, text), area, fault], [["Cancel", null], ["Send", () => {
    try {
      return JSON.parse(area.value);
    } catch (error) {
      fault.textContent = error.message;
    }
  }, "primary"]]);
}
