#if os(Linux)
import CZlib
import CZstd

/// As it arrives. A second gzip member is an error: some browsers read only the first.
public final class Decompressor {
    public struct Failure: Error {
        public let detail: String
    }

    private let gzip: UnsafeMutablePointer<z_stream>?
    private let zstd: OpaquePointer?
    public private(set) var isComplete = false

    /// As in `Content-Encoding`; `nil`: plain.
    public init(_ coding: String?) throws {
        switch coding {
        case "gzip":
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            (gzip, zstd) = (stream, nil)
        case "zstd": (gzip, zstd) = (nil, ZSTD_createDStream())
        case nil: (gzip, zstd, isComplete) = (nil, nil, true)
        case let other?:
            (gzip, zstd) = (nil, nil)
            throw Failure(detail: "the coding \(other)")
        }
    }

    deinit {
        if let gzip {
            inflateEnd(gzip)
            gzip.deallocate()
        }
        if let zstd { ZSTD_freeDStream(zstd) }
    }

    /// Returns what can be decompressed now.
    public func add(_ bytes: [UInt8]) throws -> [UInt8] {
        if bytes.isEmpty { return [] }
        if let gzip { return try inflated(bytes, gzip) }
        if let zstd { return try unframed(bytes, zstd) }
        return bytes
    }

    private func inflated(_ bytes: [UInt8], _ stream: UnsafeMutablePointer<z_stream>) throws -> [UInt8] {
        var bytes = bytes, plain: [UInt8] = [], piece = [UInt8](repeating: 0, count: 1 << 16)
        guard !isComplete else { throw Failure(detail: "bytes after the end of the member") }
        try bytes.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            var result = Z_OK, count = 0
            repeat {
                piece.withUnsafeMutableBufferPointer { output in
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(output.count)
                    result = inflate(stream, Z_SYNC_FLUSH)
                    count = output.count - Int(stream.pointee.avail_out)
                }
                plain += piece[..<count]
                guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(result) else {
                    throw Failure(detail: "zlib's error \(result)")
                }
            } while result == Z_OK && (stream.pointee.avail_in > 0 || count == piece.count)
            isComplete = result == Z_STREAM_END
            guard stream.pointee.avail_in == 0 else { throw Failure(detail: "bytes after the end of the member") }
        }
        return plain
    }

    private func unframed(_ bytes: [UInt8], _ stream: OpaquePointer) throws -> [UInt8] {
        var plain: [UInt8] = [], piece = [UInt8](repeating: 0, count: ZSTD_DStreamOutSize())
        try bytes.withUnsafeBytes { source in
            var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0), count = 0
            repeat {
                try piece.withUnsafeMutableBytes { target in
                    var output = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
                    let result = ZSTD_decompressStream(stream, &output, &input)
                    guard ZSTD_isError(result) == 0 else {
                        throw Failure(detail: String(cString: ZSTD_getErrorName(result)))
                    }
                    isComplete = result == 0
                    count = output.pos
                }
                plain += piece[..<count]
            } while input.pos < input.size || count == piece.count && !isComplete
        }
        return plain
    }
}

/// Of a complete body.
public func decompressed(_ bytes: [UInt8], _ coding: String?) throws -> [UInt8] {
    let decompressor = try Decompressor(coding), plain = try decompressor.add(bytes)
    guard decompressor.isComplete else { throw Decompressor.Failure(detail: "the body is not complete") }
    return plain
}

/// As clients compress a body.
public func gzipMember(_ bytes: [UInt8]) -> [UInt8] {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    deflateInit2_(
        stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(stream) }
    var input = bytes, output = [UInt8](repeating: 0, count: Int(deflateBound(stream, UInt(bytes.count))) + 32)
    let room = output.count
    input.withUnsafeMutableBufferPointer { input in
        output.withUnsafeMutableBufferPointer { output in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            stream.pointee.next_out = output.baseAddress
            stream.pointee.avail_out = UInt32(room)
            deflate(stream, Z_FINISH)
        }
    }
    return Array(output.prefix(room - Int(stream.pointee.avail_out)))
}
#endif
