import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

func tokenRoutes(_ tokens: AccessTokens) -> [Route] {
    tokenRoutes(tokens, under: "/v1/sessions/{id}/tokens") + tokenRoutes(tokens, under: "/v1/tokens")
}

/// For what cannot send header fields.
func ticketRoute(_ sessions: SessionHost) -> Route {
    Route("POST", "/v1/sessions/{id}/tickets", for: .role(.viewer)) { context in
        let (ticket, expires) = try await context.app.access.makeTicket(
            for: context.summary(sessions), by: context.requester)
        return .object(status: 201, headers: [("Cache-Control", "no-store")]) {
            $0.member("ticket", ticket)
            $0.member("expires", Instant(millisecondsSince1970: expires))
        }
    }
}

/// Under a session's path, for it alone.
private func tokenRoutes(_ tokens: AccessTokens, under path: String) -> [Route] {
    [
        Route("POST", path, takesBody: true) { context in
            let session = context.tokensSession
            let (grant, seconds) = try tokenRequest(context.json(), isForSession: session != nil)
            let (token, stored) = try await tokens.create(
                grant, for: session, number: context.requester.sessionNumber, lasting: seconds)
            context.logAct(
                "token created",
                values: context.tokensSessionValues + [("token", stored.id), ("grants", stored.role)]
                    + (grant.user.id.map { [("grantee", $0)] } ?? [])
                    + [("expires", Instant(millisecondsSince1970: stored.expires).text)])
            let place = session.map { "/v1/sessions/\($0)/tokens" } ?? path
            return .object(
                status: 201, headers: [("Cache-Control", "no-store"), ("Location", "\(place)/\(stored.id)")]
            ) {
                $0.member("token", token)
                stored.writeMembers(to: &$0)
            }
        },
        Route("GET", path, query: ["limit", "after"]) { context in
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            let found = try await tokens.list(
                of: context.tokensSession, number: context.requester.sessionNumber, after: context.query("after"),
                limit: limit + 1)
            return .object {
                $0.array("tokens", of: found.prefix(limit)) { writer, found in
                    writer.object { found.token.writeMembers(to: &$0) }
                }
                if found.count > limit { $0.member("next", found[limit - 1].token.id) }
            }
        },
        Route("DELETE", "\(path)/{token}") { context in
            let token = context.parameter("token"), session = context.tokensSession
            guard try await tokens.revoke(token, of: session, number: context.requester.sessionNumber) else {
                let place = session.map { "session \"\($0)\"" } ?? "server"
                throw ProblemError(
                    .tokenNotFound, "The \(place) has no token \"\(token)\". It never existed, or it was revoked.")
            }
            context.logAct("token revoked", values: context.tokensSessionValues + [("token", token)])
            return HTTPResponse(status: 204)
        },
    ]
}

extension Exchange {
    fileprivate var tokensSession: String? { hasParameter("id") ? parameter("id") : nil }

    fileprivate var tokensSessionValues: [(name: String, value: String)] {
        tokensSession.map { [("session", $0)] } ?? []
    }
}

/// Ten years, in seconds.
private let longestLife = 315_360_000
/// The most of a user's id, and of a name.
private let mostCharacters = 128
private let mostClaimBytes = 4096

/// `{"role", "expiresIn", "user"?, "name"?, "claims"?}`, and of a token for more than one session `{"sessions"?,
/// "tables"?}`.
private func tokenRequest(_ body: JSONText, isForSession: Bool) throws -> (grant: TokenGrant, seconds: Int) {
    let members = ["role", "expiresIn", "user", "name", "claims"] + (isForSession ? [] : ["sessions", "tables"])
    let object = try body.object(of: members)
    func fault(_ name: String, accepting kind: JSONKind, _ detail: String) -> Refusal {
        guard let value = object[name] else { return .missing(name, detail) }
        return .member(name, .rejecting(value.kind, accepting: kind), detail)
    }
    func text(_ name: String) throws -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.stringValue, (1...mostCharacters).contains(text.unicodeScalars.count) else {
            throw fault(name, accepting: .string, "must be a string of 1 to \(mostCharacters) characters")
        }
        return text
    }
    func names(_ name: String, _ rule: String, _ isName: (String) -> Bool) throws -> [String]? {
        guard let value = object[name] else { return nil }
        let names = value.elements()?.map { $0.stringValue.flatMap { isName($0) ? $0 : nil } }
        guard let names, names.count <= TokenScope.mostNames, !names.contains(nil) else {
            throw fault(name, accepting: .array, "must be an array of at most \(TokenScope.mostNames) \(rule)")
        }
        return names.compactMap { $0 }
    }
    let role = object["role"]?.stringValue.flatMap(Role.init)
    guard let role, role != .controller || !isForSession else {
        throw fault(
            "role", accepting: .string,
            "must be \(isForSession ? "" : "\"controller\", ")\"participant\" or \"viewer\"")
    }
    guard let seconds = object["expiresIn"]?.intValue, (1...longestLife).contains(seconds) else {
        throw fault(
            "expiresIn", accepting: .number,
            "must be the number of seconds for which the token is valid, from 1 to \(longestLife)")
    }
    let claims = object["claims"] ?? .emptyObject
    guard claims.kind == .object, claims.count <= mostClaimBytes else {
        throw fault("claims", accepting: .object, "must be an object of at most \(mostClaimBytes) bytes")
    }
    let user = User(id: try text("user"), name: try text("name"), role: role, claims: claims.detached)
    let scope = TokenScope(
        sessions: try names("sessions", "ids of sessions, or prefixes such as \"team-*\"", TokenScope.isSessionPattern),
        tables: try names("tables", "names of tables", TableDescription.isName))
    return (TokenGrant(user: user, scope: scope), seconds)
}

extension NewToken {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("tokenId", id)
        writer.member("role", role)
        for (name, value) in grants?.members() ?? [] { writer.member(name, value) }
        writer.member("created", Instant(millisecondsSince1970: created))
        writer.member("expires", Instant(millisecondsSince1970: expires))
    }
}
