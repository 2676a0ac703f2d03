import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import Glibc

package enum LogLevel: String, CaseIterable, Comparable, Sendable {
    case trace, debug, info, notice, warning, error, critical

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
    }
}

/// The log on stderr, a line per event. A thread of its own writes, so a slow reader of stderr delays no request. What
/// a client sent can neither begin a line, nor add a value to one, nor control a terminal.
package struct LogLines: Sendable {
    /// `name=value` pairs, or JSON objects.
    package enum Format: String, CaseIterable { case text, json }

    package let format: Format
    /// The lowest that is written.
    package var logLevel = LogLevel.info

    private let writer: LogWriter

    package init(format: Format) throws(ThreadFailure) {
        self.format = format
        writer = try LogWriter(to: STDERR_FILENO) { count in
            var line = LogLine(format, .warning, "\(count) log lines were dropped")
            line.add("dropped", count)
            return line.finished()
        }
    }

    /// Lines lost because stderr was full or could not be written.
    package var dropped: Int { writer.dropped }

    /// Waits at most five seconds for the lines to be written: perhaps nobody reads stderr.
    package func flush() { writer.flush(within: .seconds(5)) }

    package static func line(_ format: Format, _ level: LogLevel, _ message: String) -> [UInt8] {
        LogLine(format, level, message).finished()
    }

    package func write(_ level: LogLevel, _ message: String, _ addValues: (inout LogLine) -> Void = { _ in }) {
        guard level >= logLevel else { return }
        var line = LogLine(format, level, message)
        addValues(&line)
        writer.write(line.finished())
    }
}

package struct LogLine {
    private let format: LogLines.Format
    private var writer = JSONWriter(capacity: 320)

    fileprivate init(_ format: LogLines.Format, _ level: LogLevel, _ message: String) {
        self.format = format
        switch format {
        case .text:
            writer.bytes.append(text: Instant(millisecondsSince1970: Clock.system()).text)
            for word in [level.rawValue, Self.withoutControls(message, replacing: " ")] {
                writer.bytes.append(.space)
                writer.bytes.append(text: word)
            }
        case .json:
            writer.beginObject()
            writer.member("time", Instant(millisecondsSince1970: Clock.system()))
            add("level", level.rawValue)
            add("message", Self.withoutControls(message, replacing: " "))
        }
    }

    package mutating func add(_ name: String, _ value: String) {
        begin(name)
        var value = value
        let isPlain = value.withUTF8 { utf8 in
            let isPlain =
                !utf8.isEmpty
                && utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            if isPlain, format == .text { writer.bytes.append(contentsOf: utf8) }
            return isPlain
        }
        if isPlain, format == .text { return }
        // The JSON writer escapes only controls below 0x20.
        writer.value(isPlain ? value : Self.withoutControls(value, replacing: "\u{FFFD}", from: 0x20))
    }

    package mutating func add(_ name: String, _ value: Int) {
        begin(name)
        writer.value(value)
    }

    private mutating func begin(_ name: String) {
        guard format == .text else { return writer.name(name) }
        writer.bytes.append(.space)
        writer.bytes.append(text: name)
        writer.bytes.append(UInt8(ascii: "="))
    }

    fileprivate consuming func finished() -> [UInt8] {
        if format == .json { writer.endObject() }
        writer.bytes.append(.lineFeed)
        return writer.bytes
    }

    /// Replaces what can begin a line, control a terminal or reorder text: controls from `first`, separators of lines
    /// and paragraphs, and controls of the writing direction.
    private static func withoutControls(_ text: String, replacing replacement: Unicode.Scalar, from first: UInt32 = 0)
        -> String
    {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isControl =
                switch scalar.value {
                case 0...0x1F: scalar.value >= first
                case 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: true
                default: false
                }
            scalars.append(isControl ? replacement : scalar)
        }
        return String(scalars)
    }
}
