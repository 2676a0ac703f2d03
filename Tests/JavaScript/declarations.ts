// Correct and wrong uses of the client in TypeScript. This file is compiled, but never run.
import { applying, BraidClient, ConnectionError, Problem, stages, UpdateFault, type Answer, type Request, type Snapshot, type Update } from "../../Web/braid.js";

export async function commands(client: BraidClient): Promise<Answer> {
  const session = await client.sessions.open({ table: "attendees", models: { attending: [{ name: "Omar" }] } });
  const fork = await client.sessions.open({ from: { session: "party", revision: 12 }, id: "fork" });
  const earlier: Snapshot = await fork.snapshot({ at: 0, window: { limit: 10 } });
  const shown: Snapshot = await session.snapshot({ window: { section: "attending", limit: 10 } });
  const request: Request = session.request.tap({ section: 0, row: 1 }, { key: null });
  const line: string = client.curl(request);
  await session.event({ id: line }, { textEntered: { text: "x" } }, { base: session.opened ?? shown });
  await session.patchModels({ attending: [] }, { ifMatch: shown });
  await session.addRow([0, 1], { name: "Ann" }, { notify: false });
  await session.undo();
  await session.undo({ revision: 3 }, { dryRun: true });
  await session.redo({ last: "mine" });
  const row: string | undefined = (await session.presence.set([0, 1], { typing: true })).at?.id;
  await session.presence.set(null, row);
  // @ts-expect-error: only one's own last command.
  await session.undo({ last: "yours" });
  // @ts-expect-error: an edit is a delete or an insert.
  await session.edit({});
  // @ts-expect-error: `bases` is not an option.
  await session.tap({ id: "x" }, { bases: 1 });
  // @ts-expect-error: an index path has two parts.
  await session.removeRow([0]);
  return session.edit({ insert: { section: "attending", row: 0 }, model: { name: "Zoe" } });
}

export function following(client: BraidClient): () => void {
  const subscription = client.session("party").subscribe({
    onSnapshot: (snapshot, previous) => snapshot.revision - (previous?.revision ?? 0),
    onUpdate(update: Update, snapshot, previous) {
      for (const { stage, snapshot: shown } of stages(update, previous)) stage.deleteRows?.map(([section, row]) => shown.sections[section].rows[row]);
      return applying(update, previous).revision === snapshot.revision;
    },
    presence: true,
    onPresence: (present) => present.map(({ user, at }) => `${user?.name} ${at?.id}`),
    onTap: ({ by }) => by?.role === "viewer",
    onEnd: (problem) => problem?.kind.toUpperCase(),
  });
  if (subscription.status === "paused") subscription.resume();
  else subscription.pause();
  const listed = client.session("party").subscribe({ window: { around: "Omar", before: 5, after: 5 }, overscan: 20 });
  listed.show(listed.snapshot?.window?.offset ?? 0, 9);
  // @ts-expect-error: a window has no parameter `count`.
  listed.move({ offset: 5, count: 10 });
  return () => subscription.close();
}

export function providing(): BraidClient[] {
  // @ts-expect-error: a provider returns a text.
  new BraidClient({ token: () => 1 });
  return [new BraidClient({ token: () => "secret" }), new BraidClient({ token: async (refused?: string) => (refused ? undefined : "secret") })];
}

export function failures(error: unknown): string | undefined {
  if (error instanceof Problem) return error.pointer ?? error.errors.map(({ detail }) => detail).join();
  if (error instanceof UpdateFault) return `${error.stage}: ${error.detail}`;
  return error instanceof ConnectionError ? String(error.tries) : undefined;
}
