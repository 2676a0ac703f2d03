import Glibc
import Synchronization

/// Where the server takes time and randomness from.
final class Source: Sendable {
    private let requests = Atomic<UInt64>(0)
    private let prefix: String

    init() { prefix = Source.word(6) }

    /// Milliseconds since 1970.
    func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// An id for a session that was opened without one.
    func sessionID() -> String { Source.word(12) }

    /// An opaque word, never used again.
    func epoch() -> String { Source.word(8) }

    /// An id for a token; not secret.
    func tokenID() -> String { Source.word(12) }

    /// 256 bits that nobody can guess, as base64url (RFC 4648, 5).
    static func secret() -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var generator = SystemRandomNumberGenerator()
        // 43 letters of 6 bits are 258.
        return String(decoding: (0..<43).map { _ in letters[Int.random(in: 0..<64, using: &generator)] }, as: UTF8.self)
    }

    func requestID() -> String {
        "\(prefix)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    private static let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func word(_ length: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return String(decoding: (0..<length).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] }, as: UTF8.self)
    }
}

/// RFC 3339, UTC, with milliseconds: `2026-11-21T09:20:00.000Z`.
///
/// `milliseconds` since 1970. Source: Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
func timestamp(_ milliseconds: Int) -> String {
    let days = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds - 86_399_999) / 86_400_000
    let rest = milliseconds - days * 86_400_000
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1000 % 60, 2)).\(padded(rest % 1000, 3))Z"
}
