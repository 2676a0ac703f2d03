#if JWT
import BraidEngine
import BraidRuntime
import BraidSessions
import Foundation
import TestSupport
import Testing

@testable import BraidJWT

/// What no request shows; `Tests/Tokens` tests the rest, with the tokens of other libraries.
@Suite struct WebTokensTests {
    private static let secret = "a-secret-of-at-least-32-characters"

    /// Of a file with the secret, which is deleted at the end.
    private static func withTokens(
        _ clock: Clock = Clock(), mostKnown: Int = 10_000, mostBytes: Int = 8 << 20,
        _ body: (WebTokens, _ file: URL) throws -> Void
    ) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID().uuidString)")
        try secret.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let files = KeyFiles(jwks: nil, secret: file.path())
        try body(
            WebTokens(files, rules: TokenRules(), clock: clock, mostKnown: mostKnown, mostBytes: mostBytes), file)
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// HMAC (RFC 2104).
    private static func signed(_ message: String, with secret: String) -> String {
        let key = Array(secret.utf8) + Array(repeating: 0, count: 64 - secret.utf8.count)
        let inner = SHA256Digest(of: key.map { $0 ^ 0x36 } + Array(message.utf8)).bytes
        return "\(message).\(encoded(SHA256Digest(of: key.map { $0 ^ 0x5C } + inner).bytes))"
    }

    /// Expires in `seconds`.
    private static func token(_ user: String, in seconds: Int = 600, after clock: Clock = Clock()) -> PresentedToken {
        let claims = #"{"sub":"\#(user)","exp":\#(clock.now() / 1000 + seconds),"braid":{"role":"viewer"}}"#
        let message = "\(encoded(Array(#"{"alg":"HS256"}"#.utf8))).\(encoded(Array(claims.utf8)))"
        return PresentedToken(signed(message, with: secret))
    }

    @Test("However many tokens are sent, the cache has a bound in number and in bytes")
    func bounds() throws {
        try Self.withTokens(mostKnown: 100) { tokens, _ in
            for number in 0..<1_000 {
                let token = Self.token("\(number)")
                let verified = try tokens.verify(token)
                #expect(verified.grant.user.id == "\(number)")
                #expect(tokens.known(token) != nil && tokens.cached.tokens <= 100)
            }
        }
        try Self.withTokens(mostBytes: 10_000) { tokens, _ in
            for number in 0..<1_000 {
                _ = try tokens.verify(Self.token("\(number)"))
                #expect(tokens.cached.bytes <= 10_000)
            }
        }
    }

    @Test("A cached token is gone when it expires, and a refused one is never cached")
    func expiry() throws {
        let clock = Clock()
        try Self.withTokens(clock) { tokens, _ in
            let token = Self.token("kim", after: clock)
            #expect(tokens.known(token) == nil)
            _ = try tokens.verify(token)
            #expect(tokens.known(token) != nil)
            clock.set(to: clock.now() + 631_000)
            #expect(tokens.known(token) == nil)
            #expect(throws: TokenRefusal("exp")) { try tokens.verify(token) }
            #expect(tokens.cached.tokens == 1)
        }
    }

    @Test("Keys that are read again and are the same keep the cache; others empty it") func readingAgain() throws {
        try Self.withTokens { tokens, file in
            let token = Self.token("kim"), verified = try tokens.verify(token)
            let key = try #require(verified.key)
            #expect(try tokens.readKeys() == nil)
            #expect(tokens.known(token) != nil && tokens.hasKey(key))
            try String(Self.secret.reversed()).write(to: file, atomically: true, encoding: .utf8)
            #expect(try tokens.readKeys() == 1)
            #expect(tokens.known(token) == nil && !tokens.hasKey(key))
            #expect(throws: TokenRefusal("signature")) { try tokens.verify(token) }
        }
    }

    @Test("All tokens of one user have one id, and no two users have the same") func ids() throws {
        try Self.withTokens { tokens, _ in
            let first = try tokens.verify(Self.token("kim")), second = try tokens.verify(Self.token("kim", in: 700))
            let other = try tokens.verify(Self.token("sam"))
            #expect(first.id == second.id && other.id != first.id)
        }
    }

    @Test("A token with one changed, missing or further byte is refused") func mutations() throws {
        try Self.withTokens { tokens, _ in
            let text = Array(Self.token("kim").text.utf8)
            func isAccepted(_ bytes: [UInt8]) -> Bool {
                (try? tokens.verify(PresentedToken(String(decoding: bytes, as: UTF8.self)))) != nil
            }
            #expect(isAccepted(text))
            for index in text.indices {
                for byte in "A_.".utf8 where byte != text[index] {
                    #expect(!isAccepted(text[..<index] + [byte] + text[(index + 1)...]))
                    #expect(!isAccepted(text[..<index] + [byte] + text[index...]))
                }
                #expect(!isAccepted(Array(text[..<index]) + text[(index + 1)...]))
            }
        }
    }

    @Test("base64url has one text for each sequence of bytes") func base64() {
        for count in 0...4 {
            for last in UInt8.min...UInt8.max {
                let bytes = Array(repeating: 0xFB, count: count).dropLast() + (count > 0 ? [last] : [])
                #expect(Base64URL.bytes(Self.encoded(Array(bytes)).utf8) == Array(bytes))
                #expect(Base64URL.text(Array(bytes)) == Self.encoded(Array(bytes)))
            }
        }
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var texts: [[UInt8]: String] = [:]
        for first in digits {
            for second in digits {
                guard let bytes = Base64URL.bytes(String([first, second]).utf8) else { continue }
                #expect(texts.updateValue(String([first, second]), forKey: bytes) == nil)
            }
        }
        #expect(texts.count == 256)
        for wrong in ["A", "AAAAA", "AA==", "A+", "A/AA", "A A", "é", "AB"] {
            #expect(Base64URL.bytes(wrong.utf8) == nil)
        }
    }

    @Test("Whatever the text, its header and its signed claims are, a token is verified or refused for a named check")
    func anything() throws {
        var random = SeededGenerator(seed: 1)
        let values = [
            "null", "true", "1", "-1e400", "1e308", "4000000000", "-0.5", "9223372036854775807", #""kim""#,
            #""\u0000""#,
            #""viewer""#, #""HS256""#, #""none""#, "[]", "{}", #"["a",1]"#, #"{"role":"viewer","sessions":["a*"]}"#,
            #"{"role":"controller","claims":{"a":[{}]}}"#,
        ]
        let names = [
            "alg", "kid", "crit", "typ", "sub", "name", "exp", "nbf", "iat", "iss", "aud", "braid", "b\\u0061d",
        ]
        func object(_ random: inout SeededGenerator, _ start: [String]) -> String {
            let some = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                #""\#(names.randomElement(using: &random) ?? "")":\#(values.randomElement(using: &random) ?? "")"#
            }
            return
                "{\((start.filter { _ in Int.random(in: 0..<8, using: &random) > 0 } + some).joined(separator: ","))}"
        }
        try Self.withTokens { tokens, _ in
            var verified = 0
            for _ in 0..<5_000 {
                let header = object(&random, [#""alg":"HS256""#])
                let claims = object(
                    &random, [#""sub":"kim""#, #""exp":4000000000"#, #""braid":{"role":"viewer"}"#])
                var text = Self.signed(
                    "\(Self.encoded(Array(header.utf8))).\(Self.encoded(Array(claims.utf8)))", with: Self.secret)
                if Int.random(in: 0..<3, using: &random) == 0 {
                    var bytes = Array(text.utf8)
                    for _ in 0..<Int.random(in: 1...3, using: &random) {
                        let place = Int.random(in: 0..<bytes.count, using: &random)
                        bytes.replaceSubrange(
                            place..<min(bytes.count, place + Int.random(in: 0...2, using: &random)),
                            with: [UInt8.random(in: .min ... .max, using: &random)])
                    }
                    text = String(decoding: bytes, as: UTF8.self)
                }
                do throws(TokenRefusal) {
                    let token = try tokens.verify(PresentedToken(text))
                    #expect(token.grant.user.id?.isEmpty == false)
                    verified += 1
                } catch {
                    #expect(!error.check.isEmpty)
                }
            }
            #expect(verified > 500)
        }
    }
}
#endif
