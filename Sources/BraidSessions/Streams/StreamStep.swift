import BraidEngine
import BraidRuntime

/// What an event stream follows.
enum Followed: Sendable {
    case table
    /// A window, at its place in the reader's revision. The reader may still have another one (`from`) at the same
    /// revision. Indirect, to keep the many streams of whole tables small; a stream keeps no rows of its window.
    indirect case window(WindowPlace, from: WindowPlace? = nil)
}

/// Events for the readers of a stream, and what a reader has once it has read them.
struct StreamStep: Sendable {
    var events: EventBytes
    var revision: Int
    var followed: Followed
}

extension StreamStep {
    /// Encodes the update of a window, after `controllerEvents`.
    ///
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for a large update.
    init(
        _ update: WindowUpdate, to place: WindowPlace, _ form: StreamForm, epoch: String,
        controllerEvents: [JSONText] = [], _ limits: StreamLimits, for account: Quota.Account
    ) throws(SessionError) {
        // The update's JSON and its copy in the events are in memory at the same time.
        let lease = try limits.lease(update.update.estimatedSize, copies: 2, for: account)
        let revision = update.update.to
        let bytes = ServerSentEvent.bytes(
            at: Position(epoch: epoch, revision: revision),
            update: update.isEmpty ? nil : form.isSequential ? update.sequentialJSON : update.json,
            controllerEvents: form.hasControllerEvents ? controllerEvents : [])
        self.init(events: EventBytes(bytes, lease), revision: revision, followed: .window(place))
    }
}

/// The steps of windows that one round of the feed's pump, or of a subscriber that catches up, has computed. In a round
/// of the pump, all streams of the same window in the same form share a step.
struct WindowSteps {
    private struct Key: Hashable {
        var place: WindowPlace
        var revision: Int
        var form: StreamForm
    }

    let limits: StreamLimits
    private var steps: [Key: StreamStep] = [:]

    init(_ limits: StreamLimits) { self.limits = limits }

    /// Returns the step to the revision of a change. Returns `nil` if it is the step of a window, and the change has no
    /// tables.
    mutating func step(
        of followed: Followed, by change: Change, _ form: StreamForm, for account: Quota.Account
    ) throws(SessionError) -> StreamStep? {
        guard case .window(let place, _) = followed else {
            return StreamStep(events: change.events(form), revision: change.revision, followed: .table)
        }
        let key = Key(place: place, revision: change.revision, form: form)
        if let known = steps[key] { return known }
        guard let (before, after) = change.tables?.windows(at: place),
            let update = try? WindowUpdate(from: before, to: after)
        else { return nil }
        let step = try StreamStep(
            update, to: after.place, form, epoch: change.epoch, controllerEvents: change.controllerEvents, limits,
            for: account)
        steps[key] = step
        return step
    }
}
