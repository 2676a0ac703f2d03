import { following, frame } from "./frames.js";
import { applying } from "/braid.js";

const kept = 500;
/**
 * The maximum number of revisions that the timeline keeps for a table that is followed through a window. The number is
 * small, because each revision keeps the rows of its own window.
 */
const keptOfWindows = 100;

/**
 * The history of a session as far as this page saw it or read it from the journal. Each element is called a moment: one
 * revision with its frame (the snapshot and its keys).
 */
export class Timeline {
  /**
   * The moments, as `{revision, frame, update?, before?, after?, stages?, reloaded?, at}`, in the order of revisions.
   * A moment that began with a snapshot has no update. The update leads from the frame `before` to the frame `after`.
   * `frame` is the same as `after`, until the window moves.
   */
  moments = [];
  /**
   * The taps, cell events and emitted events that a controller receives from the stream. Each one has its `time`, and
   * `after`, the last moment before it.
   */
  events = [];
  /** The index of the displayed moment (revision). null means that the timeline always shows the last one. */
  position = null;
  #changed;

  /** `changed(moment, previous)` is called whenever the moments (revisions) or the displayed moment have changed. */
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

  /**
   * Adds a snapshot that does not follow from an update, such as the first snapshot or the snapshot after missed
   * updates. A snapshot of the last moment's revision adds no moment.
   */
  start(snapshot) {
    const last = this.last;
    if (last && last.frame.snapshot.epoch === snapshot.epoch && last.revision === snapshot.revision) {
      if (last.frame.snapshot.window || snapshot.window) this.#replace(frame(snapshot, last.frame));
      return;
    }
    // Another epoch means that the session is not comparable with the earlier one of the same id, so the earlier
    // moments are dropped.
    if (last && last.frame.snapshot.epoch !== snapshot.epoch) {
      this.moments = [];
      this.position = null;
    }
    this.#add({ revision: snapshot.revision, frame: frame(snapshot, last?.frame), at: new Date() });
  }

  follow(update, snapshot) {
    const next = following(this.last.frame, update, snapshot);
    // An update from a revision to the same revision says that only the window has moved.
    if (update.from === update.to) return this.#replace(next.frame);
    this.#add({ revision: update.to, update, at: new Date(), ...next });
  }

  note(event) {
    this.events = [...this.events, { ...event, time: new Date(), after: this.last }].slice(-kept);
    this.#changed(this.shown, this.shown);
  }

  /**
   * Inserts the revisions before the first known one. `snapshot` is the session's snapshot at its opening, and
   * `records` are the journal's records from there on.
   */
  precede(snapshot, records) {
    const first = this.moments[0];
    const before = [{ revision: snapshot.revision, frame: frame(snapshot), at: null }];
    for (const { update, at } of records) {
      if (update.to > first.revision) break;
      const { frame } = before.at(-1);
      const next = applying(update, { ...frame.snapshot, revision: update.from });
      before.push({ revision: update.to, update, at: new Date(at), ...following(frame, update, next) });
    }
    // The keys of the following revisions' frames must continue those of the inserted frames. So the following frames
    // are computed again.
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

  /** Replaces the rows of the last moment, after the window has moved. */
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
