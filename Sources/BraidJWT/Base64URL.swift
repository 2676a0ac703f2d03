#if JWT
/// RFC 4648, section 5, as in RFC 7515: without padding, and with one form only, so that two texts are never the same
/// token.
enum Base64URL {
    static func bytes(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = [], bits: UInt32 = 0, count = 0
        bytes.reserveCapacity(digits.count * 3 / 4)
        for digit in digits {
            guard let value = value(digit) else { return nil }
            bits = bits << 6 | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        // The unused bits of the last digit are zero.
        return bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
    }

    private static func value(_ digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
#endif
