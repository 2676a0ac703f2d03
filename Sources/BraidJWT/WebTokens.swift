#if JWT
import BraidRuntime
import BraidSessions
import Synchronization

/// Verifies JSON Web Tokens (RFC 7519, by the rules of RFC 8725), and caches verified ones until they expire.
package final class WebTokens: SignedTokens {
    private struct State {
        var keys: [VerificationKey]
        /// By the digest of the text.
        var known: [[UInt8]: AccessToken] = [:]
        /// Of the texts, which are longer than what is kept of them.
        var bytes = 0
    }

    private let source: KeyFiles
    private let rules: TokenRules
    private let clock: Clock
    private let state: Mutex<State>
    private let reading = Mutex(())
    private let mostKnown: Int
    private let mostBytes: Int

    /// Throws if a file cannot be used. Caches at most `mostKnown` tokens with `mostBytes`.
    package init(
        _ source: KeyFiles, rules: TokenRules, clock: Clock, mostKnown: Int = 10_000, mostBytes: Int = 8 << 20
    ) throws {
        (self.source, self.rules, self.clock) = (source, rules, clock)
        (self.mostKnown, self.mostBytes) = (mostKnown, mostBytes)
        state = Mutex(State(keys: try source.keys()))
    }

    // MARK: Tokens

    package func known(_ presented: PresentedToken) -> AccessToken? {
        guard let token = state.withLock({ $0.known[presented.digest.bytes] }), clock.now() < token.expires else {
            return nil
        }
        return token
    }

    package func verify(_ presented: PresentedToken) throws(TokenRefusal) -> AccessToken {
        if let token = known(presented) { return token }
        let web = try WebToken(presented.text)
        let usable = try usable(for: web)
        guard let key = usable.first(where: { $0.verifies(web.signature, of: web.message) }) else {
            throw TokenRefusal("signature")
        }
        let granted = try rules.granted(web.claims, now: clock.now())
        // One person has one share of the server, with however many tokens.
        let issuer = web.claims["iss"]?.stringValue ?? ""
        let person = SHA256Digest(of: Array("\(issuer.utf8.count) \(issuer)\(granted.grant.user.id ?? "")".utf8))
        let token = AccessToken(
            signed: presented, id: "jwt-" + person.bytes.prefix(12).hexadecimal, grant: granted.grant,
            expires: granted.expires, key: key.fingerprint)
        keep(token, presented)
        return token
    }

    /// The keys that can have signed the token: at most two, of which only secrets are two. The algorithm is the key's
    /// (RFC 8725, 3.1), the token only names it.
    private func usable(for web: WebToken) throws(TokenRefusal) -> [VerificationKey] {
        let keys = state.withLock(\.keys)
        if let id = web.keyID, let named = keys.first(where: { $0.id == id }) {
            guard named.algorithm == web.algorithm else { throw TokenRefusal("alg") }
            return [named]
        }
        let fitting = keys.filter { $0.algorithm == web.algorithm }
        guard !fitting.isEmpty else { throw TokenRefusal("alg") }
        let usable = web.keyID == nil && fitting.count == 1 ? fitting : fitting.filter { $0.id == nil }
        guard !usable.isEmpty else { throw TokenRefusal("kid") }
        return usable
    }

    private func keep(_ token: AccessToken, _ presented: PresentedToken) {
        let size = presented.text.utf8.count
        state.withLock { state in
            // Keys may have been replaced meanwhile.
            guard state.keys.contains(where: { token.key == $0.fingerprint }) else { return }
            if state.known.count >= mostKnown || state.bytes + size > mostBytes {
                // Those in use are soon verified again.
                (state.known, state.bytes) = ([:], 0)
            }
            state.known[presented.digest.bytes] = token
            state.bytes += size
        }
    }

    /// Tokens, and the bytes of their texts.
    var cached: (tokens: Int, bytes: Int) { state.withLock { ($0.known.count, $0.bytes) } }

    // MARK: Keys

    package func hasKey(_ key: SHA256Digest) -> Bool {
        state.withLock { state in state.keys.contains { $0.fingerprint == key } }
    }

    package var files: [String] { [source.jwks, source.secret].compactMap { $0 } }

    package func readKeys() throws -> Int? {
        // One after the other, so that no older content replaces a newer one.
        try reading.withLock { _ in replace(with: try source.keys()) }
    }

    private func replace(with keys: [VerificationKey]) -> Int? {
        state.withLock { state in
            let isSame =
                keys.count == state.keys.count
                && zip(keys, state.keys).allSatisfy { $0.fingerprint == $1.fingerprint && $0.id == $1.id }
            guard !isSame else { return nil }
            (state.keys, state.known, state.bytes) = (keys, [:], 0)
            return keys.count
        }
    }
}
#endif
