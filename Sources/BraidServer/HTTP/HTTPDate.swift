/// The time as HTTP writes it, made without a formatter: once a second for all answers.
///
/// Source: RFC 9110, 5.6.7 (IMF-fixdate); Howard Hinnant, "chrono-compatible low-level date algorithms" (civil_from_days).
enum HTTPDate {
    /// "Sun, 06 Nov 1994 08:49:37 GMT" for seconds since 1970 that are not negative.
    static func text(secondsSince1970 seconds: Int) -> [UInt8] {
        let days = seconds / 86_400
        let time = seconds % 86_400
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)

        var out: [UInt8] = []
        out.reserveCapacity(29)
        out.append(contentsOf: name((days + 4) % 7, in: "SunMonTueWedThuFriSat"))
        out.append(", ")
        append(two: day, to: &out)
        out.append(UInt8.space)
        out.append(contentsOf: name(month - 1, in: "JanFebMarAprMayJunJulAugSepOctNovDec"))
        out.append(UInt8.space)
        append(two: year / 100, to: &out)
        append(two: year % 100, to: &out)
        for (mark, part) in [(" ", time / 3_600), (":", time / 60 % 60), (":", time % 60)] {
            out.append(contentsOf: mark.utf8)
            append(two: part, to: &out)
        }
        out.append(" GMT")
        return out
    }

    private static func name(_ index: Int, in names: String) -> some Sequence<UInt8> {
        names.utf8.dropFirst(index * 3).prefix(3)
    }

    private static func append(two number: Int, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        out.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
