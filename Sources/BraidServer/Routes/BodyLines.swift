import BraidHTTP

/// The lines of a body, one by one as they arrive. Blank ones are left out, but counted.
struct BodyLines {
    private let body: HTTPBodyReader
    /// The longest line that is taken.
    private let limit: Int
    private var bytes: [UInt8] = []
    /// Where the next line starts in `bytes`.
    private var start = 0
    /// The number of the line that was given last, from 1.
    private(set) var number = 0

    init(_ body: HTTPBodyReader, limit: Int) {
        self.body = body
        self.limit = limit
    }

    /// The next line without its end; nil at the body's end. What stands behind the last line break is a line too.
    ///
    /// Holds one line and what came with it: the sender is slowed down until this is called again.
    mutating func next() async throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = bytes[searched...].firstIndex(of: .lineFeed) {
                let line = bytes[start..<end]
                start = end + 1
                searched = start
                if let line = try taking(line) { return line }
                continue
            }
            if bytes.count - start > limit { throw tooLong(number + 1) }
            bytes.removeFirst(start)
            start = 0
            searched = bytes.count
            guard let piece = try await body.next() else {
                defer { bytes = [] }
                return try taking(bytes[...])
            }
            try body.hold(bytes.count + piece.count)
            bytes += piece
        }
    }

    private mutating func taking(_ line: ArraySlice<UInt8>) throws -> [UInt8]? {
        if line.isEmpty, start == 0 { return nil }  // nothing behind the last line break
        number += 1
        guard line.count <= limit else { throw tooLong(number) }
        return line.allSatisfy { $0 == .space || $0 == .tab || $0 == .carriageReturn } ? nil : Array(line)
    }

    private func tooLong(_ number: Int) -> ProblemError {
        ProblemError(.tooLarge, "The line has more than \(limit) bytes, the most that a line may have.").at(
            line: number)
    }
}
