import BraidRuntime
import BraidSessions

/// The limits of requests and sessions, whose members can be read as its own: `limits.subscribers`. docs/limits.md
/// lists their errors.
@dynamicMemberLookup
package struct ServerLimits: Sendable {
    /// Of a body, or of one line of a streamed body.
    package var bodyBytes = 16 << 20
    /// Levels. `POST /v1/diff` accepts 12 more.
    package let jsonDepth = 128
    /// A longer answer is not indented.
    var prettyBytes = 16 << 20
    /// At the same time, without probes, open streams, waiting long polls and `observe`.
    package var requests = 2_048
    /// Shared with the HTTP server. A decompressed body counts besides its compressed bytes.
    package var bodies = Quota(256 << 20)
    package var session = SessionLimits()

    package init() {}

    package subscript<Value>(dynamicMember limit: WritableKeyPath<SessionLimits, Value>) -> Value {
        get { session[keyPath: limit] }
        set { session[keyPath: limit] = newValue }
    }
}
