import BraidRuntime
import BraidSessions

/// The limits of requests, and as `session` those of sessions, which can be read here, too. docs/limits.md has the
/// error of each.
@dynamicMemberLookup
package struct ServerLimits: Sendable {
    /// Of a request's body, or of a line of a streamed one.
    package var bodyBytes = 16 << 20
    /// Of arrays and objects in a request's JSON. `POST /v1/diff` accepts 12 levels more.
    package var jsonDepth = 128
    /// Of an indented answer. A longer one stays plain.
    var prettyBytes = 16 << 20
    /// Requests under way at a time, without probes, event streams, long polls and `observe`.
    package var requests = 2_048
    /// Memory for bodies, shared with the HTTP server. A decompressed body counts besides its compressed bytes.
    package var bodies = Quota(256 << 20)
    package var session = SessionLimits()

    package init() {}

    package subscript<Value>(dynamicMember limit: WritableKeyPath<SessionLimits, Value>) -> Value {
        get { session[keyPath: limit] }
        set { session[keyPath: limit] = newValue }
    }
}
