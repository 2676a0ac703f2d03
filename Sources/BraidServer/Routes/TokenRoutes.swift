import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

func tokenRoutes(_ tokens: SessionTokens) -> [Route] {
    [
        Route("POST", "/v1/sessions/{id}/tokens", takesBody: true) { context in
            let id = context.parameter("id")
            let (role, seconds) = try tokenRequest(context.json())
            let (token, stored) = try await tokens.create(role, for: id, lasting: seconds)
            context.logAct(
                "token created", ("session", id), ("token", stored.id), ("grants", stored.role),
                ("expires", Instant(millisecondsSince1970: stored.expires).text))
            return .object(
                status: 201,
                headers: [("Cache-Control", "no-store"), ("Location", "/v1/sessions/\(id)/tokens/\(stored.id)")]
            ) {
                $0.member("token", token)
                stored.writeMembers(to: &$0)
            }
        },
        Route("GET", "/v1/sessions/{id}/tokens", query: ["limit", "after"]) { context in
            let id = context.parameter("id"), after = context.query("after")
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            let found = try await tokens.list(of: id, after: after, limit: limit + 1)
            return .object {
                $0.array("tokens", of: found.prefix(limit)) { writer, found in
                    writer.object { found.token.writeMembers(to: &$0) }
                }
                if found.count > limit { $0.member("next", found[limit - 1].token.id) }
            }
        },
        Route("DELETE", "/v1/sessions/{id}/tokens/{token}") { context in
            let id = context.parameter("id"), token = context.parameter("token")
            guard try await tokens.revoke(token, of: id) else {
                throw ProblemError(
                    .tokenNotFound,
                    "The session \"\(id)\" has no token \"\(token)\". It never existed, or it was revoked.")
            }
            context.logAct("token revoked", ("session", id), ("token", token))
            return HTTPResponse(status: 204)
        },
    ]
}

/// Ten years, in seconds.
private let longestLife = 315_360_000

/// `{"role": "participant" | "viewer", "expiresIn": seconds}`
private func tokenRequest(_ body: JSONText) throws -> (role: Role, seconds: Int) {
    let object = try body.object(of: ["role", "expiresIn"])
    func fault(_ name: String, accepting kind: JSONKind, _ detail: String) -> Refusal {
        guard let value = object[name] else { return .missing(name, detail) }
        return .member(name, .rejecting(value.kind, accepting: kind), detail)
    }
    guard let role = object["role"]?.stringValue.flatMap(Role.init), role != .controller else {
        throw fault("role", accepting: .string, "must be \"participant\" or \"viewer\"")
    }
    guard let seconds = object["expiresIn"]?.intValue, (1...longestLife).contains(seconds) else {
        throw fault(
            "expiresIn", accepting: .number,
            "must be the number of seconds for which the token is valid, from 1 to \(longestLife)")
    }
    return (role, seconds)
}

extension NewToken {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("tokenId", id)
        writer.member("role", role)
        writer.member("created", Instant(millisecondsSince1970: created))
        writer.member("expires", Instant(millisecondsSince1970: expires))
    }
}
