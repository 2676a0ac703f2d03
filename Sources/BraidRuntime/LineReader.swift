import Glibc

/// Reads a file line by line. Keeps a line and at most 64 KiB more in memory.
package final class LineReader {
    private let descriptor: CInt
    private let ownsDescriptor: Bool
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    package private(set) var bytesRead = 0

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Bytes. Refuses files that have no lines at all. A line may exceed it by 64 KiB.
    package static let longestLine = 1 << 30

    /// `-` is the standard input.
    package init(_ path: String) throws(Failure) {
        ownsDescriptor = path != "-"
        descriptor = ownsDescriptor ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO
        guard descriptor >= 0 else { throw Failure(description: String(cString: strerror(errno))) }
    }

    deinit {
        if ownsDescriptor { close(descriptor) }
    }

    /// 0 for a pipe.
    package var size: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The next line without its line feed. `nil` at the end.
    package func next() throws(Failure) -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            if isAtEnd {
                defer { start = buffer.count }
                return start == buffer.count ? nil : Array(buffer[start...])
            }
            buffer.removeSubrange(..<start)
            start = 0
            searched = buffer.count
            guard searched <= Self.longestLine else {
                throw Failure(description: "A line is longer than \(Self.longestLine) bytes")
            }
            try readPiece()
        }
    }

    private func readPiece() throws(Failure) {
        let length = buffer.count, piece = 64 << 10
        buffer.append(contentsOf: repeatElement(0, count: piece))
        let count = buffer.withUnsafeMutableBytes { bytes in
            Files.read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: bytes[length...]))
        }
        let error = errno
        buffer.removeLast(piece - max(0, count))
        guard count >= 0 else { throw Failure(description: String(cString: strerror(error))) }
        bytesRead += count
        isAtEnd = count == 0
    }
}
