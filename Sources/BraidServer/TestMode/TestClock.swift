import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore
import Synchronization

/// The clock of a server in test mode, which tests can read and set. Templates and tokens use this clock. When a test
/// sets the clock to a later time, stored answers and idle sessions age by the difference.
struct TestClock: Sendable {
    let sessions: SessionHost
    let idleSessions: IdleSessions

    var now: Instant { Instant(millisecondsSince1970: sessions.clock.now()) }

    /// Sets the clock, and ends the streams and long polls of tokens that have expired by the new time. If the new time
    /// is later, the stored answers become older by the difference, and sessions that become idle are dropped from
    /// memory.
    func set(_ setting: Setting) {
        let now = sessions.clock.now()
        let time =
            switch setting {
            case .time(let instant): instant.millisecondsSince1970
            // `Instant` limits the time to the years 1 to 9999, because only these years have a text in RFC 3339.
            case .advance(let milliseconds):
                Instant(millisecondsSince1970: now + milliseconds).millisecondsSince1970
            }
        sessions.clock.set(to: time)
        sessions.tokens.endExpired()
        guard time > now else { return }
        // A larger step than the lifetime of a stored answer would have the same effect on the stored answers. With
        // smaller steps, tests cannot set the clock so often that `answerClock.setting` exceeds the range of `Int`.
        sessions.store.answerClock.setting += min(time - now, KeptAnswer.lifetime)
        idleSessions.unload(from: sessions, afterAnother: .milliseconds(time - now))
    }

    /// How `PUT /v1/test/clock` sets the clock: to a time, or forward by a number of milliseconds.
    enum Setting {
        case time(Instant)
        case advance(milliseconds: Int)

        /// The most seconds by which a test can advance the clock at once: a thousand years.
        private static let most = 31_556_952_000.0

        init(json: JSONText) throws {
            let members = try json.object(of: ["time", "advance"])
            func fault(_ name: String, _ code: Refusal.Fault.Code, _ rule: String) -> Refusal {
                Refusal(
                    .badRequest, "The body's member `\(name)` \(rule).",
                    faults: [.init(pointer: JSONPointer.root.appending(name), code: code, detail: rule)])
            }
            switch (members["time"], members["advance"]) {
            case (let time?, nil):
                let rule = "must be a time in RFC 3339, such as \"2026-12-24T18:00:00Z\""
                guard let text = time.stringValue else { throw fault("time", .wrongType, rule) }
                guard let instant = Instant(text) else { throw fault("time", .invalidValue, rule) }
                self = .time(instant)
            case (nil, let advance?):
                let rule = "must be a number of seconds from 0 to 31556952000"
                guard let seconds = advance.doubleValue else { throw fault("advance", .wrongType, rule) }
                guard (0...Self.most).contains(seconds) else { throw fault("advance", .outOfRange, rule) }
                self = .advance(milliseconds: Int((seconds * 1_000).rounded()))
            default:
                throw Refusal(
                    .badRequest, "The body must have exactly one of the members `time` and `advance`.",
                    faults: [
                        .init(
                            pointer: .root, code: members.isEmpty ? .missingMember : .conflict,
                            detail: "must have exactly one of the members `time` and `advance`")
                    ])
            }
        }
    }
}

/// Returns the routes that show and set the clock of a server in test mode.
func clockRoutes(_ clock: TestClock) -> [Route] {
    @Sendable func answer() -> HTTPResponse {
        .object { $0.member("time", clock.now) }
    }
    return [
        Route.inMemory("GET", "/v1/test/clock", for: .role(.controller)) { _ in answer() },
        Route("PUT", "/v1/test/clock", takesBody: true) { context in
            let setting = try TestClock.Setting(json: context.json())
            // Uses so far are uses at the old time.
            try await clock.sessions.endUnused()
            clock.set(setting)
            try await clock.sessions.endUnused()
            return answer()
        },
    ]
}
