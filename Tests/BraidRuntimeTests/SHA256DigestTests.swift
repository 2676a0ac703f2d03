import BraidRuntime
import Testing

@Suite struct SHA256DigestTests {
    private static func hexadecimal(_ digest: SHA256Digest) -> String {
        digest.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test(
        "The digests of the examples in FIPS 180-4 are correct",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func examples(message: String, digest: String) {
        #expect(Self.hexadecimal(SHA256Digest(of: Array(message.utf8))) == digest)
    }

    @Test("Digests that differ in one bit are not equal")
    func oneBit() throws {
        let digest = SHA256Digest(of: [1, 2, 3])
        for place in 0..<8 * SHA256Digest.byteCount {
            var bytes = digest.bytes
            bytes[place / 8] ^= 1 << (place % 8)
            #expect(try #require(SHA256Digest(bytes: bytes)) != digest)
        }
        #expect(SHA256Digest(bytes: digest.bytes) == digest)
    }

    @Test("31 or 33 bytes are not a SHA-256 digest")
    func wrongLength() {
        #expect(SHA256Digest(bytes: Array(repeating: 0, count: 31)) == nil)
        #expect(SHA256Digest(bytes: Array(repeating: 0, count: 33)) == nil)
    }
}
