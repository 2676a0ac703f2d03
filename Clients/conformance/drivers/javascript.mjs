// Drives Web/braid.js: commands on standard input, answers and reports on standard output.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

// Some versions of Node import no `….js` as a module; a `data:` URL has no such name.
const source = readFileSync(new URL("../../../Web/braid.js", import.meta.url), "base64");
const { applying, BraidClient, Problem, UpdateFault } = await import(`data:text/javascript;base64,${source}`);

let session, subscription, copy;
const print = (line) => console.log(JSON.stringify(line));

function show(snapshot, by) {
  copy = snapshot;
  print({ copy, by });
}

const acts = {
  connect({ url, token, session: id }) {
    // Some scenarios lose half of all connections.
    session = new BraidClient({ url, token, retries: 1000, random: () => 0.001 }).session(id);
    return { client: "braid.js", levels: ["updates", "commands", "stream", "poll", "windows"] };
  },
  async read() {
    show(await session.snapshot(), "snapshot");
  },
  async poll() {
    const news = await session.updates(copy);
    if (news.reset) show(news.snapshot, "snapshot");
    else for (const update of news.updates) show(applying(update, copy), "update");
  },
  follow({ window }) {
    subscription = session.subscribe({
      from: copy,
      window,
      onSnapshot: (snapshot) => show(snapshot, "snapshot"),
      onUpdate: (_, snapshot) => show(snapshot, "update"),
      onStatus: (status) => status === "live" && print({ live: true }),
      onEnd: (failure) => print({ ended: failure ? refusal(failure) : {} }),
    });
  },
  move({ window }) {
    subscription.move(window);
  },
  send({ command, base, ifMatch }) {
    const [[name, body]] = Object.entries(command);
    const options = { base: base ? copy : undefined, ifMatch: ifMatch ? copy : undefined };
    if (name === "edits") return session.edit(body, options);
    if (name === "moves") return session.move(body, options);
    if (name === "taps") return session.tap(body.at, options);
    throw new TypeError(`there is no command ${name}`);
  },
  apply({ snapshot, update }) {
    return { copy: applying(update, snapshot) };
  },
};

function refusal(error) {
  if (error instanceof Problem) return { status: error.status, problem: error.kind };
  return { [error instanceof UpdateFault ? "fault" : "failure"]: String(error) };
}

for await (const line of createInterface(process.stdin)) {
  const { id, do: act, ...members } = JSON.parse(line);
  // Not awaited: a program does not wait for its commands' answers.
  (async () => acts[act](members))().then((answer) => print({ id, answer: answer ?? {} }), (error) => print({ id, answer: refusal(error) }));
}
process.exit();
