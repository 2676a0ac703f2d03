import BraidEngine
import BraidHTTP
import BraidServer
import BraidSessions
import BraidStore
import Synchronization

/// The clock of templates and tokens, which tests can set.
struct TestClock: Sendable {
    let sessions: SessionHost
    let idleSessions: IdleSessions

    var now: Instant { Instant(millisecondsSince1970: sessions.clock.now()) }

    /// Ends streams and long polls of expired tokens. Set forward, also ages stored answers and idle sessions.
    func set(_ setting: Setting) {
        let now = sessions.clock.now()
        let time =
            switch setting {
            case .time(let instant): instant.millisecondsSince1970
            // `Instant` has only the years 1 to 9999, as RFC 3339.
            case .advance(let milliseconds):
                Instant(millisecondsSince1970: now + milliseconds).millisecondsSince1970
            }
        sessions.clock.set(to: time)
        sessions.tokens.endExpired()
        sessions.presence.endExpired()
        guard time > now else { return }
        // More than an answer's lifetime has no further effect, and could overflow `answerClock.setting`.
        sessions.store.answerClock.setting += min(time - now, KeptAnswer.lifetime)
        idleSessions.unload(from: sessions, afterAnother: .milliseconds(time - now))
    }

    /// The body of `PUT /v1/test/clock`.
    enum Setting {
        case time(Instant)
        case advance(milliseconds: Int)

        /// A thousand years in seconds.
        private static let most = 31_556_952_000.0

        init(json: JSONText) throws {
            let members = try json.object(of: ["time", "advance"])
            switch (members["time"], members["advance"]) {
            case (let time?, nil):
                let rule = "must be a time in RFC 3339, such as \"2026-12-24T18:00:00Z\""
                guard let text = time.stringValue else { throw Refusal.member("time", .wrongType, rule) }
                guard let instant = Instant(text) else { throw Refusal.member("time", .invalidValue, rule) }
                self = .time(instant)
            case (nil, let advance?):
                let rule = "must be a number of seconds from 0 to 31556952000"
                guard let seconds = advance.doubleValue else { throw Refusal.member("advance", .wrongType, rule) }
                guard (0...Self.most).contains(seconds) else { throw Refusal.member("advance", .outOfRange, rule) }
                self = .advance(milliseconds: Int((seconds * 1_000).rounded()))
            default:
                let rule = "must have exactly one of the members `time` and `advance`"
                throw Refusal("The body \(rule).", members.isEmpty ? .missingMember : .conflict, rule)
            }
        }
    }
}

func clockRoutes(_ clock: TestClock) -> [Route] {
    @Sendable func answer() -> HTTPResponse {
        .object { $0.member("time", clock.now) }
    }
    return [
        Route.inMemory("GET", "/v1/test/clock", for: .role(.controller)) { _ in answer() },
        Route("PUT", "/v1/test/clock", takesBody: true) { context in
            let setting = try TestClock.Setting(json: context.json())
            // Uses so far were at the old time.
            try await clock.sessions.endUnused()
            clock.set(setting)
            try await clock.sessions.endUnused()
            return answer()
        },
    ]
}
