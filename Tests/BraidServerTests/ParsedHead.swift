import BraidHTTP

/// As the server's parser reads it, without a body. HTTP/1.0 if there is no `Host`.
func parsedHead(_ method: String, _ target: String, _ fields: [(String, String)]) -> HTTPRequestHead {
    let minor = fields.contains { $0.0 == "Host" } ? 1 : 0
    let text = "\(method) \(target) HTTP/1.\(minor)\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
    var parser = HTTPParser(), position = 0
    guard case .head(let head) = parser.next(Array(text.utf8).span, &position) else {
        preconditionFailure("The test's request is malformed: \(text)")
    }
    return head
}
