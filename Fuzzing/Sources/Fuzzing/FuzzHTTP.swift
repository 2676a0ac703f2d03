import BraidHTTP

/// Fuzzes the HTTP parser. The first byte of the input decides how the other bytes are cut into packets.
///
/// Whatever the cuts are, the parser must read the same requests and bodies, and report the same failure. A failure
/// must have a status from 400 to 599 and a detail.
func fuzzHTTP(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let bytes = Array(input.dropFirst())
    let whole = ReadRequests(bytes, packet: { _ in bytes.count })
    claim(ReadRequests(bytes, packet: { _ in 1 }) == whole, "byte by byte it is read in another way")
    var random = UInt64(first) &* 0x9E37_79B9_7F4A_7C15
    let other = ReadRequests(bytes) { _ in
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return 1 + Int(random >> 33) % (1 + Int(first & 63))
    }
    claim(other == whole, "in packets it is read in another way")
    claim(whole.bodyBytes <= bytes.count, "there is more body than input")
}

private struct ReadRequests: Equatable {
    var heads: [String] = []
    var bodies: [[UInt8]] = []
    var ended = 0
    var failure: String?
    var bodyBytes: Int { bodies.reduce(0) { $0 + $1.count } }

    init(_ bytes: [UInt8], packet: (Int) -> Int) {
        // The limits are small, so that small inputs can reach them.
        var parser = HTTPParser(
            limits: .init(headBytes: 512, fields: 12, targetBytes: 128, trailerBytes: 128, chunkExtensionBytes: 64))
        var start = 0
        while start < bytes.count {
            let piece = Array(bytes[start..<min(bytes.count, start + max(1, packet(start)))])
            start += piece.count
            var position = 0
            feeding: while true {
                let before = position
                let event = parser.next(piece.span, &position)
                claim(position >= before && position <= piece.count, "the position left the input")
                switch event {
                case .needsBytes:
                    claim(position == piece.count, "it asks for more and has not read all")
                    if let head = parser.takeUnfinishedHead() {
                        claim(
                            !head.method.isEmpty && head.framing == .none, "a head's beginning says what it cannot know"
                        )
                    }
                    break feeding
                case .head(let head):
                    heads.append(
                        "\(head.method) \(head.target) \(head.path) \(head.query) \(head.headers.fields) \(head.headers.bytes) \(head.minor) \(head.keepsAlive) \(head.framing) \(head.expectsContinue) \(head.host ?? "-")"
                    )
                    bodies.append([])
                case .body(let range):
                    claim(
                        !range.isEmpty && range.lowerBound >= before && range.upperBound <= position,
                        "a piece of a body is not of this input")
                    bodies[bodies.count - 1] += piece[range]
                case .end: ended += 1
                case .failed(let failure):
                    claim((400...599).contains(failure.status) && !failure.detail.isEmpty, "a failure says nothing")
                    self.failure = "\(failure)"
                    if let head = parser.takeUnfinishedHead() {
                        claim(!head.method.isEmpty && parser.takeUnfinishedHead() == nil, "what failed is kept")
                    }
                    var again = position
                    if case .failed(let same) = parser.next(piece.span, &again) {
                        claim("\(same)" == self.failure, "another failure")
                    } else {
                        claim(false, "a failure is forgotten")
                    }
                    return
                }
            }
        }
        claim(ended <= heads.count && heads.count <= ended + 1, "requests end that have not begun")
    }
}
