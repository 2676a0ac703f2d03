/// RFC 8927's timestamps (section 3.3.3): RFC 3339 with capital `T` and `Z`, as Atom requires (RFC 4287, section 3.3).
enum Timestamp {
    /// Also checks each month's days and possible leap seconds. Does not allocate.
    static func isValid(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { isValid(UnsafeRawBufferPointer($0)) }
    }

    private static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var reader = Reader(bytes: bytes)
        guard let year = reader.number(4), reader.take("-"),
            let month = reader.number(2), 1...12 ~= month, reader.take("-"),
            let day = reader.number(2), day >= 1, day <= lastDay(ofMonth: month, year: year), reader.take("T"),
            let hour = reader.number(2), hour <= 23, reader.take(":"),
            let minute = reader.number(2), minute <= 59, reader.take(":"),
            let second = reader.number(2), second <= 60,
            reader.takeFraction(), let offset = reader.offset(), reader.isAtEnd
        else { return false }
        guard second == 60 else { return true }
        // A leap second ends a month in UTC (RFC 3339, section 5.7); with an offset to the east, the date can already
        // be the first of the next month.
        let minuteInUTC = hour * 60 + minute - offset
        return minuteInUTC == 1439 && day == lastDay(ofMonth: month, year: year) || minuteInUTC == -1 && day == 1
    }

    /// RFC 3339, section 5.7 and appendix C.
    static func lastDay(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard !isAtEnd, bytes[position] == UInt8(ascii: scalar) else { return false }
            position += 1
            return true
        }

        mutating func number(_ digits: Int) -> Int? {
            guard bytes.count - position >= digits else { return nil }
            defer { position += digits }
            return Int(digits: bytes[position..<position + digits])
        }

        /// False for a point without a digit.
        mutating func takeFraction() -> Bool {
            guard take(".") else { return true }
            let start = position
            while !isAtEnd, bytes[position].isDigit { position += 1 }
            return position > start
        }

        /// Minutes, positive to the east; `-00:00` is an unknown offset (RFC 3339, section 4.3).
        mutating func offset() -> Int? {
            if take("Z") { return 0 }
            let isAhead = take("+")
            guard isAhead || take("-"), let hours = number(2), hours <= 23, take(":"), let minutes = number(2),
                minutes <= 59
            else { return nil }
            return isAhead ? hours * 60 + minutes : -hours * 60 - minutes
        }
    }
}
