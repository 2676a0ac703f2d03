#if JWT
import BraidEngine
import BraidRuntime
import BraidSessions

/// A token's parts (RFC 7515, 7.1), not verified yet.
struct WebToken {
    let algorithm: Algorithm
    /// `kid`.
    let keyID: String?
    let claims: JSONText
    let signature: [UInt8]
    /// What is signed.
    let message: [UInt8]

    /// What fits a header of `--max-header-bytes`, with room for the other fields.
    private static let mostBytes = 16 << 10
    private static let depthLimit = 32

    /// RFC 8725, 2 and 3. Nothing that the header refers to is read: neither `jku` nor `x5u` nor `jwk`.
    init(_ text: String) throws(TokenRefusal) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.mostBytes else { throw TokenRefusal("size") }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw TokenRefusal("format") }
        let header = try Self.object(parts[0])
        guard let name = header["alg"]?.stringValue, let algorithm = Algorithm(named: name) else {
            throw TokenRefusal("alg")
        }
        // No extension is known, and one that is not understood must be refused (RFC 7515, 4.1.11).
        guard header["crit"] == nil else { throw TokenRefusal("crit") }
        // Tokens for other purposes have other types (RFC 8725, 3.11).
        if let type = header["typ"] {
            guard let type = type.stringValue?.lowercased(),
                ["jwt", "at+jwt"].contains(type.hasPrefix("application/") ? String(type.dropFirst(12)) : type)
            else { throw TokenRefusal("typ") }
        }
        if let keyID = header["kid"], keyID.kind != .string { throw TokenRefusal("kid") }
        guard let signature = Base64URL.bytes(parts[2]) else { throw TokenRefusal("base64url") }
        self.algorithm = algorithm
        keyID = header["kid"]?.stringValue
        claims = try Self.object(parts[1])
        self.signature = signature
        message = Array(bytes[..<parts[1].endIndex])
    }

    /// Two of a member are refused, too (RFC 8725, 3.10; RFC 7519, 4).
    private static func object(_ part: ArraySlice<UInt8>) throws(TokenRefusal) -> JSONText {
        guard let bytes = Base64URL.bytes(part) else { throw TokenRefusal("base64url") }
        guard let text = try? JSONText(parsing: bytes, depthLimit: depthLimit), text.kind == .object else {
            throw TokenRefusal("json")
        }
        return text
    }
}
#endif
