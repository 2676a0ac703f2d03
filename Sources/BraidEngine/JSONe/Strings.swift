extension String {
    /// By code points, which is the order of UTF-8 bytes.
    func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    /// With `ς` at a word's end, unlike `lowercased()` (Unicode 3.13, `Final_Sigma`).
    var inLowerCase: String {
        guard unicodeScalars.contains("Σ") else { return lowercased() }
        var result = UnicodeScalarView(), rest = unicodeScalars[...], followsLetter = false
        while let scalar = rest.popFirst() {
            let properties = scalar.properties
            if scalar == "Σ", followsLetter,
                !(rest.first { !$0.properties.isCaseIgnorable }?.properties.isCased ?? false)
            {
                result.append("ς")
            } else {
                result.append(contentsOf: properties.lowercaseMapping.unicodeScalars)
            }
            if !properties.isCaseIgnorable { followsLetter = properties.isCased }
        }
        return String(result)
    }

    /// By UTF-8 bytes. O(both).
    func contains(bytesOf part: String) -> Bool {
        if part.isEmpty { return true }
        var (string, part) = (self, part)
        return string.withUTF8 { string in part.withUTF8 { part in !string.offsets(of: part, atMost: 1).isEmpty } }
    }

    /// `separator` must not be empty. O(both).
    func split(separatedBy separator: String) -> [String] {
        var (string, separator) = (self, separator)
        return string.withUTF8 { string in
            separator.withUTF8 { separator in
                var parts: [String] = [], start = 0
                for offset in string.offsets(of: separator) + [string.count] {
                    parts.append(String(decoding: string[start..<offset], as: UTF8.self))
                    start = offset + separator.count
                }
                return parts
            }
        }
    }

    /// For `number()`: sign, digits with single underscores, fraction, exponent, any whitespace around; all but digits
    /// optional. `nil` if too large.
    var templateNumber: Double? {
        var scalars = unicodeScalars.drop { $0.isWhitespace }
        while let last = scalars.last, last.isWhitespace { scalars.removeLast() }
        let bytes = Array(String(scalars).utf8)
        for (position, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "_"):
                guard position > 0, position + 1 < bytes.count, bytes[position - 1].isDigit, bytes[position + 1].isDigit
                else { return nil }
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): continue
            default: guard byte.isDigit else { return nil }
            }
        }
        guard let number = Double(String(decoding: bytes.filter { $0 != UInt8(ascii: "_") }, as: UTF8.self)) else {
            return nil
        }
        return number.isFinite ? number : nil
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Without overlaps, by Knuth, Morris and Pratt: O(both) even for hostile texts. `part` must not be empty.
    fileprivate func offsets(of part: UnsafeBufferPointer<UInt8>, atMost limit: Int = .max) -> [Int] {
        // borders[i]: the longest proper prefix of `part` that is a suffix of part[0...i].
        var borders = [Int](repeating: 0, count: part.count), matched = 0
        for position in part.indices.dropFirst() {
            while matched > 0, part[matched] != part[position] { matched = borders[matched - 1] }
            if part[matched] == part[position] { matched += 1 }
            borders[position] = matched
        }
        var found: [Int] = []
        matched = 0
        for position in indices where found.count < limit {
            while matched > 0, part[matched] != self[position] { matched = borders[matched - 1] }
            if part[matched] == self[position] { matched += 1 }
            if matched == part.count {
                found.append(position + 1 - matched)
                matched = 0
            }
        }
        return found
    }
}
