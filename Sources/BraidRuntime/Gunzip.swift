import CZlib

/// Decompresses gzip (RFC 1952), piece by piece.
///
/// ```swift
/// gunzip.add(bytes)
/// while let piece = try gunzip.next() { … }
/// try gunzip.finish()
/// ```
public final class Gunzip {
    /// The bytes are no gzip. `detail` says why, as a clause.
    public struct Failure: Error { public let detail: String }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var input: [UInt8] = []
    private var position = 0
    /// A member has ended; a body has one or several.
    private var isAtEnd = false

    private static let pieceSize = 64 * 1024

    /// Begins before the first byte of a body.
    public init() {
        stream.initialize(to: z_stream())
        // 15 + 16: a window of 32 KB and a gzip header.
        let isReady = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(isReady == Z_OK, "zlib has no memory")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Gives it the next compressed bytes, when `next` has returned `nil`.
    public func add(_ bytes: [UInt8]) {
        input = bytes
        position = 0
    }

    /// The next plain bytes, at most 64 KB. `nil` if it needs more input.
    public func next() throws(Failure) -> [UInt8]? {
        while true {
            // zlib may hold bytes even when it has read all input.
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

    /// Throws if the input has ended within a member.
    public func finish() throws(Failure) {
        guard isAtEnd else { throw Failure(detail: "the compressed bytes end too early") }
    }
}
