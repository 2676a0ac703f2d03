import BraidRuntime
import BraidSessions

/// Includes those of sessions: `limits.subscribers`. docs/limits.md lists their errors.
@dynamicMemberLookup
package struct ServerLimits: Sendable {
    /// Of a body, or of a line if the body is streamed.
    package var bodyBytes = 16 << 20
    /// `POST /v1/diff` accepts 12 levels more.
    package let jsonDepth = 128
    /// Longer answers are not indented.
    var prettyBytes = 16 << 20
    /// Being answered at once, without probes, open streams, waiting long polls and `observe`.
    package var requests = 2_048
    /// Shared with the HTTP server. A decompressed body counts with its compressed bytes.
    package var bodies = Quota(256 << 20)
    package var session = SessionLimits()

    package init() {}

    package subscript<Value>(dynamicMember limit: WritableKeyPath<SessionLimits, Value>) -> Value {
        get { session[keyPath: limit] }
        set { session[keyPath: limit] = newValue }
    }
}
