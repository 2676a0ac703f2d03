import BraidHTTP

extension HTTPRequestHead {
    /// The trace id of `traceparent` (W3C Trace Context, 3.2). A malformed header is ignored.
    var traceID: String? {
        let fields = headers.values("traceparent")
        guard fields.count == 1, let field = fields.first else { return nil }
        let bytes = Array(field.utf8)
        // `version-traceid-parentid-flags`. Versions after 00 may append further parts.
        guard bytes.count == 55 || bytes.count > 55 && bytes[55] == UInt8(ascii: "-") && !field.hasPrefix("00-"),
            !field.hasPrefix("ff-"), [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") })
        else { return nil }
        func isID(_ range: Range<Int>, mayBeZero: Bool = false) -> Bool {
            bytes[range].allSatisfy { $0.hexValue != nil && $0 == $0.lowercased }
                && (mayBeZero || bytes[range].contains { $0 != UInt8(ascii: "0") })
        }
        guard isID(0..<2, mayBeZero: true), isID(3..<35), isID(36..<52), isID(53..<55, mayBeZero: true) else {
            return nil
        }
        return String(decoding: bytes[3..<35], as: UTF8.self)
    }
}
