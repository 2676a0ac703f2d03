import Glibc

/// RFC 9110, 5.6.7, IMF-fixdate, without a `DateFormatter`.
enum HTTPDate {
    /// "Sun, 06 Nov 1994 08:49:37 GMT", for years from 0 to 9999.
    static func text(secondsSince1970 seconds: Int) -> [UInt8] {
        var seconds = seconds, time = tm()
        gmtime_r(&seconds, &time)
        let year = Int(time.tm_year) + 1_900
        var out: [UInt8] = []
        out.reserveCapacity(29)
        out.append(contentsOf: name(time.tm_wday, in: "SunMonTueWedThuFriSat"))
        out.append(", ")
        out.append(two: Int(time.tm_mday))
        out.append(UInt8.space)
        out.append(contentsOf: name(time.tm_mon, in: "JanFebMarAprMayJunJulAugSepOctNovDec"))
        out.append(UInt8.space)
        out.append(two: year / 100)
        out.append(two: year % 100)
        for (mark, part) in [
            (UInt8.space, time.tm_hour), (UInt8(ascii: ":"), time.tm_min), (UInt8(ascii: ":"), time.tm_sec),
        ] {
            out.append(mark)
            out.append(two: Int(part))
        }
        out.append(" GMT")
        return out
    }

    private static func name(_ index: Int32, in names: String) -> some Sequence<UInt8> {
        names.utf8.dropFirst(Int(index) * 3).prefix(3)
    }
}

extension [UInt8] {
    fileprivate mutating func append(two number: Int) {
        append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / 10 % 10))
        append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }
}
