/// Ends a command with status 1.
struct Failure: Error, CustomStringConvertible {
    let faults: [String]

    init(_ description: String) { faults = [description] }
    init(faults: [String]) { self.faults = faults }

    var description: String { faults.joined(separator: "\n") }
}

/// Ends a command with status 1 that has already printed why.
struct ReportedFailure: Error {}

enum Secrets {
    /// `***` for user and password of URLs and for `password` parameters: messages quote wrong values, and one may be a
    /// database's URL.
    static func redacted(_ text: String) -> String {
        var rest = Array(text.utf8)[...], result: [UInt8] = []
        func isEnd(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") }
        while let byte = rest.first {
            if rest.starts(with: "://".utf8) {
                let url = rest.dropFirst(3).prefix { !isEnd($0) }
                result += rest.prefix(3)
                rest = rest.dropFirst(3)
                guard let at = url.lastIndex(of: UInt8(ascii: "@")) else { continue }
                result += "***".utf8
                rest = rest[at...]
            } else if rest.starts(with: "password=".utf8) {
                result += "password=***".utf8
                rest = rest.dropFirst(9).drop { !isEnd($0) && $0 != UInt8(ascii: "&") }
            } else {
                result.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
