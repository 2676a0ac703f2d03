import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// Who is present in a session.
func presenceRoutes(_ sessions: SessionHost) -> [Route] {
    [
        Route("GET", "/v1/sessions/{id}/presence", for: .role(.viewer), query: Looker.parameters) { context in
            try await context.withTable(sessions) { table in
                let (json, lease) = try sessions.presenceList(
                    in: table, for: context.requester.role, context.account)
                var response = HTTPResponse.json(json.bytes, headers: [("Cache-Control", "no-store")])
                response.lease = lease
                return response
            }
        },
        Route("PUT", "/v1/sessions/{id}/presence", for: .role(.viewer), query: ["client", "view"], takesBody: true) {
            context in
            let client = try context.presenceClient()
            let (at, data) = try presenceRequest(context.json())
            return try await context.withTable(sessions) { table in
                // Without an index, a row is searched.
                return try await withTaskExecutorPreference(
                    at != nil && table.isLarge ? Workers.shared.long : nil
                ) {
                    .json(
                        try await sessions.putPresence(
                            in: table, of: client, context.requester.user, at: at, data: data,
                            token: context.requester.token, for: context.account))
                }
            }
        },
        Route("DELETE", "/v1/sessions/{id}/presence", for: .role(.viewer), query: ["client"]) { context in
            let client = try context.presenceClient()
            return try await context.withSession(sessions) { session in
                sessions.removePresence(in: session, of: client)
                return HTTPResponse(status: 204)
            }
        },
    ]
}

private let mostData = 1_024

/// `{"at": row reference?, "data": JSON?}`
private func presenceRequest(_ body: JSONText) throws -> (at: RowReference?, data: JSONText?) {
    let object = try body.object(of: ["at", "data"])
    let at = try object["at"].map { json throws(Refusal) in
        try RowReference(json, at: JSONPointer.root.appending("at"))
    }
    let data = object["data"]
    if let data, data.count > mostData {
        throw Refusal.member(
            "data", .invalidValue, "may have \(mostData) bytes without white space, and has \(data.count)")
    }
    return (at, data)
}

extension Exchange {
    /// Of the requester's own: others' tokens cannot name it. Throws `badRequest`.
    func presenceClient() throws -> Presence.Client {
        let name = query("client") ?? ""
        guard query("client") == nil || 1...64 ~= name.utf8.count && Bearer.isToken(name) else {
            throw ProblemError(
                .badRequest,
                "`client` is a name that your program makes for itself, of 1 to 64 visible ASCII characters.")
        }
        return Presence.Client(token: account.client, name: name)
    }
}
