import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// A token for one session, as the server knows it.
package struct SessionToken: Sendable {
    package let id: String
    package let role: Role
    /// The session's number, which no later session under the same id has.
    package let session: Int
    package let sessionID: String
    /// Milliseconds since 1970.
    let expires: Int
    fileprivate let digest: SHA256Digest

    fileprivate init?(_ stored: StoredToken) {
        guard let role = Role(rawValue: stored.token.role),
            let digest = [UInt8](hexadecimal: stored.token.hash).flatMap(SHA256Digest.init(bytes:))
        else { return nil }
        (self.role, self.digest) = (role, digest)
        (id, expires) = (stored.token.id, stored.token.expires)
        (session, sessionID) = (stored.session, stored.sessionID)
    }
}

/// A token as a requester presents it.
package struct PresentedToken: Sendable {
    let text: String
    /// What the store knows a token by, so that nobody who reads the database has a token. Comparing two digests takes
    /// the same time wherever they differ.
    package let digest: SHA256Digest

    package init(_ text: String) {
        self.text = text
        digest = SHA256Digest(of: Array(text.utf8))
    }
}

/// The tokens for single sessions: made, known again, revoked.
///
/// Those in use are kept in memory, so that a request does not wait for the store; one that is revoked goes from there
/// and from the store before its revocation is answered. Streams and long polls are remembered with the token that let
/// them in, and end with it.
package final class SessionTokens: Sendable {
    private struct State {
        var known: [String: SessionToken] = [:]
        /// Counts revocations: what was read of the store before one may be what it revoked.
        var revocations = 0
        var followers: [Int: Follower] = [:]
        var nextFollower = 0
        var isSweeping = false
    }

    /// Something open-ended that a token let in.
    private struct Follower {
        let token: SessionToken
        let end: @Sendable () -> Void
        /// Whether there is still something to end.
        let isThere: @Sendable () -> Bool
    }

    private let store: any SessionStore
    private let clock: Clock
    private let ids: IDGenerator
    private let state = Mutex(State())
    private static let mostKnown = 10_000
    private static let prefix = "braid_"

    init(store: any SessionStore, clock: Clock, ids: IDGenerator) {
        self.store = store
        self.clock = clock
        self.ids = ids
    }

    /// Makes a token for a session. It is told once, here.
    package func create(_ role: Role, for sessionID: String, lasting seconds: Int) async throws -> (
        token: String, stored: NewToken
    ) {
        let now = clock.now()
        let id = ids.tokenID()
        let token = "\(Self.prefix)\(id).\(ids.secret())"
        let stored = NewToken(
            id: id, role: role.rawValue, created: now, expires: now + seconds * 1000,
            hash: PresentedToken(token).digest.bytes.hexadecimal)
        do {
            try await store.createToken(stored, for: sessionID)
        } catch StoreError.sessionMissing {
            throw SessionError(noSession: sessionID)
        }
        return (token, stored)
    }

    package func list(of sessionID: String, after: String?, limit: Int) async throws -> [StoredToken] {
        guard let tokens = try await store.tokens(of: sessionID, after: after, limit: limit, now: clock.now()) else {
            throw SessionError(noSession: sessionID)
        }
        return tokens
    }

    /// False: the session has no such token.
    package func revoke(_ id: String, of sessionID: String) async throws -> Bool {
        let wasThere = try await store.deleteToken(id, of: sessionID)
        if wasThere { end(id) }
        return wasThere
    }

    /// The token is revoked.
    func end(_ id: String) {
        let ended = state.withLock { state in
            state.revocations += 1
            state.known[id] = nil
            return Self.taking(&state) { $0.token.id == id }
        }
        for follower in ended { follower.end() }
    }

    /// Ends what tokens let in that are not there any more: another server may have revoked them unheard.
    func endRevoked() async throws {
        for id in state.withLock({ Set($0.followers.values.map(\.token.id)) }) where try await store.token(id) == nil {
            end(id)
        }
    }

    /// The session has ended, and its tokens with it. Who follows it is told so, and left to read that.
    func revokeAll(of session: Int) {
        state.withLock { state in
            state.revocations += 1
            for token in state.known.values where token.session == session { state.known[token.id] = nil }
        }
    }

    private static func taking(_ state: inout State, _ isMeant: (Follower) -> Bool) -> [Follower] {
        let taken = state.followers.filter { isMeant($0.value) }
        for number in taken.keys { state.followers[number] = nil }
        return Array(taken.values)
    }

    // MARK: Knowing them again

    /// Nil: it is not known without asking the store. Where servers share it, another may have revoked the token just
    /// now.
    package func known(_ presented: PresentedToken) throws -> SessionToken? {
        guard let id = Self.id(in: presented.text) else { throw SessionError.invalidToken }
        guard store.sharing == nil, let token = state.withLock({ $0.known[id] }) else { return nil }
        return try checked(token, presented)
    }

    /// Throws the same, after the same work, for a token that there never was and for one that is not right.
    package func find(_ presented: PresentedToken) async throws -> SessionToken {
        guard let id = Self.id(in: presented.text) else { throw SessionError.invalidToken }
        return try checked(try await read(id), presented)
    }

    /// The digest that an unknown token is compared with.
    private static let noDigest = SHA256Digest(of: [])

    private func checked(_ token: SessionToken?, _ presented: PresentedToken) throws -> SessionToken {
        let isRight = presented.digest == (token?.digest ?? Self.noDigest)
        guard let token, isRight, token.expires > clock.now() else { throw SessionError.invalidToken }
        return token
    }

    private func read(_ id: String) async throws -> SessionToken? {
        while true {
            let (known, revocations) = state.withLock { ($0.known[id], $0.revocations) }
            if let known, store.sharing == nil { return known }
            guard let token = try await store.token(id).flatMap(SessionToken.init) else { return nil }
            let isCurrent = state.withLock { state in
                guard state.revocations == revocations else { return false }
                // Those in use come back soon; nobody has to keep a list of who was here last.
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

// MARK: - What a token let in

extension SessionTokens {
    /// Ends the stream when the token does. Throws if it has ended already.
    package func follow(_ token: SessionToken, _ stream: ByteStream) async throws {
        _ = try await follow(token, isThere: { [weak stream] in stream != nil }) { [weak stream] in
            stream?.endFromServer()
        }
    }

    /// Cancels the work when the token ends, and then throws whatever it returned.
    package func whileValid<Value: Sendable>(
        _ token: SessionToken, _ work: @escaping @Sendable () async throws -> Value
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

    private func follow(
        _ token: SessionToken, isThere: @escaping @Sendable () -> Bool, end: @escaping @Sendable () -> Void
    ) async throws -> Int {
        while true {
            let (number, startsSweeping) = state.withLock { state in
                // Known is what no revocation has taken out since.
                guard state.known[token.id] != nil else { return (Int?.none, false) }
                state.nextFollower += 1
                state.followers[state.nextFollower] = Follower(token: token, end: end, isThere: isThere)
                defer { state.isSweeping = true }
                return (state.nextFollower, !state.isSweeping)
            }
            if startsSweeping { Task { await sweep() } }
            if let number { return number }
            guard try await read(token.id) != nil else { throw SessionError.invalidToken }
        }
    }

    /// Runs while there are followers: ends those whose token has expired by the clock, which may be set meanwhile.
    private func sweep() async {
        while true {
            try? await Task.sleep(for: .seconds(1))
            let now = clock.now()
            let expired: [Follower]? = state.withLock { state in
                let gone = Self.taking(&state) { $0.token.expires <= now || !$0.isThere() }
                state.isSweeping = !state.followers.isEmpty || !gone.isEmpty
                return state.isSweeping ? gone : nil
            }
            guard let expired else { return }
            for follower in expired { follower.end() }
        }
    }
}

// MARK: - As the store has them

extension Sequence<UInt8> {
    /// Two lower-case digits a byte.
    package var hexadecimal: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension [UInt8] {
    /// Nil for anything but pairs of digits.
    fileprivate init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
