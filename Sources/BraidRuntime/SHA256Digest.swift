import CMD

/// FIPS 180-4, by libmd. Compared in constant time, which tells nothing of a secret.
package struct SHA256Digest: Sendable, Equatable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    package init(of message: [UInt8]) {
        var context = SHA256_CTX()
        SHA256Init(&context)
        SHA256Update(&context, message, message.count)
        bytes = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            SHA256Final(buffer.baseAddress, &context)
            count = Self.byteCount
        }
    }

    /// The HMAC of a message (RFC 2104). The key has at most 64 bytes.
    package init(authenticating message: [UInt8], key: [UInt8]) {
        let block = key + [UInt8](repeating: 0, count: max(0, 64 - key.count))
        let inner = SHA256Digest(of: block.map { $0 ^ 0x36 } + message)
        self.init(of: block.map { $0 ^ 0x5C } + inner.bytes)
    }

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    package static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        zip(left.bytes, right.bytes).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
