import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// A class: each copy of a request would count the references of all its parts.
package final class AccessToken: Sendable {
    /// All signed tokens of one user have the same.
    package let id: String
    package let grant: TokenGrant
    /// The only one that it covers; 0: what `grant` says.
    package let session: Int
    package let sessionID: String
    /// Milliseconds since 1970.
    package let expires: Int
    /// What has signed it; `nil` for a stored token.
    package let key: SHA256Digest?
    fileprivate let digest: SHA256Digest

    fileprivate init?(_ stored: StoredToken) {
        guard let grant = TokenGrant(role: stored.token.role, stored: stored.token.grants),
            let digest = [UInt8](hexadecimal: stored.token.hash).flatMap(SHA256Digest.init(bytes:))
        else { return nil }
        (self.grant, self.digest) = (grant, digest)
        (id, expires) = (stored.token.id, stored.token.expires)
        (session, sessionID, key) = (stored.session, stored.sessionID, nil)
    }

    /// A verified one.
    package init(signed presented: PresentedToken, id: String, grant: TokenGrant, expires: Int, key: SHA256Digest) {
        (self.id, self.grant, self.expires, self.key) = (id, grant, expires, key)
        (session, sessionID, digest) = (0, "", presented.digest)
    }
}

/// As sent, not checked yet.
package struct PresentedToken: Sendable {
    package let text: String
    /// Only digests are stored: reading the database gives no access. They are compared in constant time.
    package let digest: SHA256Digest

    /// In the query: a ticket, and never a token.
    package let isTicket: Bool

    package init(_ text: String, isTicket: Bool = false) {
        (self.text, self.isTicket) = (text, isTicket)
        digest = SHA256Digest(of: Array(text.utf8))
    }
}

/// Tokens that the store keeps, and signed ones. Those in use are cached, unless servers share the store. A revocation
/// is answered once the token is gone from store and cache. Streams and long polls end with the token that opened them.
package final class AccessTokens: Sendable {
    private struct State {
        var known: [String: AccessToken] = [:]
        /// Grows with each revoked token, ended session and replaced store. A read of a token during which it changed
        /// is repeated.
        var revocations = 0
        var followers: [Int: Follower] = [:]
        var nextFollower = 0
        var isSweeping = false
    }

    private struct Follower {
        let token: AccessToken
        let end: @Sendable () -> Void
        let isThere: @Sendable () -> Bool
    }

    let store: any SessionStore
    let clock: Clock
    let ids: IDGenerator
    let signed: (any SignedTokens)?
    let knownTicketSecret = Mutex<SHA256Digest?>(nil)
    private let state = Mutex(State())
    private static let mostKnown = 10_000
    private static let prefix = "braid_"

    init(store: any SessionStore, clock: Clock, ids: IDGenerator, signed: (any SignedTokens)?) {
        self.store = store
        self.clock = clock
        self.ids = ids
        self.signed = signed
    }

    /// Whether tokens are accepted that another system signs.
    package var acceptsSigned: Bool { signed != nil }

    // `number`: the only one that the session may have. Another may have been opened with its id meanwhile.

    /// Only the result has the secret. Without a session, the token is for what it grants.
    package func create(
        _ grant: TokenGrant, for sessionID: String?, number: Int? = nil, lasting seconds: Int
    ) async throws -> (token: String, stored: NewToken) {
        let now = clock.now()
        let (id, secret) = ids.token()
        let token = "\(Self.prefix)\(id).\(secret)"
        let stored = NewToken(
            id: id, role: grant.user.role.rawValue, created: now, expires: now + seconds * 1000,
            hash: PresentedToken(token).digest.bytes.hexadecimal, grants: grant.stored)
        do {
            try await store.createToken(stored, for: sessionID)
        } catch StoreError.sessionMissing {
            throw SessionError(noSession: sessionID ?? "")
        }
        if let number, try await store.token(id)?.session != number {
            _ = try await store.deleteToken(id, of: sessionID)
            throw SessionError(noSession: sessionID ?? "", isCovered: false)
        }
        return (token, stored)
    }

    package func list(
        of sessionID: String?, number: Int? = nil, after: String?, limit: Int
    ) async throws -> [StoredToken] {
        guard let tokens = try await store.tokens(of: sessionID, after: after, limit: limit, now: clock.now()) else {
            throw SessionError(noSession: sessionID ?? "")
        }
        if let number, tokens.contains(where: { $0.session != number }) {
            throw SessionError(noSession: sessionID ?? "", isCovered: false)
        }
        return tokens
    }

    package func revoke(_ id: String, of sessionID: String?, number: Int? = nil) async throws -> Bool {
        if let number, try await store.token(id)?.session != number { return false }
        // The store first: a read in between repeats itself, because `end` increases `revocations`.
        let wasThere = try await store.deleteToken(id, of: sessionID)
        if wasThere { end(id) }
        return wasThere
    }

    func end(_ id: String) {
        let ended = state.withLock { state in
            state.revocations += 1
            state.known[id] = nil
            return Self.taking(&state) { $0.token.id == id }
        }
        for follower in ended { follower.end() }
    }

    /// After the keys were read again: ends what tokens of other keys have opened.
    package func endSigned() {
        let ended = state.withLock { state in
            Self.taking(&state) { follower in
                follower.token.key.map { signed?.hasKey($0) != true } ?? false
            }
        }
        for follower in ended { follower.end() }
    }

    /// Another server's notice of a revocation may have been missed.
    func endRevoked() async throws {
        let stored = state.withLock { $0.followers.values.filter { $0.token.key == nil } }
        for id in Set(stored.map(\.token.id)) where try await store.token(id) == nil {
            end(id)
        }
    }

    /// Its streams and long polls stay open a little longer, so that clients learn that the session has ended.
    func revokeAll(of session: Int) {
        state.withLock { state in
            state.revocations += 1
            for token in state.known.values where token.session == session { state.known[token.id] = nil }
        }
    }

    func forgetAll() {
        state.withLock { state in
            state.revocations += 1
            state.known = [:]
        }
    }

    private static func taking(_ state: inout State, _ isMeant: (Follower) -> Bool) -> [Follower] {
        let taken = state.followers.filter { isMeant($0.value) }
        for number in taken.keys { state.followers[number] = nil }
        return Array(taken.values)
    }

    // MARK: Checking tokens

    /// The cached token; `nil`: `find` it. Throws `invalidToken`.
    package func known(_ presented: PresentedToken) throws -> AccessToken? {
        if let signed, !presented.text.hasPrefix(Self.prefix) { return signed.known(presented) }
        guard let id = Self.id(in: presented.text) else { throw SessionError.invalidToken }
        guard store.sharing == nil, let token = state.withLock({ $0.known[id] }) else { return nil }
        return try checked(token, presented)
    }

    /// Throws `invalidToken`, or `TokenRefusal` for a signed one. An unknown ID and a wrong secret cost about the same
    /// work: the time tells nothing.
    package func find(_ presented: PresentedToken) async throws -> AccessToken {
        if let signed, !presented.text.hasPrefix(Self.prefix) { return try signed.verify(presented) }
        guard let id = Self.id(in: presented.text) else { throw SessionError.invalidToken }
        return try checked(try await read(id), presented)
    }

    /// So that comparing takes as long without a token.
    private static let noDigest = SHA256Digest(of: [])

    private func checked(_ token: AccessToken?, _ presented: PresentedToken) throws -> AccessToken {
        let isRight = presented.digest == (token?.digest ?? Self.noDigest)
        guard let token, isRight, token.expires > clock.now() else { throw SessionError.invalidToken }
        return token
    }

    func read(_ id: String) async throws -> AccessToken? {
        while true {
            let (known, revocations) = state.withLock { ($0.known[id], $0.revocations) }
            if let known, store.sharing == nil { return known }
            guard let token = try await store.token(id).flatMap(AccessToken.init) else { return nil }
            let isCurrent = state.withLock { state in
                guard state.revocations == revocations else { return false }
                // Those in use are soon read again.
                if state.known.count >= Self.mostKnown { state.known = [:] }
                state.known[id] = token
                return true
            }
            if isCurrent { return token }
        }
    }

    /// `braid_<id>.<secret>`
    private static func id(in text: String) -> String? {
        guard text.hasPrefix(prefix), let end = text.firstIndex(of: ".") else { return nil }
        let id = text[..<end].dropFirst(prefix.utf8.count)
        return id.isEmpty ? nil : String(id)
    }
}

