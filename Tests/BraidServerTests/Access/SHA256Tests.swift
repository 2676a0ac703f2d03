import Testing

@testable import BraidServer

@Suite struct SHA256Tests {
    /// FIPS 180-4's examples, as NIST's "Cryptographic Standards and Guidelines: Examples with Intermediate Values" has them.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func theStandardsExamplesHaveTheirDigests(message: String, digest: String) {
        #expect(SHA256.digest(of: message.utf8).hexadecimal == digest)
    }

    /// Python: sha256(b"".join(sha256(bytes(i % 251 for i in range(n))).digest() for n in range(300)))
    @Test func messagesOfEveryLengthUpTo299BytesHaveTheDigestsThatPythonGivesThem() {
        let digests = (0..<300).flatMap { length in SHA256.digest(of: (0..<length).map { UInt8($0 % 251) }) }
        #expect(SHA256.digest(of: digests).hexadecimal == "fa70b867db0a30acb7218d62945db0df52eb393808b30675ea9aac6b058a9a9d")
    }

    @Test func theComparisonIsTrueOfEqualBytesOnly() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
        for other: [UInt8] in [[], [1, 2], [1, 2, 4], [0, 2, 3], [1, 2, 3, 0]] { #expect(!constantTimeEqual([1, 2, 3], other)) }
    }
}
