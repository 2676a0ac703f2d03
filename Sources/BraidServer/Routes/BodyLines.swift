import BraidHTTP
import BraidRuntime

/// The lines of a streamed body, one at a time, as they arrive. Blank ones are skipped but counted.
struct BodyLines {
    static let mediaType = "application/x-ndjson"
    private let body: HTTPBodyReader
    private let gunzip: Gunzip?
    private let limit: Int
    private var bytes: [UInt8] = []
    private var start = 0
    /// Of the last line, from 1.
    private(set) var number = 0

    init(_ body: HTTPBodyReader, limit: Int, isGzip: Bool = false) {
        self.body = body
        self.limit = limit
        gunzip = isGzip ? Gunzip() : nil
    }

    /// `nil` at the end. Bytes after the last line feed are a line. Holds one line and what came with it; until the
    /// next call, the sender waits (backpressure).
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
            guard let piece = try await nextPiece() else {
                defer { bytes = [] }
                return try taking(bytes[...])
            }
            try body.hold(bytes.count + piece.count)
            bytes += piece
        }
    }

    private func nextPiece() async throws -> [UInt8]? {
        guard let gunzip else { return try await body.next() }
        do {
            while true {
                if let piece = try gunzip.next() { return piece }
                guard let compressed = try await body.next() else {
                    try gunzip.finish()
                    return nil
                }
                gunzip.add(compressed)
            }
        } catch let failure as Gunzip.Failure {
            throw ProblemError(failure).at(line: number + 1)
        }
    }

    private mutating func taking(_ line: ArraySlice<UInt8>) throws -> [UInt8]? {
        // `start` is 0 only at the end: the body is empty, or ends with a line feed.
        if line.isEmpty, start == 0 { return nil }
        number += 1
        guard line.count <= limit else { throw tooLong(number) }
        return Self.isBlank(line) ? nil : Array(line)
    }

    static func isBlank(_ line: ArraySlice<UInt8>) -> Bool {
        line.allSatisfy { $0 == .space || $0 == .tab || $0 == .carriageReturn }
    }

    private func tooLong(_ number: Int) -> ProblemError {
        ProblemError(.tooLarge, "The line has more than \(limit) bytes, the most that a line may have.").at(
            line: number)
    }
}
