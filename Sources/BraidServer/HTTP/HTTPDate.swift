/// The time as HTTP writes it, made without a formatter: once a second for all answers.
///
/// Source: RFC 9110, 5.6.7 (IMF-fixdate).
enum HTTPDate {
    /// "Sun, 06 Nov 1994 08:49:37 GMT" for seconds since 1970 that are not negative.
    static func text(secondsSince1970 seconds: Int) -> [UInt8] {
        let time = CivilTime(secondsSince1970: seconds)
        var out: [UInt8] = []
        out.reserveCapacity(29)
        out.append(contentsOf: name(time.weekday, in: "SunMonTueWedThuFriSat"))
        out.append(", ")
        out.append(two: time.day)
        out.append(UInt8.space)
        out.append(contentsOf: name(time.month - 1, in: "JanFebMarAprMayJunJulAugSepOctNovDec"))
        out.append(UInt8.space)
        out.append(two: time.year / 100)
        out.append(two: time.year % 100)
        for (mark, part) in [(UInt8.space, time.hour), (UInt8(ascii: ":"), time.minute), (UInt8(ascii: ":"), time.second)] {
            out.append(mark)
            out.append(two: part)
        }
        out.append(" GMT")
        return out
    }

    private static func name(_ index: Int, in names: String) -> some Sequence<UInt8> {
        names.utf8.dropFirst(index * 3).prefix(3)
    }
}
