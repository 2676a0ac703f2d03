import { following, frame } from "./frames.js";
import { applying } from "/braid.js";

const kept = 500;

/** What happened to a session, as far as this page saw it or read it from the journal: a frame for each revision. */
export class Timeline {
  /** `{revision, frame, update?, stages?, reloaded?, at}`, in order; the first one has no update. */
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
    if (last && last.frame.snapshot.epoch === snapshot.epoch && last.revision === snapshot.revision) return;
    // Another session of the same id: what was before is none of its.
    if (last && last.frame.snapshot.epoch !== snapshot.epoch) {
      this.moments = [];
      this.position = null;
    }
    this.#add({ revision: snapshot.revision, frame: frame(snapshot, last?.frame), at: new Date() });
  }

  follow(update, snapshot) {
    this.#add({ revision: update.to, update, at: new Date(), ...following(this.last.frame, update, snapshot) });
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
      this.moments.push(
        moment.update
          ? { ...moment, ...following(previous, moment.update, moment.frame.snapshot) }
          : { ...moment, frame: frame(moment.frame.snapshot, previous) },
      );
    }
    if (!this.isLive) this.position = Math.max(0, this.moments.findIndex((moment) => moment.revision === shown.revision));
    this.#changed(this.shown, this.shown);
  }

  show(position) {
    const previous = this.shown;
    this.position = position >= this.moments.length - 1 ? null : Math.max(0, position);
    this.#changed(this.shown, previous);
  }

  #add(moment) {
    const previous = this.shown;
    this.moments.push(moment);
    if (this.moments.length > kept) {
      this.moments.shift();
      if (this.position !== null) this.position = Math.max(0, this.position - 1);
    }
    this.#changed(this.shown, previous);
  }
}
