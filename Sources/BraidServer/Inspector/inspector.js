import { BraidClient } from "/braid.js";

const list = document.querySelector("#sessions");
for (const session of await new BraidClient().sessions.list()) {
  const item = document.createElement("li");
  item.textContent = session.id;
  list.append(item);
}
