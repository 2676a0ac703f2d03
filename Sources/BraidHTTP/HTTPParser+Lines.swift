// The parts of a request's head that the HTTP parser itself interprets, such as `Content-Length`. The parser checks
// each line of the head as soon as the line is complete. It checks the target, the expectation and combinations of
// fields at the end of the head.
extension HTTPParser {
    /// The request line: method SP request-target SP HTTP-version (RFC 9112, 3).
    struct RequestLine {
        var method = 0..<0
        var target = 0..<0
        var minor = 1

        init() {}

        init(_ bytes: [UInt8], _ line: Range<Int>) throws(HTTPFailure) {
            // A target with a space is refused at the end of the head, as other malformed targets are.
            guard let first = bytes[line].firstIndex(of: .space), let second = bytes[line].lastIndex(of: .space),
                second > first + 1
            else {
                throw HTTPFailure(
                    status: 400,
                    detail: "The request line is not a method, a target and a version with one space between them.")
            }
            method = line.lowerBound..<first
            target = first + 1..<second
            let version = second + 1..<line.upperBound
            let major = version.lowerBound + 5
            guard version.count == 8, bytes[version].starts(with: "HTTP/".utf8),
                bytes[major].isDigit, bytes[major + 1] == UInt8(ascii: "."), bytes[major + 2].isDigit
            else {
                throw HTTPFailure(status: 400, detail: "The request line does not end in a version such as 'HTTP/1.1'.")
            }
            guard bytes[major] == UInt8(ascii: "1") else {
                throw HTTPFailure(status: 505, detail: "This server speaks HTTP/1.1 and HTTP/1.0 only.")
            }
            // A request with a version from HTTP/1.2 to HTTP/1.9 is treated as HTTP/1.1, the highest version that the
            // parser knows (RFC 9110, 2.5).
            minor = bytes[major + 2] == UInt8(ascii: "0") ? 0 : 1
            guard !method.isEmpty, bytes[method].allSatisfy(\.isTokenByte) else {
                throw HTTPFailure(status: 400, detail: "The method is not a token.")
            }
            guard method.count <= 32 else {
                throw HTTPFailure(status: 501, detail: "The server serves no method of this name.")
            }
        }
    }

    /// The values of the header fields that the HTTP parser itself interprets, for example the length of the body.
    struct Facts {
        var length: Int?
        var isChunked = false
        var hasHost = false
        var saysClose = false
        var saysKeepAlive = false
        var hasExpectation = false

        mutating func note(_ field: HTTPHeaders.Field, in bytes: [UInt8]) throws(HTTPFailure) {
            let name = Int(field.name.lowerBound)..<Int(field.name.upperBound)
            let value = bytes[Int(field.value.lowerBound)..<Int(field.value.upperBound)]
            switch name.count {  // Comparing the length of the field's name first rules out most names.
            case 4 where bytes.equals("host", in: name):
                guard !hasHost else {
                    throw HTTPFailure(status: 400, detail: "The request has more than one Host field.")
                }
                guard HTTPTarget.isHost(value) else {
                    throw HTTPFailure(status: 400, detail: "The Host field is not a valid host with an optional port.")
                }
                hasHost = true
            case 6 where bytes.equals("expect", in: name):
                hasExpectation = true
            case 10 where bytes.equals("connection", in: name):
                for item in value.split(separator: UInt8(ascii: ",")) {
                    let word = String(decoding: item.filter { !$0.isBlank }.map(\.lowercased), as: UTF8.self)
                    if word == "close" { saysClose = true }
                    if word == "keep-alive" { saysKeepAlive = true }
                }
            case 14 where bytes.equals("content-length", in: name):
                guard length == nil else {
                    throw HTTPFailure(status: 400, detail: "The request has more than one Content-Length field.")
                }
                guard !value.isEmpty, value.allSatisfy(\.isDigit) else {
                    throw HTTPFailure(status: 400, detail: "Content-Length is not one run of decimal digits.")
                }
                guard value.count <= 18 else {
                    throw HTTPFailure(status: 413, detail: "Content-Length has more than 18 digits.")
                }
                length = value.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            case 17 where bytes.equals("transfer-encoding", in: name):
                guard !isChunked, bytes.equals("chunked", in: value.indices) else {
                    throw HTTPFailure(status: 400, detail: "Transfer-Encoding is not exactly 'chunked', once.")
                }
                isChunked = true
            default:
                break
            }
        }

        func check(minor: Int) throws(HTTPFailure) {
            if isChunked, minor == 0 { throw HTTPFailure(status: 400, detail: "HTTP/1.0 has no Transfer-Encoding.") }
            if isChunked, length != nil {
                throw HTTPFailure(
                    status: 400,
                    detail: "The request has both Transfer-Encoding and Content-Length; send only one of them.")
            }
            if !hasHost, minor > 0 {
                throw HTTPFailure(status: 400, detail: "The request has no Host field, which HTTP/1.1 requires.")
            }
        }
    }
}
