import BraidRuntime
import Synchronization
import TestSupport
import Testing

@Suite struct CompressionTests {
    /// Of each size a repetitive and a random one.
    private static let samples: [[UInt8]] = {
        var random = SeededGenerator(seed: 5)
        return [1, 2, 100, 249, 250, 1_000, 65_535, 65_536, 300_000].flatMap { size -> [[UInt8]] in
            [
                (0..<size).map { UInt8(ascii: "a") + UInt8($0 % 7) },
                (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) },
            ]
        }
    }()

    @Test("Decompressing a compressed body returns the same bytes", arguments: ContentCoding.allCases)
    func roundTrip(coding: ContentCoding) throws {
        for sample in Self.samples {
            let body = coding.compress(sample)
            #expect(try decompressed(body, coding.rawValue) == sample, "\(sample.count) bytes")
            #expect(body.count < sample.count * 1_001 / 1_000 + 64, "\(sample.count) bytes")
        }
        let text = Array(repeating: Array("a row of a table, and ".utf8), count: 1_000).flatMap { $0 }
        #expect(coding.compress(text).count < text.count / 50)
    }

    @Test("Pieces that were compressed alone form one body, in any order", arguments: ContentCoding.allCases)
    func pieces(coding: ContentCoding) throws {
        let shared = Self.samples.prefix(12).map { (plain: $0, piece: BodyPiece($0, in: coding)) }
        var random = SeededGenerator(seed: 9)
        for _ in 0..<20 {
            let stream = ByteStream(limit: 1 << 24), decompressor = try Decompressor(coding.rawValue)
            stream.encode(in: coding)
            var plain: [UInt8] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                guard let sample = shared.randomElement(using: &random) else { continue }
                plain += sample.plain
                #expect(stream.write(sample.piece) == .accepted)
                // Before the next piece exists.
                #expect(try decompressor.add(Array(stream.take().pieces.joined())) == sample.plain)
            }
            stream.write(Array("the end".utf8))
            stream.finish()
            let taken = stream.take()
            #expect(try decompressor.add(Array(taken.pieces.joined())) == Array("the end".utf8))
            #expect(decompressor.isComplete && taken.isLast)
            #expect(taken.bytes == taken.pieces.reduce(0) { $0 + $1.count })
        }
    }

    @Test("A compressed stream is complete when its producer or the server ends it, even if it contains no piece")
    func endedStreams() throws {
        for coding in ContentCoding.allCases {
            for end in [ByteStream.finish, ByteStream.endFromServer] {
                let stream = ByteStream()
                stream.encode(in: coding)
                stream.write([1, 2, 3])
                end(stream)()
                end(stream)()
                #expect(try decompressed(Array(stream.take().pieces.joined()), coding.rawValue) == [1, 2, 3])
            }
        }
        let empty = ByteStream()
        empty.encode(in: .gzip)
        empty.finish()
        #expect(try decompressed(Array(empty.take().pieces.joined()), "gzip") == [])
    }

    @Test("A stream starts its producer once, when the stream is attached, and never after the stream has ended")
    func producersStart() {
        let started = Mutex(0)
        let stream = ByteStream()
        stream.onAttach { started.withLock { $0 += 1 } }
        #expect(started.withLock { $0 } == 0)
        stream.attach {}
        stream.attach {}
        #expect(started.withLock { $0 } == 1)
        let closed = ByteStream()
        closed.onAttach { started.withLock { $0 += 1 } }
        closed.close()
        closed.onAttach { started.withLock { $0 += 1 } }
        closed.attach {}
        #expect(started.withLock { $0 } == 1)
    }

    @Test("Shared bytes are compressed only once for each coding")
    func sharedBytes() {
        let bytes = SharedBytes(Self.samples[0])
        for coding in ContentCoding.allCases {
            #expect(!bytes.hasBody(in: coding))
            let body = bytes.body(in: coding)
            #expect(bytes.hasBody(in: coding))
            let place = body.withUnsafeBufferPointer { $0.baseAddress }
            #expect(bytes.body(in: coding).withUnsafeBufferPointer { $0.baseAddress } == place)
        }
        #expect(bytes.body(in: nil) == Self.samples[0])
    }

    @Test("Making the value of a coding blocks no one who needs the same value, and the first one made is kept")
    func madeOutsideOfTheLock() {
        let values = PerCoding<Int>()
        let value = values.value(for: .gzip) {
            #expect(values.value(for: .gzip) { 1 } == 1)
            return 2
        }
        #expect(value == 1 && values.value(for: .gzip) { 3 } == 1 && !values.has(.zstd))
    }

    // MARK: Gunzip

    /// In pieces of `size` bytes.
    private func unpacked(_ body: [UInt8], by size: Int) throws -> [UInt8] {
        let gunzip = Gunzip()
        var plain: [UInt8] = []
        for start in stride(from: 0, to: body.count, by: size) {
            gunzip.add(Array(body[start..<min(start + size, body.count)]))
            while let piece = try gunzip.next() {
                #expect(!piece.isEmpty && piece.count <= 64 * 1024)
                plain += piece
            }
        }
        try gunzip.finish()
        return plain
    }

    @Test("A gzip body can arrive in pieces of any size, and can consist of several members")
    func gunzip() throws {
        for sample in Self.samples where sample.count < 70_000 {
            for body in [gzipMember(sample), ContentCoding.gzip.compress(sample)] {
                for size in [1, 7, 64 * 1024, .max / 2] { #expect(try unpacked(body, by: size) == sample) }
            }
        }
        let members = [[1], [], Self.samples[6], []].flatMap { gzipMember($0) }
        for size in [1, 1_000, 1 << 20] { #expect(try unpacked(members, by: size) == [1] + Self.samples[6]) }
    }

    @Test("A gzip body that is cut off or damaged anywhere causes an error")
    func faultyGzip() {
        let plain = Array("one two three one two three".utf8), body = gzipMember(plain)
        for count in 0..<body.count {
            #expect(throws: Gunzip.Failure.self, "cut after \(count)") { try unpacked(Array(body[..<count]), by: 64) }
        }
        for place in body.indices {
            for bit in 0..<8 {
                var damaged = body
                damaged[place] ^= 1 << bit
                // Some bits do not matter, such as those of the time in the gzip header.
                let unpacked = try? unpacked(damaged, by: 64)
                #expect(unpacked == nil || unpacked == plain, "byte \(place)")
                if place >= body.count - 8 { #expect(unpacked == nil, "the checksum and the size") }
            }
        }
        #expect(throws: Gunzip.Failure.self) { try unpacked(body + [0], by: 64) }
    }

    @Test("A decompression bomb is decompressed in pieces of 64 KB")
    func bomb() throws {
        let bomb = gzipMember([UInt8](repeating: 0, count: 8 << 20))
        let gunzip = Gunzip()
        gunzip.add(bomb)
        #expect(bomb.count < 10_000)
        #expect(try gunzip.next()?.count == 64 * 1024)
    }
}
