import { following, frame } from "./frames.js";
import { applying } from "/braid.js";

const kept = 500;
/** Fewer with a window: each keeps rows of its own. */
const keptOfWindows = 100;

/** A session's history as seen here or read from the journal. A moment is one revision with its frame. */
export class Timeline {
  /**
   * `{revision, frame, update?, before?, after?, stages?, reloaded?, at, record?}`, ascending; no update if it began
   * with a snapshot. `frame` is `after` until the window moves. `record`: `{command, by?}` of the journal, null if it
   * has none.
   */
  moments = [];
  /**
   * Taps, cell events and emitted events that controllers get, each with `time` and `after`, the last moment before.
   */
  events = [];
  /** Of the displayed moment; null follows the last one. */
  position = null;
  #changed;

  /** `changed(moment, previous)`: moments or the displayed one changed. */
  constructor(changed) {
    this.#changed = changed;
  }

  get last() {
    return this.moments.at(-1);
  }
  get shown() {
    return this.position === null ? this.last : this.moments[this.position];
  }
  get isLive() {
    return this.position === null;
  }

  /** A snapshot without an update: the first, or after missed updates. Of the last moment's revision, it adds none. */
  start(snapshot) {
    const last = this.last;
    if (last && last.frame.snapshot.epoch === snapshot.epoch && last.revision === snapshot.revision) {
      if (last.frame.snapshot.window || snapshot.window) this.#replace(frame(snapshot, last.frame));
      return;
    }
    // Another epoch: not comparable, so start over.
    if (last && last.frame.snapshot.epoch !== snapshot.epoch) {
      this.moments = [];
      this.position = null;
    }
    this.#add({ revision: snapshot.revision, frame: frame(snapshot, last?.frame), at: new Date() });
  }

  follow(update, snapshot) {
    const next = following(this.last.frame, update, snapshot);
    // The same revision: only the window moved.
    if (update.from === update.to) return this.#replace(next.frame);
    this.#add({ revision: update.to, update, at: new Date(), ...next });
  }

  note(event) {
    this.events = [...this.events, { ...event, time: new Date(), after: this.last }].slice(-kept);
    this.#changed(this.shown, this.shown);
  }

  /** Each is kept at its moment; the others from `first` to `last` are known to have none. */
  record(records, first, last) {
    const known = new Map(records.map(({ revision, command, by }) => [revision, { command, by }]));
    for (const moment of this.moments) {
      const { revision } = moment;
      if (first <= revision && revision <= last) moment.record ??= known.get(revision) ?? null;
    }
  }

  /** That of an undo, and not of a redo. */
  isUndo(moment) {
    const revision = moment?.record?.command.undo?.revision;
    return revision !== undefined && !this.isUndo(this.moments.find((moment) => moment.revision === revision));
  }

  /** Puts earlier revisions first: the opening's snapshot and the journal's records from there. */
  precede(snapshot, records) {
    const first = this.moments[0];
    const before = [{ revision: snapshot.revision, frame: frame(snapshot), at: null }];
    for (const { update, at, command, by } of records) {
      if (update.to > first.revision) break;
      const { frame } = before.at(-1);
      const next = applying(update, { ...frame.snapshot, revision: update.from });
      before.push({ revision: update.to, update, at: new Date(at), record: { command, by }, ...following(frame, update, next) });
    }
    // Their keys must continue the inserted ones.
    const again = this.moments.filter((moment) => moment.revision > before.at(-1).revision);
    const shown = this.shown;
    this.moments = before;
    for (const moment of again) {
      const previous = this.moments.at(-1).frame;
      const { snapshot } = moment.frame;
      this.moments.push({ ...moment, ...(moment.update ? following(previous, moment.update, snapshot) : { frame: frame(snapshot, previous) }) });
    }
    if (!this.isLive) this.position = Math.max(0, this.moments.findIndex((moment) => moment.revision === shown.revision));
    this.#changed(this.shown, this.shown);
  }

  show(position) {
    const previous = this.shown;
    this.position = position >= this.moments.length - 1 ? null : Math.max(0, position);
    this.#changed(this.shown, previous);
  }

  /** The window moved. */
  #replace(frame) {
    this.last.frame = frame;
    this.#changed(this.shown, this.shown);
  }

  #add(moment) {
    const previous = this.shown;
    this.moments.push(moment);
    if (this.moments.length > (moment.frame.snapshot.window ? keptOfWindows : kept)) {
      this.moments.shift();
      if (this.position !== null) this.position = Math.max(0, this.position - 1);
    }
    this.#changed(this.shown, previous);
  }
}
