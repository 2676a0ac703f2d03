import BraidRuntime
import BraidSessions

/// The limits of the server's requests and sessions. The members of `session` can also be read as members of this
/// value: `limits.subscribers` is `limits.session.subscribers`. docs/limits.md lists the error for each exceeded limit.
@dynamicMemberLookup
package struct ServerLimits: Sendable {
    /// The most bytes of one request's body, or of one line of a streamed body.
    package var bodyBytes = 16 << 20
    /// The deepest nesting of arrays and objects in a request's JSON. `POST /v1/diff` accepts 12 levels more.
    package let jsonDepth = 128
    /// The most bytes of an indented answer. The server does not indent an answer that would become longer.
    var prettyBytes = 16 << 20
    /// The most requests that the server answers at the same time. Probes, open event streams, waiting long polls and
    /// `observe` requests do not count.
    package var requests = 2_048
    /// The quota of memory for request bodies, which the HTTP server shares. A decompressed body counts in addition to
    /// its compressed bytes.
    package var bodies = Quota(256 << 20)
    /// The limits of the server's sessions, as opposed to those of single requests.
    package var session = SessionLimits()

    package init() {}

    package subscript<Value>(dynamicMember limit: WritableKeyPath<SessionLimits, Value>) -> Value {
        get { session[keyPath: limit] }
        set { session[keyPath: limit] = newValue }
    }
}
