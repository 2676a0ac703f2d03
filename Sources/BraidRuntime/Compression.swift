import CZlib
import CZstd
import Synchronization

/// A way to compress a body (RFC 9110, 8.4.1). Of two with the same weight, the server takes the first.
public enum ContentCoding: String, Sendable, CaseIterable {
    /// RFC 8878 and RFC 1952.
    case zstd, gzip

    /// A whole body. Takes a millisecond for each 50 to 200 KB.
    public func compress(_ bytes: [UInt8]) -> [UInt8] {
        let piece = BodyPiece(bytes, in: self)
        var frame = BodyFrame(self)
        return frame.opening(piece) + piece.bytes + frame.closing
    }

    // Measured with a snapshot of 331 KB (Benchmarks/NOTES.md, "Compression").
    fileprivate static let zstdLevel: Int32 = 7
    fileprivate static let gzipLevel: Int32 = 6
}

/// Plain or compressed independently, so that all streams can share an event's.
/// - zstd: a frame; a body is a sequence of frames (RFC 8878, 3).
/// - gzip: deflate blocks that end at a byte boundary and refer to no earlier byte (RFC 1951, 3.2). A body is one
///   member with the blocks of all pieces (RFC 1952, 2.2), because curl and browsers read only the first member.
package struct BodyPiece: Sendable {
    package let bytes: [UInt8]
    /// Of the plain bytes: a gzip body ends with its CRC-32 and size.
    fileprivate var checksum: UInt = 0
    fileprivate var plainSize = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Takes a millisecond for each 50 to 200 KB. Not for an event loop's thread.
    package init(_ plain: [UInt8], in coding: ContentCoding?) {
        switch coding {
        case _ where plain.isEmpty: bytes = []
        case nil: bytes = plain
        case .zstd: bytes = Self.zstdFrame(plain)
        case .gzip:
            bytes = Self.deflateBlocks(plain)
            checksum = plain.withUnsafeBufferPointer { crc32_z(0, $0.baseAddress, $0.count) }
            plainSize = plain.count
        }
    }

    private static func zstdFrame(_ plain: [UInt8]) -> [UInt8] {
        let limit = ZSTD_compressBound(plain.count)
        let frame = UnsafeMutableRawPointer.allocate(byteCount: limit, alignment: 1)
        defer { frame.deallocate() }
        let size = plain.withUnsafeBytes {
            ZSTD_compress(frame, limit, $0.baseAddress, $0.count, ContentCoding.zstdLevel)
        }
        // The buffer is large enough, so only memory can lack.
        precondition(ZSTD_isError(size) == 0, "libzstd has no memory")
        return Array(UnsafeRawBufferPointer(start: frame, count: size))
    }

    private static func deflateBlocks(_ plain: [UInt8]) -> [UInt8] {
        // No window need be larger than the input, and a small one needs little memory.
        let windowBits = min(15, max(9, Int32(Int.bitWidth - (plain.count + 262).leadingZeroBitCount)))
        // zlib stores the address of the `z_stream`, so it must not move.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        let isReady = deflateInit2_(
            stream, ContentCoding.gzipLevel, Z_DEFLATED, -windowBits, windowBits - 7, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        precondition(isReady == Z_OK, "zlib has no memory")
        defer { deflateEnd(stream) }
        // `deflateBound` is for a finished stream; a flush adds an empty block of 5 bytes.
        let limit = Int(deflateBound(stream, UInt(plain.count))) + 16
        let blocks = UnsafeMutablePointer<UInt8>.allocate(capacity: limit)
        defer { blocks.deallocate() }
        var output = [UInt8]()
        plain.withUnsafeBufferPointer { input in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            var rest = input.count
            repeat {
                let count = min(rest, Int(UInt32.max))
                stream.pointee.avail_in = UInt32(count)
                rest -= count
                repeat {
                    stream.pointee.next_out = blocks
                    stream.pointee.avail_out = UInt32(clamping: limit)
                    let room = Int(stream.pointee.avail_out)
                    deflate(stream, rest == 0 ? Z_SYNC_FLUSH : Z_NO_FLUSH)
                    output += UnsafeBufferPointer(start: blocks, count: room - Int(stream.pointee.avail_out))
                } while stream.pointee.avail_out == 0
            } while rest > 0
        }
        return output
    }
}

/// What gzip needs around the pieces of one body: header, last block, checksum and size.
struct BodyFrame {
    let coding: ContentCoding?
    private var isOpen = false
    private var checksum: UInt = 0
    private var plainSize = 0

    init(_ coding: ContentCoding?) { self.coding = coding }

    mutating func opening(_ piece: BodyPiece) -> [UInt8] {
        guard coding == .gzip else { return [] }
        checksum = crc32_combine(checksum, piece.checksum, piece.plainSize)
        plainSize += piece.plainSize
        defer { isOpen = true }
        return isOpen ? [] : Self.gzipHeader
    }

    var closing: [UInt8] {
        guard coding == .gzip else { return [] }
        let trailer = [UInt32(truncatingIfNeeded: checksum), UInt32(truncatingIfNeeded: plainSize)]
        return (isOpen ? [] : Self.gzipHeader) + Self.lastBlock
            + trailer.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }

    /// Deflate, without time and name, on an unknown system (RFC 1952, 2.3).
    private static let gzipHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    /// An empty block, marked as the last (RFC 1951, 3.2.6).
    private static let lastBlock: [UInt8] = [3, 0]
}

package struct PerCoding<Value: Sendable>: ~Copyable, Sendable {
    private let gzip = OnFirstUse<Value>()
    private let zstd = OnFirstUse<Value>()

    package init() {}

    package func value(for coding: ContentCoding, _ make: () -> Value) -> Value {
        switch coding {
        case .gzip: gzip.value(make)
        case .zstd: zstd.value(make)
        }
    }

    package func has(_ coding: ContentCoding) -> Bool {
        switch coding {
        case .gzip: gzip.isMade
        case .zstd: zstd.isMade
        }
    }
}

/// A value that is made without the lock, so that no thread waits for one of a lower priority. Several may make it;
/// the first result stays.
package struct OnFirstUse<Value: Sendable>: ~Copyable, Sendable {
    private let known = Mutex<Value?>(nil)

    package init() {}

    package func value(_ make: () -> Value) -> Value {
        if let value = known.withLock({ $0 }) { return value }
        let new = make()
        return known.withLock { known in
            let kept = known ?? new
            known = kept
            return kept
        }
    }

    package var isMade: Bool { known.withLock { $0 != nil } }
}

/// A body for several answers, compressed once for each coding.
package final class SharedBytes: Sendable {
    package let plain: [UInt8]
    private let compressed = PerCoding<[UInt8]>()

    package init(_ plain: [UInt8]) { self.plain = plain }

    package func body(in coding: ContentCoding?) -> [UInt8] {
        guard let coding else { return plain }
        return compressed.value(for: coding) { coding.compress(plain) }
    }

    package func hasBody(in coding: ContentCoding) -> Bool { compressed.has(coding) }
}
