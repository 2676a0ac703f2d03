import BraidRuntime

/// Fuzzes the decompression of request bodies. The first byte of the input decides how the other bytes are cut into
/// pieces.
///
/// The plain bytes and the verdict about the body must not depend on the pieces. If the server compresses the input,
/// decompression must return the input.
func fuzzGzip(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let bytes = Array(input.dropFirst())
    let whole = Decompressed(bytes, piece: max(1, bytes.count))
    for size in [1, 2 + Int(first)] {
        let cut = Decompressed(bytes, piece: size)
        claim(cut.isFaulty == whole.isFaulty, "the pieces decide whether the body is gzip")
        // If a piece contains a fault, the plain bytes before the fault can be lost. So only the plain bytes that both
        // runs have returned are compared.
        let common = min(cut.plain.count, whole.plain.count)
        claim(cut.plain.prefix(common) == whole.plain.prefix(common), "the pieces change the plain bytes")
        claim(whole.isFaulty || cut.plain.count == whole.plain.count, "plain bytes are lost between two pieces")
    }
    let again = Decompressed(ContentCoding.gzip.compress(input), piece: 7)
    claim(!again.isFaulty && again.plain == input, "the compressed input is decompressed to other bytes")
}

private struct Decompressed {
    var plain: [UInt8] = []
    var isFaulty = false

    init(_ bytes: [UInt8], piece size: Int) {
        let gunzip = Gunzip()
        do {
            for start in stride(from: 0, to: bytes.count, by: size) {
                gunzip.add(Array(bytes[start..<min(bytes.count, start + size)]))
                while let piece = try gunzip.next() {
                    claim(!piece.isEmpty && piece.count <= 64 * 1024, "a piece has \(piece.count) bytes")
                    plain += piece
                }
            }
            try gunzip.finish()
        } catch {
            isFaulty = true
        }
    }
}
