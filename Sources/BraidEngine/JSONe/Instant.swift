/// A moment in UTC, to the microsecond, years 1 to 9999. From text or number: the engine reads no clock.
public struct Instant: Equatable, Sendable {
    /// Since 1970-01-01T00:00:00Z.
    private(set) var microseconds: Int

    private static let perSecond = 1_000_000
    private static let perDay = 86_400 * perSecond
    private static let first = dayNumber(1, 1, 1) * perDay
    private static let last = dayNumber(10000, 1, 1) * perDay - 1

    /// Clamped to the years 1 to 9999.
    public init(millisecondsSince1970 milliseconds: Int) {
        let (microseconds, isTooLarge) = milliseconds.multipliedReportingOverflow(by: 1_000)
        self.microseconds =
            isTooLarge ? (milliseconds < 0 ? Self.first : Self.last) : min(max(microseconds, Self.first), Self.last)
    }

    /// RFC 3339; single digits are allowed in month, day and times. Cuts off after microseconds; a month's leap second
    /// is the moment after it. `nil` outside the years 1 to 9999.
    package init?(_ text: String) {
        var scanner = Scanner(text)
        guard let year = scanner.digits(4...4), scanner.take("-"), let month = scanner.digits(1...2), scanner.take("-"),
            let day = scanner.digits(1...2), scanner.take("T") || scanner.take("t"), let hour = scanner.digits(1...2),
            scanner.take(":"),
            let minute = scanner.digits(1...2), scanner.take(":"), let second = scanner.digits(1...2),
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.isAtEnd,
            year >= 1, 1...12 ~= month, day >= 1, day <= Timestamp.lastDay(ofMonth: month, year: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let seconds = (hour * 60 + minute - offset) * 60 + second
        let start = Self.dayNumber(year, month, day) * Self.perDay + seconds * Self.perSecond
        microseconds = start + fraction
        guard Self.first...Self.last ~= microseconds else { return nil }
        if second == 60 {
            guard start % Self.perDay == 0, Self.date(start / Self.perDay).day == 1 else { return nil }
        }
    }

    /// `nil` outside the years 1 to 9999.
    func adding(days: Int, seconds: Int) -> Instant? {
        let (inDays, tooManyDays) = days.multipliedReportingOverflow(by: Self.perDay)
        let (inSeconds, tooManySeconds) = seconds.multipliedReportingOverflow(by: Self.perSecond)
        let (offset, tooMuch) = inDays.addingReportingOverflow(inSeconds)
        let (sum, overflow) = microseconds.addingReportingOverflow(offset)
        guard !tooManyDays, !tooManySeconds, !tooMuch, !overflow,
            Self.first...Self.last ~= sum
        else { return nil }
        var instant = self
        instant.microseconds = sum
        return instant
    }

    /// Rounded down.
    package var millisecondsSince1970: Int {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// RFC 3339, cut off after milliseconds: `2026-11-21T09:20:00.000Z`.
    public var text: String {
        var day = microseconds / Self.perDay
        if microseconds % Self.perDay < 0 { day -= 1 }
        let inDay = (microseconds - day * Self.perDay) / 1000
        let (year, month, dayOfMonth) = Self.date(day)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var count = 0
            func append(_ byte: UInt8) {
                buffer[count] = byte
                count += 1
            }
            func append(_ number: Int, _ divisor: Int, then mark: UInt8) {
                var divisor = divisor
                while divisor > 0 {
                    append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                    divisor /= 10
                }
                append(mark)
            }
            append(year, 1_000, then: UInt8(ascii: "-"))
            append(month, 10, then: UInt8(ascii: "-"))
            append(dayOfMonth, 10, then: UInt8(ascii: "T"))
            append(inDay / 3_600_000, 10, then: UInt8(ascii: ":"))
            append(inDay / 60_000 % 60, 10, then: UInt8(ascii: ":"))
            append(inDay / 1000 % 60, 10, then: UInt8(ascii: "."))
            append(inDay % 1000, 100, then: UInt8(ascii: "Z"))
            return count
        }
    }

    // MARK: The Gregorian calendar, counted in years that begin in March

    /// Days since 1970-01-01; the year is at least 1.
    private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let marchYear = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return 365 * marchYear + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    }

