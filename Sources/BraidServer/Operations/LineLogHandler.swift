import Glibc
import Logging

/// Writes each log line to stderr in one piece: time, level, message.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var line: [UInt8] = []
        line.reserveCapacity(160)
        for part in [timestamp(time.tv_sec * 1000 + time.tv_nsec / 1_000_000), event.level.rawValue, event.message.description] {
            line.append(contentsOf: part.utf8)
            line.append(UInt8(ascii: " "))
        }
        line[line.count - 1] = UInt8(ascii: "\n")
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
