import BraidRuntime

/// Events as a `text/event-stream` has them.
///
/// Source: WHATWG HTML, 9.2 "Server-sent events": 9.2.5 "Parsing an event stream", 9.2.6 "Interpreting an event
/// stream".
enum ServerSentEvent {
    /// `data` must be one line, as compact JSON is: a line break can only stand escaped in it. An event without an `id`
    /// leaves the reader's last event id as it was.
    static func append(_ event: StaticString, id: String?, data: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        var fields = "\(id.map { "id: \($0)\n" } ?? "")event: \(event)\ndata: "
        fields.withUTF8 { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: data)
        bytes.append(contentsOf: "\n\n".utf8)
    }

    /// How long a reader is to wait before it connects again.
    static func retry(after time: Duration) -> [UInt8] {
        Array("retry: \(max(0, time.milliseconds))\n\n".utf8)
    }

    /// A line that readers ignore: it keeps proxies from taking the connection for dead (9.2.7, "Authoring notes").
    static let comment = Array(":\n\n".utf8)
}
