#if JWT
import BraidEngine
import BraidRuntime

/// A file that cannot be used.
struct KeyFileError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// `--jwks` and `--jwt-secret-file`.
package struct KeyFiles: Sendable {
    let jwks: String?
    let secret: String?

    package init(jwks: String?, secret: String?) {
        self.jwks = jwks
        self.secret = secret
    }

    private static let mostBytes = 1 << 20
    private static let mostKeys = 100
    /// RFC 7518, 3.2.
    private static let leastSecretBytes = 32

    func keys() throws -> [VerificationKey] {
        var keys: [VerificationKey] = []
        if let jwks { keys += try Self.keys(of: jwks) }
        if let secret { keys += try Self.secrets(of: secret) }
        return keys
    }

    private static func bytes(of file: String, _ what: String) throws(KeyFileError) -> [UInt8] {
        guard let bytes = Files.bytes(of: file) else { throw KeyFileError("The \(what) \(file) \(Files.failure).") }
        guard bytes.count <= mostBytes else { throw KeyFileError("The \(what) \(file) is longer than 1 MiB.") }
        return bytes
    }

    // MARK: Secrets

    /// As a token file: one word, or two in two lines while the secret is being replaced.
    private static func secrets(of file: String) throws(KeyFileError) -> [VerificationKey] {
        let lines = try bytes(of: file, "secret file").split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .map { $0.split(separator: UInt8(ascii: " ")) }.filter { !$0.isEmpty }
        let secrets = lines.joined()
        guard (1...2).contains(lines.count), secrets.count == lines.count,
            secrets.joined().allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw KeyFileError(
                "The secret file \(file) must contain one word of visible ASCII characters, or two in two lines. `openssl rand -hex 32` prints such a secret."
            )
        }
        guard secrets.allSatisfy({ $0.count >= leastSecretBytes }) else {
            throw KeyFileError(
                "The secret file \(file) has a secret of fewer than \(leastSecretBytes) characters, which can be guessed. `openssl rand -hex 32` prints a longer one."
            )
        }
        return secrets.map { VerificationKey(secret: Array($0)) }
    }

    // MARK: Public keys

    /// RFC 7517. Keys for other purposes or algorithms are ignored (section 5).
    private static func keys(of file: String) throws(KeyFileError) -> [VerificationKey] {
        let name = "The key file \(file)", text: JSONText
        do {
            text = try JSONText(parsing: bytes(of: file, "key file"), depthLimit: 16)
        } catch let error as JSONError {
            throw KeyFileError(
                "\(name) is not valid JSON: line \(error.line), column \(error.column): \(error.message).")
        } catch {
            throw error as? KeyFileError ?? KeyFileError("\(name): \(error)")
        }
        guard let list = text["keys"]?.elements() else {
            throw KeyFileError("\(name) must be a JSON Web Key Set: {\"keys\": […]}.")
        }
        guard list.count <= mostKeys else { throw KeyFileError("\(name) has more than \(mostKeys) keys.") }
        var keys: [VerificationKey] = []
        for (index, jwk) in list.enumerated() {
            do throws(KeyFileError) {
                if let key = try key(jwk) { keys.append(key) }
            } catch {
                throw KeyFileError("\(name): key \(index) \(error).")
            }
        }
        guard !keys.isEmpty else {
            throw KeyFileError("\(name) has no key for signatures with RSA, P-256 or Ed25519.")
        }
        let ids = keys.compactMap(\.id)
        guard keys.count == 1 || ids.count == keys.count, Set(ids).count == ids.count else {
            throw KeyFileError("\(name) has several keys, so each needs a \"kid\" of its own.")
        }
        return keys
    }

    /// `nil` if it is not for us. Errors continue "key 3 …".
    private static func key(_ jwk: JSONText) throws(KeyFileError) -> VerificationKey? {
        guard jwk.kind == .object else { throw KeyFileError("is not an object") }
        guard jwk["d"] == nil, jwk["k"] == nil else {
            throw KeyFileError(
                "is secret: the file must have public keys only, and a secret for HS256 belongs in --jwt-secret-file")
        }
        if let use = jwk["use"], use.stringValue != "sig" { return nil }
        if let uses = jwk["key_ops"]?.elements(), !uses.contains(where: { $0.stringValue == "verify" }) { return nil }
        let id = try string("kid", of: jwk)
        var named: Algorithm?
        if let name = try string("alg", of: jwk) {
            guard let known = Algorithm(named: name) else { return nil }
            named = known
        }
        func bytes(_ member: String) throws(KeyFileError) -> [UInt8] {
            guard let bytes = try string(member, of: jwk).flatMap({ Base64URL.bytes($0.utf8) }) else {
                throw KeyFileError("needs \"\(member)\" in base64url")
            }
            return bytes
        }
        let key: VerificationKey?
        switch (try string("kty", of: jwk), try string("crv", of: jwk)) {
        case ("RSA", _) where named?.isRSA != false:
            key = VerificationKey(
                id: id, algorithm: named ?? .rs256, modulus: try bytes("n"), exponent: try bytes("e"))
        case ("EC", "P-256") where named == nil || named == .es256:
            key = VerificationKey(id: id, x: try bytes("x"), y: try bytes("y"))
        case ("OKP", "Ed25519") where named == nil || named == .edDSA:
            key = VerificationKey(id: id, ed25519: try bytes("x"))
        case ("RSA", _), ("EC", "P-256"), ("OKP", "Ed25519"):
            throw KeyFileError("has an \"alg\" that does not fit its \"kty\"")
        default: return nil
        }
        guard let key else {
            throw KeyFileError("is no valid public key (RSA needs at least 2,048 bits)")
        }
        return key
    }

    private static func string(_ member: String, of jwk: JSONText) throws(KeyFileError) -> String? {
        guard let value = jwk[member] else { return nil }
        guard let text = value.stringValue else { throw KeyFileError("has a \"\(member)\" that is no string") }
        return text
    }
}
#endif
