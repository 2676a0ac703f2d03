import CMD

/// A SHA-256 digest (FIPS 180-4), which the library libmd computes.
///
/// Comparing two digests takes the same time wherever they differ. So an attacker cannot learn a secret from the time
/// of a comparison.
public struct SHA256Digest: Sendable, Equatable {
    /// The number of bytes in a SHA-256 digest.
    public static let byteCount = 32

    /// The bytes of the digest. Their number is ``byteCount``.
    public let bytes: [UInt8]

    /// Creates the digest of a message.
    ///
    /// - Complexity: O(bytes of the message).
    public init(of message: [UInt8]) {
        var context = SHA256_CTX()
        SHA256Init(&context)
        SHA256Update(&context, message, message.count)
        bytes = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            SHA256Final(buffer.baseAddress, &context)
            count = Self.byteCount
        }
    }

    /// Creates a digest from the 32 bytes of an existing digest. Returns `nil` if the number of bytes is not 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Returns whether two digests are equal, without stopping at the first difference.
    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        zip(left.bytes, right.bytes).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
