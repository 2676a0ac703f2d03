// A chat of any length. The newest messages are at the end. The page loads older messages when a person scrolls up.
import { element, openSession, WindowList } from "./list.js";

const session = await openSession("chat");
const list = document.querySelector("#list");
const hint = document.querySelector("#hint");
const rows = new WindowList(list, ({ model: { author, text } }) =>
  element("div", { className: author === "Me" ? "message mine" : "message" }, element("p", {}, element("small", {}, author), text)));

/** A window with a negative offset counts from the end, so it always shows the newest messages. */
const newest = { offset: -100, limit: 100 };
let followsEnd = true;
/** The number of messages in the chat when the newest message was last visible. */
let seen = 0;

function show(snapshot) {
  rows.show(snapshot);
  if (followsEnd) rows.showEnd();
  look();
}

/** Follows the newest messages while the end of the chat is visible. Otherwise follows the visible messages. */
function look() {
  const { snapshot } = subscription;
  if (!snapshot) return;
  if (followsEnd && subscription.window.offset !== newest.offset) subscription.move(newest);
  else if (!followsEnd) subscription.show(...rows.visible);
  if (followsEnd) seen = snapshot.totalRowCount;
  hint.hidden = followsEnd;
  hint.textContent = snapshot.totalRowCount > seen ? `${snapshot.totalRowCount - seen} new` : "Newest";
  document.querySelector(".status").textContent = `${snapshot.totalRowCount.toLocaleString("en")} messages`;
}

const subscription = session.subscribe({
  window: newest,
  onSnapshot: show,
  onUpdate: (_, snapshot) => show(snapshot),
});

list.addEventListener("scroll", () => {
  followsEnd = rows.isAtEnd;
  look();
});
hint.addEventListener("click", () => {
  followsEnd = true;
  rows.showEnd();
  look();
});
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector("input");
  if (!input.value.trim()) return;
  session.insertRow("messages", "end", { id: crypto.randomUUID(), author: "Me", text: input.value });
  input.value = "";
  followsEnd = true;
  rows.showEnd();
  look();
});
