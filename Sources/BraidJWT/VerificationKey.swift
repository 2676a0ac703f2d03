#if JWT
import BraidRuntime
internal import CCrypto

/// A key for one algorithm (RFC 8725, 3.1). `@unchecked`: OpenSSL verifies with one key in several threads, and nothing
/// changes it.
final class VerificationKey: @unchecked Sendable {
    /// `kid`.
    let id: String?
    let algorithm: Algorithm
    let fingerprint: SHA256Digest
    private let material: Material

    private enum Material {
        case secret([UInt8])
        case publicKey(OpaquePointer)
    }

    private init(id: String?, algorithm: Algorithm, material: Material, _ bytes: [UInt8]...) {
        (self.id, self.algorithm, self.material) = (id, algorithm, material)
        // The lengths, so that other parts with the same bytes are another key.
        let parts = bytes.map { Array("\($0.count) ".utf8) + $0 }
        fingerprint = SHA256Digest(of: Array(algorithm.rawValue.utf8) + parts.joined())
    }

    deinit {
        if case .publicKey(let key) = material { EVP_PKEY_free(key) }
    }

    private static let isPrepared: Void = ccrypto_prepare()

    // MARK: Kinds

    init(secret: [UInt8]) {
        (id, algorithm, material) = (nil, .hs256, .secret(secret))
        fingerprint = SHA256Digest(of: Array("HS256 ".utf8) + secret)
    }

    /// Big-endian. `nil` below 2,048 bits (RFC 7518, 3.3), or if it is no key.
    convenience init?(id: String?, algorithm: Algorithm, modulus: [UInt8], exponent: [UInt8]) {
        Self.isPrepared
        defer { ERR_clear_error() }
        guard !modulus.isEmpty, modulus.count <= 2_048, (1...8).contains(exponent.count),
            exponent.last.map({ $0 & 1 }) == 1,
            let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        else { return nil }
        defer { BN_free(n) }
        guard let e = BN_bin2bn(exponent, Int32(exponent.count), nil) else { return nil }
        defer { BN_free(e) }
        guard BN_num_bits(n) >= 2_048, BN_num_bits(e) >= 2,
            let key = ccrypto_rsa_key(n, e)
        else { return nil }
        self.init(id: id, algorithm: algorithm, material: .publicKey(key), modulus, exponent)
    }

    /// P-256. `nil` if it is not on the curve.
    convenience init?(id: String?, x: [UInt8], y: [UInt8]) {
        Self.isPrepared
        defer { ERR_clear_error() }
        guard x.count == 32, y.count == 32 else { return nil }
        let point = [0x04] + x + y
        guard let key = ccrypto_p256_key(point, point.count) else { return nil }
        self.init(id: id, algorithm: .es256, material: .publicKey(key), x, y)
    }

    convenience init?(id: String?, ed25519 x: [UInt8]) {
        Self.isPrepared
        guard x.count == 32, let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, x, x.count) else {
            return nil
        }
        self.init(id: id, algorithm: .edDSA, material: .publicKey(key), x)
    }

    // MARK: Signatures

    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        switch material {
        case .secret(let secret):
            var code = [UInt8](repeating: 0, count: SHA256Digest.byteCount), count: UInt32 = 0
            guard HMAC(EVP_sha256(), secret, Int32(secret.count), message, message.count, &code, &count) != nil else {
                return false
            }
            // In constant time.
            return signature.count == code.count && CRYPTO_memcmp(signature, code, code.count) == 0
        case .publicKey(let key):
            guard let signature = algorithm == .es256 ? Self.der(signature) : signature else { return false }
            return verify(signature, message, key)
        }
    }

    private func verify(_ signature: [UInt8], _ message: [UInt8], _ key: OpaquePointer) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        var padding: OpaquePointer?
        guard EVP_DigestVerifyInit_ex(context, &padding, algorithm.digest, nil, nil, key, nil) == 1 else {
            return false
        }
        if algorithm.isPSS {
            guard EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// OpenSSL reads r and s as DER; here they are 32 bytes each (RFC 7518, 3.4).
    private static func der(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let r = BN_bin2bn(Array(signature[..<32]), 32, nil), s = BN_bin2bn(Array(signature[32...]), 32, nil)
        guard ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        // The pair owns r and s from here on.
        let count = i2d_ECDSA_SIG(pair, nil)
        guard count > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, written in
            var next = buffer.baseAddress
            written = max(0, Int(i2d_ECDSA_SIG(pair, &next)))
        }
    }
}
#endif
