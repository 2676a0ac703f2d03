/// A moment as calendars and clocks have it, in UTC.
///
/// Source: Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
struct CivilTime {
    let year: Int
    /// From 1.
    let month: Int
    /// From 1.
    let day: Int
    /// From 0, which is Sunday.
    let weekday: Int
    let hour: Int
    let minute: Int
    let second: Int

    /// `seconds` since 1970, in the years 0 to 9999.
    init(secondsSince1970 seconds: Int) {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let inDay = seconds - days * 86_400
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        weekday = ((days + 4) % 7 + 7) % 7
        hour = inDay / 3_600
        minute = inDay / 60 % 60
        second = inDay % 60
    }
}

/// RFC 3339, UTC, with milliseconds: `2026-11-21T09:20:00.000Z`.
///
/// `milliseconds` since 1970, in the years 0 to 9999.
func timestamp(_ milliseconds: Int) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(24)
    text.append(timestamp: milliseconds)
    return String(decoding: text, as: UTF8.self)
}

extension [UInt8] {
    /// RFC 3339, UTC, with milliseconds, which are counted since 1970, in the years 0 to 9999.
    mutating func append(timestamp milliseconds: Int) {
        let seconds = milliseconds >= 0 ? milliseconds / 1_000 : (milliseconds - 999) / 1_000
        let time = CivilTime(secondsSince1970: seconds)
        append(two: time.year / 100)
        append(two: time.year % 100)
        append(UInt8(ascii: "-"))
        append(two: time.month)
        append(UInt8(ascii: "-"))
        append(two: time.day)
        append(UInt8(ascii: "T"))
        append(two: time.hour)
        append(UInt8(ascii: ":"))
        append(two: time.minute)
        append(UInt8(ascii: ":"))
        append(two: time.second)
        append(UInt8(ascii: "."))
        let rest = milliseconds - seconds * 1_000
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / 100))
        append(two: rest % 100)
        append(UInt8(ascii: "Z"))
    }

    /// A number below 100, in two digits.
    mutating func append(two number: Int) {
        append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / 10 % 10))
        append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }
}