// MARK: - Streams and long polls that a token opened

extension AccessTokens {
    /// Ends the stream with its token. Throws `invalidToken` if that is revoked already.
    package func follow(_ token: AccessToken, _ stream: ByteStream) async throws {
        _ = try await follow(token, isThere: { [weak stream] in stream != nil }) { [weak stream] in
            stream?.endFromServer()
        }
    }

    /// If the token is revoked or expires, cancels the work and throws `invalidToken`, even if there is a value.
    package func whileValid<Value: Sendable>(
        _ token: AccessToken, _ work: @escaping @Sendable () async throws -> Value
    )
        async throws -> Value
    {
        let task = Task { try await work() }
        let number: Int
        do {
            number = try await follow(token, isThere: { true }) { task.cancel() }
        } catch {
            task.cancel()
            throw error
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        let hasEnded = state.withLock { $0.followers.removeValue(forKey: number) == nil }
        if hasEnded { throw SessionError.invalidToken }
        return try result.get()
    }

    func follow(
        _ token: AccessToken, isThere: @escaping @Sendable () -> Bool, end: @escaping @Sendable () -> Void
    ) async throws -> Int {
        while true {
            let (number, startsSweeping) = state.withLock { state in
                // Under the lock of `end`: a revocation finds this follower, or has removed the token from `known`.
                let isAccepted = token.key.map { signed?.hasKey($0) == true } ?? (state.known[token.id] != nil)
                guard isAccepted else { return (Int?.none, false) }
                state.nextFollower += 1
                state.followers[state.nextFollower] = Follower(token: token, end: end, isThere: isThere)
                defer { state.isSweeping = true }
                return (state.nextFollower, !state.isSweeping)
            }
            if startsSweeping { Task { await sweep() } }
            if let number { return number }
            guard token.key == nil, try await read(token.id) != nil else { throw SessionError.invalidToken }
        }
    }

    /// Reads the clock every second: the system's time can be set.
    private func sweep() async {
        while true {
            try? await Task.sleep(for: .seconds(1))
            endExpired()
            let isDone = state.withLock { state in
                state.isSweeping = !state.followers.isEmpty
                return !state.isSweeping
            }
            if isDone { return }
        }
    }

    /// Also forgets streams that are gone.
    package func endExpired() {
        let now = clock.now()
        let expired = state.withLock { Self.taking(&$0) { $0.token.expires <= now || !$0.isThere() } }
        for follower in expired { follower.end() }
    }
}

// MARK: - Digests as text

extension Sequence<UInt8> {
    package var hexadecimal: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension [UInt8] {
    fileprivate init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
