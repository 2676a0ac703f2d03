#if PostgreSQL
/// SQL as an interpolated string: `"SELECT … WHERE number = \(number)"`. Values become typed parameters
/// (`$1::bigint`); other statements, and values with the label `raw`, become text.
struct PostgresStatement: Sendable, ExpressibleByStringInterpolation {
    /// Before, between and after the parameters.
    private(set) var texts: [String]
    private(set) var values = Parameters()

    init(stringLiteral text: String) { texts = [text] }

    init(stringInterpolation: StringInterpolation) {
        texts = stringInterpolation.texts
        values = stringInterpolation.values
    }

    /// With `$1`, `$2`, …
    var sql: String {
        guard texts.count > 1 else { return texts[0] }
        var sql = ""
        sql.reserveCapacity(texts.reduce(texts.count * 4) { $0 + $1.utf8.count })
        for (index, text) in texts.enumerated() {
            if index > 0 { sql += "$\(index)" }
            sql += text
        }
        return sql
    }

    /// PostgreSQL ends the connection at a message of 1 GiB, which has a few more bytes for each parameter.
    var isTooLarge: Bool { values.bytes.count > 1_000_000_000 }

    static func += (statement: inout PostgresStatement, more: PostgresStatement) {
        statement.texts[statement.texts.count - 1] += more.texts[0]
        statement.texts += more.texts.dropFirst()
        statement.values.append(more.values)
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var texts = [""]
        fileprivate var values = Parameters()

        init(literalCapacity: Int, interpolationCount: Int) { texts.reserveCapacity(interpolationCount + 1) }

        mutating func appendLiteral(_ text: String) { texts[texts.count - 1] += text }

        mutating func appendInterpolation(raw text: String) { appendLiteral(text) }

        mutating func appendInterpolation(_ part: PostgresStatement) {
            texts[texts.count - 1] += part.texts[0]
            texts += part.texts.dropFirst()
            values.append(part.values)
        }

        mutating func appendInterpolation(_ value: Int?) { append(value, "::bigint") }

        /// For the server's strings.
        mutating func appendInterpolation(_ value: String?) { append(value, "::text") }

        /// For clients' strings: a `text` cannot contain U+0000.
        mutating func appendInterpolation(name value: String?) { append(value, "::bytea") }

        mutating func appendInterpolation(_ values: [Int?]) { append(values, .int8, "::bigint[]") }

        mutating func appendInterpolation(names values: [String?]) { append(values, .bytea, "::bytea[]") }

        mutating func appendInterpolation(texts values: [String?]) { append(values, .text, "::text[]") }

        mutating func append(_ value: (some SQLValue)?, _ type: String) {
            values.append(value)
            texts.append(type)
        }

        mutating func append(_ elements: [(some SQLValue)?], _ element: ElementType, _ type: String) {
            values.append(elements, of: element)
            texts.append(type)
        }
    }
}

protocol SQLValue {
    func encode(into bytes: inout [UInt8])
}

/// UTF-8, whether the parameter is `text` or `bytea`.
extension String: SQLValue {
    func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension Int: SQLValue {
    func encode(into bytes: inout [UInt8]) {
        Swift.withUnsafeBytes(of: Int64(self).bigEndian) { bytes.append(contentsOf: $0) }
    }
}

/// OIDs (pg_type.dat).
enum ElementType: Int32 {
    case bytea = 17, int8 = 20, text = 25
}

struct Parameters: Sendable {
    /// The first byte is unused: the array has an address even if all values are empty.
    private(set) var bytes: [UInt8] = [0]
    /// In `bytes`. `nil` for NULL.
    private(set) var ranges: [Range<Int>?] = []

    mutating func append(_ value: (some SQLValue)?) {
        guard let value else { return ranges.append(nil) }
        let start = bytes.count
        value.encode(into: &bytes)
        ranges.append(start..<bytes.count)
    }

    /// An array of one dimension with the lower bound 1, or of none if empty (array_send in PostgreSQL's arrayfuncs.c).
    mutating func append(_ elements: [(some SQLValue)?], of type: ElementType) {
        let start = bytes.count
        append(Int32(elements.isEmpty ? 0 : 1))
        append(Int32(elements.contains { $0 == nil } ? 1 : 0))
        append(type.rawValue)
        if !elements.isEmpty {
            append(Int32(elements.count))
            append(Int32(1))
        }
        for element in elements {
            let place = bytes.count
            append(Int32(-1))
            guard let element else { continue }
            element.encode(into: &bytes)
            let length = Int32(truncatingIfNeeded: bytes.count - place - 4)
            Swift.withUnsafeBytes(of: length.bigEndian) {
                for (index, byte) in $0.enumerated() { bytes[place + index] = byte }
            }
        }
        ranges.append(start..<bytes.count)
    }

    mutating func append(_ more: Parameters) {
        let start = bytes.count
        bytes += more.bytes
        ranges += more.ranges.map { $0.map { $0.lowerBound + start..<$0.upperBound + start } }
    }

    private mutating func append(_ number: Int32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
#endif