    private static func date(_ dayNumber: Int) -> (year: Int, month: Int, day: Int) {
        let days = dayNumber + 719_468
        let (era, dayOfEra) = days.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension Instant: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.value(text) }
}

/// `-2 days 3 hours` (json-e.js.org/operators.html, "$fromNow"): a sign, then years (365 days), months (30 days),
/// weeks, days, hours, minutes, seconds, in this order.
struct TimeOffset {
    private(set) var days = 0
    private(set) var seconds = 0

    private static let units: [(names: [String], days: Int, seconds: Int)] = [
        (["years", "year", "yr", "y"], 365, 0), (["months", "month", "mo"], 30, 0),
        (["weeks", "week", "wk", "w"], 7, 0), (["days", "day", "d"], 1, 0),
        (["hours", "hour", "hr", "h"], 0, 3600), (["minutes", "minute", "min", "m"], 0, 60),
        (["seconds", "second", "sec", "s"], 0, 1),
    ]

    /// `nil` also if it does not fit into `Int`.
    init?(_ text: String) {
        var scanner = Scanner(text)
        scanner.skipWhitespace()
        let sign = scanner.take("-") ? -1 : 1
        scanner.skipWhitespace()
        _ = scanner.take("+")
        scanner.skipWhitespace()
        var unit = 0
        while !scanner.isAtEnd {
            guard let count = scanner.digits(1...18) else { return nil }
            scanner.skipWhitespace()
            guard let name = scanner.letters(),
                let found = Self.units[unit...].firstIndex(where: { $0.names.contains(name) })
            else { return nil }
            let (moreDays, tooManyDays) = count.multipliedReportingOverflow(by: sign * Self.units[found].days)
            let (moreSeconds, tooManySeconds) = count.multipliedReportingOverflow(by: sign * Self.units[found].seconds)
            guard !tooManyDays, !tooManySeconds else { return nil }
            let (allDays, dayOverflow) = days.addingReportingOverflow(moreDays)
            let (allSeconds, secondOverflow) = seconds.addingReportingOverflow(moreSeconds)
            guard !dayOverflow, !secondOverflow else { return nil }
            (days, seconds, unit) = (allDays, allSeconds, found + 1)
            scanner.skipWhitespace()
        }
    }
}

private struct Scanner {
    private var rest: Substring.UnicodeScalarView

    init(_ text: String) { rest = text[...].unicodeScalars }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skipWhitespace() { rest = rest.drop { $0.isWhitespace } }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    /// `nil` unless their number is allowed; `allowed` ends at 18, as so many fit into `Int`.
    mutating func digits(_ allowed: ClosedRange<Int>) -> Int? {
        let digits = rest.prefix { ("0"..."9").contains($0) }
        let count = digits.count
        guard allowed.contains(count) else { return nil }
        rest = rest[digits.endIndex...]
        return Int(String(digits))
    }

    mutating func letters() -> String? {
        let letters = rest.prefix { ("a"..."z").contains($0) }
        rest = rest[letters.endIndex...]
        return letters.isEmpty ? nil : String(letters)
    }

    /// `.` and digits, in microseconds; 0 if there is no `.`.
    mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        let digits = rest.prefix { ("0"..."9").contains($0) }
        rest = rest[digits.endIndex...]
        guard !digits.isEmpty else { return nil }
        return Int((String(digits.prefix(6)) + "00000").prefix(6))
    }

    /// `Z` or `±HH:MM`, in minutes.
    mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let sign = take("-") ? -1 : 1
        guard sign < 0 || take("+"), let hours = digits(2...2), take(":"), let minutes = digits(2...2),
            hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }
}

extension JSONeEvaluator {
    /// The offset is added to the reference or, without one, to `now`.
    mutating func fromNow(_ offset: String, _ reference: JSONValue?) throws(JSONeError) -> String {
        try budget.spend(scanning: offset.utf8.count + (reference?.stringValue?.utf8.count ?? 0))
        guard let offset = TimeOffset(offset) else { throw .template("offset string: '\(offset)' does not parse") }
        guard case .string(let reference)? = reference ?? value(of: "now"), let instant = Instant(reference) else {
            throw .template("$fromNow expects a reference such as 2026-01-31T12:00:00.000Z")
        }
        guard let moved = instant.adding(days: offset.days, seconds: offset.seconds) else {
            throw .template("$fromNow leaves the years 1 to 9999")
        }
        return moved.text
    }
}
