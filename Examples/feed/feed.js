// A feed of any length. The newest stories are at the beginning. New stories do not move the story that a person is
// reading.
import { element, openSession, WindowList } from "../chat/list.js";

const session = await openSession("stories");
const list = document.querySelector("#list");
const hint = document.querySelector("#hint");
const rows = new WindowList(list, ({ model: { title, summary } }) =>
  element("article", { className: "story" }, element("h2", { textContent: title }), element("p", { textContent: summary })));

/** The number of stories in the feed when the newest story was last visible. */
let seen = 0;

function show(snapshot) {
  rows.show(snapshot);
  look();
}

/** Follows the visible stories. Shows how many stories have come since the newest story was last visible. */
function look() {
  const { snapshot } = subscription;
  if (!snapshot) return;
  subscription.show(...rows.visible);
  if (rows.isAtStart) seen = snapshot.totalRowCount;
  hint.hidden = snapshot.totalRowCount <= seen;
  hint.textContent = `${snapshot.totalRowCount - seen} new`;
  document.querySelector(".status").textContent = `${snapshot.totalRowCount.toLocaleString("en")} stories`;
}

const subscription = session.subscribe({
  window: { offset: 0, limit: 100 },
  onSnapshot: show,
  onUpdate: (_, snapshot) => show(snapshot),
});

list.addEventListener("scroll", look);
hint.addEventListener("click", () => {
  rows.showStart();
  look();
});
