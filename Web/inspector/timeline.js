import { following, frame } from "./frames.js";
import { applying } from "/braid.js";

const kept = 500;
/** Of a table that is followed through a window, where the rows of other windows are kept with each moment. */
const keptOfWindows = 100;

/** What happened to a session, as far as this page saw it or read it from the journal: a frame for each revision. */
export class Timeline {
  /**
   * `{revision, frame, update?, before?, after?, stages?, reloaded?, at}`, in order; the first one has no update. The update leads
   * from the frame `before` to the frame `after`; `frame` is the latter until other rows are looked at.
   */
  moments = [];
  /** Taps, cell events and emitted events from the stream, for controllers. Each also has its `time`, and `after`, the moment before. */
  events = [];
  /** The index of the moment that is shown; null: always the last. */
  position = null;
  #changed;

  /** `changed(moment, previous)` is called whenever another moment is to be shown, or the moments changed. */
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

  /** A snapshot without an update that leads to it: the first, or one after a gap. */
  start(snapshot) {
    const last = this.last;
    if (last && last.frame.snapshot.epoch === snapshot.epoch && last.revision === snapshot.revision) {
      if (last.frame.snapshot.window || snapshot.window) this.#replace(frame(snapshot, last.frame));
      return;
    }
    // Another session of the same id: what was before is none of its.
    if (last && last.frame.snapshot.epoch !== snapshot.epoch) {
      this.moments = [];
      this.position = null;
    }
    this.#add({ revision: snapshot.revision, frame: frame(snapshot, last?.frame), at: new Date() });
  }

  follow(update, snapshot) {
    const next = following(this.last.frame, update, snapshot);
    // Nothing happened: the window was moved.
    if (update.from === update.to) return this.#replace(next.frame);
    this.#add({ revision: update.to, update, at: new Date(), ...next });
  }

  note(event) {
    this.events = [...this.events, { ...event, time: new Date(), after: this.last }].slice(-kept);
    this.#changed(this.shown, this.shown);
  }

  /** Puts what was before the first moment there: `snapshot`, and the journal's `records` from there on. */
  precede(snapshot, records) {
    const first = this.moments[0];
    const before = [{ revision: snapshot.revision, frame: frame(snapshot), at: null }];
    for (const { update, at } of records) {
      if (update.to > first.revision) break;
      const { frame } = before.at(-1);
      const next = applying(update, { ...frame.snapshot, revision: update.from });
      before.push({ revision: update.to, update, at: new Date(at), ...following(frame, update, next) });
    }
    // From here on the keys are the earlier frames': what follows is done again.
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

  /** Shows other rows as of the last moment. */
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
