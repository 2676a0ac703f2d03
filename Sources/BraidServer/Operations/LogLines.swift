import BraidEngine
import BraidHTTP
import BraidSessions
import Glibc
import Logging

/// A log handler that writes each event to stderr as one line, with a single `write`. A line contains the time, the
/// level, the message and the event's values, as text or as a JSON object.
///
/// A value that a client sent can neither break the line nor add another value.
package struct LogLines: LogHandler {
    /// The form of a log line: words and `name=value` pairs, or a JSON object.
    package enum Format: String, CaseIterable { case text, json }

    package let format: Format
    package var logLevel: Logger.Level = .info
    package var metadata: Logger.Metadata = [:]

    package init(format: Format) { self.format = format }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.isEmpty ? event.metadata ?? [:] : metadata.merging(event.metadata ?? [:]) { $1 }
        write(event.level, Self.oneLine("\(event.message)")) { line in
            for (name, value) in all.sorted(by: { $0.key < $1.key }) { line.add(name, Self.text(value)) }
        }
    }

    /// Writes a log line for a frequent event, without building swift-log's dictionary of values. The line's values
    /// keep the order in which `addValues` adds them.
    func write(_ level: Logger.Level, _ message: String, _ addValues: (inout LogLine) -> Void) {
        var line = LogLine(format, level, message)
        addValues(&line)
        line.write()
    }

    private static func text(_ value: Logger.MetadataValue) -> String {
        if case .string(let text) = value { text } else { "\(value)" }
    }

    /// Replaces control characters in a log message by spaces, so that the message is one line and cannot control a
    /// terminal.
    private static func oneLine(_ message: String) -> String {
        String(decoding: message.utf8.map { $0 < 0x20 || $0 == 0x7F ? .space : $0 }, as: UTF8.self)
    }
}

/// A log line under construction.
struct LogLine {
    private let format: LogLines.Format
    private var writer = JSONWriter(capacity: 320)

    fileprivate init(_ format: LogLines.Format, _ level: Logger.Level, _ message: String) {
        self.format = format
        switch format {
        case .text:
            writer.bytes.append(text: Instant(millisecondsSince1970: Clock.system()).text)
            for word in [level.rawValue, message] {
                writer.bytes.append(.space)
                writer.bytes.append(text: word)
            }
        case .json:
            writer.beginObject()
            writer.name("time")
            writer.value(Instant(millisecondsSince1970: Clock.system()).text)
            add("level", level.rawValue)
            add("message", message)
        }
    }

    mutating func add(_ name: String, _ value: String) {
        begin(name)
        guard format == .text else { return writer.value(value) }
        var value = value
        let isPlain = value.withUTF8 { utf8 in
            let isPlain =
                !utf8.isEmpty
                && utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            if isPlain { writer.bytes.append(contentsOf: utf8) }
            return isPlain
        }
        if !isPlain { writer.value(value) }
    }

    mutating func add(_ name: String, _ value: Int) {
        begin(name)
        writer.value(value)
    }

    private mutating func begin(_ name: String) {
        guard format == .text else { return writer.name(name) }
        writer.bytes.append(.space)
        writer.bytes.append(text: name)
        writer.bytes.append(UInt8(ascii: "="))
    }

    fileprivate consuming func write() {
        if format == .json { writer.endObject() }
        writer.bytes.append(.lineFeed)
        _ = writer.bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
