import BraidEngine
import BraidRuntime

/// Reads one session for half a minute with the rights of the token that asked for it: for the URLs of what cannot send
/// header fields (`EventSource`, `<img>`).
///
/// Its text, `payload.MAC` in base64url, is stored nowhere. The key is a secret, in memory or in the database that
/// servers share, together with the server's token: without one, a reader of that database can make tickets.
package final class Ticket: Sendable {
    /// Another session may be opened with the same id.
    package let session: Int
    package let sessionID: String
    /// What it was made with; `nil`: the server's token, or none.
    package let token: AccessToken?
    /// The server's token that signs it, if it has one.
    package let signer: SHA256Digest?

    fileprivate init(session: Int, sessionID: String, token: AccessToken?, signer: SHA256Digest?) {
        (self.session, self.sessionID, self.token, self.signer) = (session, sessionID, token, signer)
    }
}

extension AccessTokens {
    /// Milliseconds.
    static let ticketLife = 30_000

    /// - Parameters:
    ///   - token: `nil` with the server's token, or without one.
    ///   - signer: the server's token that the requester has, otherwise any, if there is one.
    package func makeTicket(
        for session: Int, id: String, with token: AccessToken?, signer: SHA256Digest?
    ) async throws -> (text: String, expires: Int) {
        let expires = clock.now() + Self.ticketLife
        let payload = JSONText.object {
            $0.member("session", session)
            $0.member("id", id)
            $0.member("expires", expires)
            $0.member("token", token?.id)
            guard let token, let key = token.key else { return }
            // No server has stored this one.
            let user = token.grant.user
            $0.member("role", user.role.rawValue)
            $0.member("user", user.id)
            $0.member("name", user.name)
            if user.claims != .emptyObject { $0.member("claims", user.claims) }
            $0.member("until", token.expires)
            $0.member("key", Base64URL.text(key.bytes))
        }
        let text = Base64URL.text(payload.bytes)
        let mac = Self.mac(of: text, try await ticketSecret(), signer)
        return ("\(text).\(Base64URL.text(mac.bytes))", expires)
    }

    /// `signers`: all that the server accepts. Throws `invalidToken` also if the token it was made with has ended.
    package func ticket(_ presented: PresentedToken, signers: [SHA256Digest?]) async throws -> Ticket {
        let parts = presented.text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let mac = Base64URL.bytes(parts[1].utf8).flatMap(SHA256Digest.init(bytes:)) else {
            throw Self.invalidTicket
        }
        let secret = try await ticketSecret(), text = String(parts[0])
        guard let signer = signers.first(where: { Self.mac(of: text, secret, $0) == mac }),
            let payload = Base64URL.bytes(text.utf8).flatMap({ try? JSONText(parsing: $0) }),
            let expires = payload["expires"]?.intValue, expires > clock.now(),
            let session = payload["session"]?.intValue, let id = payload["id"]?.stringValue
        else { throw Self.invalidTicket }
        var token: AccessToken?
        if let name = payload["token"]?.stringValue {
            token = try signedToken(name, payload, presented)
            if token == nil { token = try await read(name) }
            guard let token, isValid(token) else { throw Self.invalidTicket }
        }
        return Ticket(session: session, sessionID: id, token: token, signer: signer)
    }

    private func isValid(_ token: AccessToken) -> Bool {
        token.expires > clock.now() && token.key.map { signed?.hasKey($0) == true } ?? true
    }

    /// `nil` if the ticket was made with a stored one.
    private func signedToken(_ id: String, _ payload: JSONText, _ presented: PresentedToken) throws -> AccessToken? {
        guard let key = payload["key"]?.stringValue else { return nil }
        guard let key = Base64URL.bytes(key.utf8).flatMap(SHA256Digest.init(bytes:)),
            let role = payload["role"]?.stringValue.flatMap(Role.init), let expires = payload["until"]?.intValue
        else { throw Self.invalidTicket }
        let user = User(
            id: payload["user"]?.stringValue, name: payload["name"]?.stringValue, role: role,
            claims: payload["claims"]?.detached ?? .emptyObject)
        return AccessToken(signed: presented, id: id, grant: TokenGrant(user: user), expires: expires, key: key)
    }

    private static func mac(of text: String, _ secret: SHA256Digest, _ signer: SHA256Digest?) -> SHA256Digest {
        SHA256Digest(authenticating: Array(text.utf8), key: secret.bytes + (signer?.bytes ?? []))
    }

    private static let invalidTicket = SessionError(
        .invalidToken, "The ticket is not valid any more. It lives 30 seconds; POST …/tickets makes another.")

    /// The same for all requests, on all servers that share the store.
    private func ticketSecret() async throws -> SHA256Digest {
        if let known = knownTicketSecret.withLock({ $0 }) { return known }
        let new = ids.ticketSecret()
        let secret = SHA256Digest(of: Array((try await store.sharing?.ticketSecret(orNew: new) ?? new).utf8))
        return knownTicketSecret.withLock { known in
            if known == nil { known = secret }
            return known ?? secret
        }
    }

    /// The store may have lost it.
    func forgetTicketSecret() { knownTicketSecret.withLock { $0 = nil } }
}
