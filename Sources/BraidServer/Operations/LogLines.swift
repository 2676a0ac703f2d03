import BraidEngine
import Glibc
import Logging

/// Writes each event to stderr as one line, in one piece: time, level, message and the event's values, as text or as a JSON object.
///
/// Whatever a client sent stays within its value: it neither breaks the line nor adds a value.
struct LogLines: LogHandler {
    enum Format { case text, json }

    let format: Format
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.isEmpty ? event.metadata ?? [:] : metadata.merging(event.metadata ?? [:]) { $1 }
        let values = all.map { (name: $0.key, value: Self.text($0.value)) }.sorted { $0.name < $1.name }
        write(event.level, "\(event.message)", values)
    }

    /// The same, for what happens too often for a dictionary of values to be made each time; in the values' order.
    func write(_ level: Logger.Level, _ message: String, _ values: [(name: String, value: String)]) {
        let line = Self.line(format, time: timestamp(Source.clock()), level: level, message: message, values)
        _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func text(_ value: Logger.MetadataValue) -> String { if case .string(let text) = value { text } else { "\(value)" } }

    private static func line(_ format: Format, time: String, level: Logger.Level, message: String, _ values: [(name: String, value: String)]) -> [UInt8] {
        switch format {
        case .text:
            var line: [UInt8] = []
            line.reserveCapacity(256)
            for word in [time, " ", level.rawValue, " ", oneLine(message)] { line += word.utf8 }
            for (name, value) in values {
                line.append(UInt8(ascii: " "))
                line += name.utf8
                line.append(UInt8(ascii: "="))
                if isPlain(value) { line += value.utf8 } else { line += quoted(value) }
            }
            line.append(UInt8(ascii: "\n"))
            return line
        case .json:
            var writer = JSONWriter(capacity: 256)
            writer.beginObject()
            for (name, value) in [("time", time), ("level", level.rawValue), ("message", message)] {
                writer.name(name)
                writer.value(value)
            }
            for (name, value) in values {
                writer.name(name)
                if numbers.contains(name), let number = Int(value) { writer.value(number) } else { writer.value(value) }
            }
            writer.endObject()
            return writer.bytes + [UInt8(ascii: "\n")]
        }
    }

    /// Values that are numbers in JSON, too.
    private static let numbers: Set = ["status", "microseconds"]

    private static func isPlain(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    private static func quoted(_ value: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes
    }

    /// Several lines (a fault's description) become one.
    private static func oneLine(_ message: String) -> String {
        message.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? String(message.map { $0.isNewline || ($0.asciiValue ?? 0x20) < 0x20 ? " " : $0 }) : message
    }
}
