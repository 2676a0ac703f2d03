import BraidRuntime

/// The encoding of events as the bytes of a `text/event-stream` (server-sent events).
///
/// Source: WHATWG HTML, sections 9.2.5 "Parsing an event stream" and 9.2.6 "Interpreting an event stream".
enum ServerSentEvent {
    /// Appends an event to `bytes`, encoded for a `text/event-stream`.
    ///
    /// - Parameters:
    ///   - id: the event's ID. Without an ID, the reader's last event ID does not change.
    ///   - data: the event's data, as one line. Compact JSON qualifies, as it contains line breaks only in escaped
    ///     form.
    static func append(_ event: StaticString, id: String?, data: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        var fields = "\(id.map { "id: \($0)\n" } ?? "")event: \(event)\ndata: "
        fields.withUTF8 { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: data)
        bytes.append(contentsOf: "\n\n".utf8)
    }

    /// Returns the `retry` field, which tells an event stream's reader how long to wait before it reconnects.
    static func retry(after time: Duration) -> [UInt8] {
        Array("retry: \(max(0, time.milliseconds))\n\n".utf8)
    }

    /// A comment line for an event stream, which its readers ignore. Comments keep proxies from closing an idle
    /// connection (WHATWG HTML, section 9.2.7 "Authoring notes").
    static let comment = EventBytes(Array(":\n\n".utf8))
}
