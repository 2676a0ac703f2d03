import CZlib

/// Decompresses a gzip body (RFC 1952) piece by piece. Of the decompressed bytes, memory holds only one piece at a
/// time.
public final class Gunzip {
    /// The error for bytes that are not gzip, or that end too early. `detail` is a clause about what is wrong.
    public struct Failure: Error { public let detail: String }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var input: [UInt8] = []
    private var position = 0
    /// Whether the bytes so far end with a complete gzip member. A gzip body consists of one or several members.
    private var isAtEnd = false

    /// The most bytes that one call of `next()` returns.
    private static let pieceSize = 64 * 1024

    public init() {
        stream.initialize(to: z_stream())
        // The argument 15 + 16 makes zlib use a window of 32 KB and expect a gzip header.
        let isReady = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(isReady == Z_OK, "zlib has no memory")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Adds compressed bytes. Before the call, the caller must have read all plain bytes of the bytes that were added
    /// earlier.
    public func add(_ bytes: [UInt8]) {
        input = bytes
        position = 0
    }

    /// Returns the next decompressed bytes: at least one byte and at most 64 KB. Returns `nil` if more compressed bytes
    /// are needed.
    ///
    /// - Throws: `Failure` if the compressed bytes are not gzip.
    public func next() throws(Failure) -> [UInt8]? {
        while true {
            // Even if zlib has read all compressed bytes, it may still hold decompressed bytes. So call it again,
            // unless a gzip member is complete and nothing follows.
            if isAtEnd {
                guard position < input.count else { return nil }
                inflateReset(stream)
                isAtEnd = false
            }
            let size = Self.pieceSize
            var result = Z_OK
            let piece = [UInt8](unsafeUninitializedCapacity: size) { output, count in
                input.withUnsafeMutableBufferPointer { input in
                    let rest = min(input.count - position, Int(UInt32.max))
                    stream.pointee.next_in = input.baseAddress.map { $0 + position }
                    stream.pointee.avail_in = UInt32(rest)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(size)
                    result = inflate(stream, Z_NO_FLUSH)
                    position += rest - Int(stream.pointee.avail_in)
                    count = size - Int(stream.pointee.avail_out)
                }
            }
            switch result {
            case Z_STREAM_END: isAtEnd = true
            case Z_OK: break
            case Z_BUF_ERROR where piece.isEmpty: return nil
            default: throw Failure(detail: stream.pointee.msg.map { String(cString: $0) } ?? "zlib's error \(result)")
            }
            if !piece.isEmpty { return piece }
        }
    }

    /// Ends the decompression. Throws an error if the added bytes do not end with a complete gzip member.
    public func finish() throws(Failure) {
        guard isAtEnd else { throw Failure(detail: "the compressed bytes end too early") }
    }
}
