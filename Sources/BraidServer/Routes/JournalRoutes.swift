import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// Pages of JSON, or the whole file for `replay`.
func journalRoutes(_ sessions: SessionHost) -> [Route] {
    [
        Route("GET", "/v1/sessions/{id}/journal", query: ["after", "limit"], alternative: JournalFile.mediaType) {
            context in
            if context.head.prefers(JournalFile.mediaType) {
                if context.query("after") != nil || context.query("limit") != nil {
                    throw ProblemError(
                        .badRequest,
                        "`after` and `limit` are for pages of JSON: \(JournalFile.mediaType) is the whole journal.")
                }
                return HTTPResponse(
                    status: 200, headers: [("Content-Type", JournalFile.mediaType)],
                    body: .stream(
                        try await sessions.journalFile(
                            of: context.parameter("id"), number: context.requester.sessionNumber, for: context.account))
                )
            }
            let after = try context.integer("after", in: 0...Int.max) ?? 0
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            let session = try await context.session(sessions)
            let (records, isCut) = try await session.journalPage(after: after, limit: limit)
            return .object {
                $0.member("records", records)
                if isCut, let last = records.last { $0.member("next", last.revision) }
            }
        }
    ]
}
