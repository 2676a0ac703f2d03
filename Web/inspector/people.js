import { ConnectionError, Problem } from "/braid.js";
import { h, isHeld } from "./dom.js";
import { rowName } from "./frames.js";

/** Milliseconds that a row stays selected before others see it. */
const patience = 200;

/** Tells others where this page is, and shows them: in the bar, in a list, and at their rows. */
export class People {
  /** This page's: `{id, role, user?}`; `undefined` until the server has answered. */
  me;
  #server;
  #screen;
  #known;
  #present = [];
  #others = [];
  #at;
  /** Of those without a user: they keep it while this page is open. */
  #numbers = new Map();
  #telling;
  #faces = h("button", { type: "button", class: "faces" });
  #list = h("ul", { class: "menu people", popover: "auto", "aria-label": "Who is here" });

  /** `known()`: when `me` is. */
  constructor(server, screen, known) {
    this.#server = server;
    this.#screen = screen;
    this.#known = known;
    this.element = h("div", { class: "menu-place", hidden: true }, this.#faces, this.#list);
    this.#faces.popoverTargetElement = this.#list;
    this.#list.addEventListener("beforetoggle", ({ newState }) => newState === "open" && this.#fillList());
    screen.table.items.marks = (section, id) => this.#marks(section, id);
    this.#tell();
  }

  close() {
    clearTimeout(this.#telling);
    this.#server.leave(this.#screen.id);
  }

  /** `{id, section}` of a row, or `undefined`. */
  moveTo(at) {
    if (JSON.stringify(at) === JSON.stringify(this.#at)) return;
    this.#at = at;
    clearTimeout(this.#telling);
    this.#telling = setTimeout(() => this.#tell(), patience);
  }

  /** Without this, only the others' faces are missing: a failure is not shown. */
  async #tell() {
    const at = this.#at;
    try {
      this.me = await this.#server.client.session(this.#screen.id).presence.set(at);
      this.show(this.#present);
      this.#known();
    } catch (error) {
      if (!(error instanceof Problem || error instanceof ConnectionError)) throw error;
      // The row is gone.
      if (at && at === this.#at && error.status < 500) this.moveTo(undefined);
    }
  }

  /** All who are present, and where. */
  show(present) {
    this.#present = present;
    // Before the answer, one of them is this page.
    const others = this.me ? present.filter(({ id }) => id !== this.me.id) : [];
    this.#others = others.map((person) => ({ ...person, name: this.#name(person) }));
    const names = this.#others.map(({ name }) => name);
    this.element.hidden = names.length === 0;
    this.#faces.replaceChildren(...faces(this.#others, 3));
    this.#faces.ariaLabel = `${names.length === 1 ? "1 other is" : `${names.length} others are`} here: ${names.slice(0, 20).join(", ")}`;
    if (this.#list.matches(":popover-open")) this.#fillList();
    const { items, list } = this.#screen.table;
    items.markAll(list.content);
  }

  #fillList() {
    if (isHeld(this.#list, () => this.#fillList())) return;
    this.#list.replaceChildren(...this.#others.slice(0, 100).map((person) => h("li", {}, this.#entry(person))));
  }

  /** A click on it goes to the person's row. */
  #entry(person) {
    const { table } = this.#screen;
    const [s, r] = person.at && table.frame ? table.placeOf(person.at) ?? [] : [];
    if (r === undefined) return h("div", { class: "menu-item" }, face(person), person.name);
    const row = table.frame.snapshot.sections[s].rows[r];
    const { id: key } = table.frame.keys.sections[s].rows[r];
    const click = () => {
      this.#list.hidePopover();
      table.list.scrollTo(key);
    };
    const text = h("span", { class: "names" }, person.name, h("span", { class: "subtitle" }, `at ${rowName(row, r)}`));
    return h("button", { type: "button", class: "menu-item", on: { click } }, face(person), text);
  }

  #name({ id, role, user }) {
    if (user) return `${user.name ?? user.id}${user.id !== null && user.id === this.me?.user?.id ? " (you)" : ""}`;
    if (!this.#numbers.has(id)) this.#numbers.set(id, this.#numbers.size + 2);
    return `${role[0].toUpperCase()}${role.slice(1)} ${this.#numbers.get(id)}`;
  }

  /** For a row: what is on its edge while somebody is there. */
  #marks(section, id) {
    if (id === undefined) return null;
    const here = this.#others.filter(({ at }) => at?.id === id && (at.section ?? section) === section);
    if (here.length === 0) return null;
    const label = `${here.map(({ name }) => name).join(", ")} ${here.length === 1 ? "is" : "are"} here`;
    return h("span", { class: "marks", role: "img", "aria-label": label, title: label }, faces(here, 2, 1));
  }
}

/** At most `most`, the last as a number if there are more. */
function faces(people, most, letters) {
  const shown = people.slice(0, people.length > most ? most - 1 : most).map((person) => face(person, letters));
  if (people.length > most) shown.push(h("span", { class: "face more", "aria-hidden": "true" }, `+${people.length - most + 1}`));
  return shown;
}

function face({ id, user, name }, letters = 2) {
  const words = name.replace(" (you)", "").match(/[\p{L}\p{N}]+/gu) ?? ["?"];
  const initials = [words[0], ...words.slice(1).slice(-1)].slice(0, letters).map((word) => [...word][0]).join("").toUpperCase();
  const element = h("span", { class: "face", "aria-hidden": "true" }, initials);
  element.style.setProperty("--hue", [...(user?.id ?? id)].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7));
  return element;
}

/** Who acted, from a record's or update's `by`; `me` as in `People`. A controller without a user has none. */
export function actor(by, me) {
  const name = by?.name ?? by?.id ?? by?.role ?? "controller";
  const title = [by?.name && by.id, by?.role].filter((text) => text && text !== name).join(", ");
  return h("span", { class: "who", title: [name, title && `(${title})`].filter(Boolean).join(" ") }, by?.id != null && by.id === me?.user?.id ? "you" : name);
}
