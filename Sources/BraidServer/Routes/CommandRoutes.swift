import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// Everything that changes a session: the method and path of each command.
func commandRoutes(_ sessions: Sessions) -> [Route] {
    func route(_ method: String, _ resource: String, query: Set<String> = []) -> Route {
        Route(
            method, "/v1/sessions/{id}/\(resource)", query: query.union(Sessions.commandQuery), takesBody: true,
            obeysIfMatch: true, takesKey: true
        ) { context in
            let partial = try context.flag("partial")
            let body = try context.json()
            let command = try Command(resource: resource, body: body, partial: partial)
            try context.requester.require(command.role)
            let text = Command.journalText(resource: resource, body: body, partial: partial)
            return try sessions.reply(to: context) { _ in (command, text) }
        }
    }
    return [
        route("POST", "edits", query: ["base"]), route("POST", "moves", query: ["base"]),
        route("PUT", "models", query: ["partial"]),
        route("PUT", "headers"), route("PUT", "footers"), route("PUT", "displayed-sections"), route("PATCH", "state"),
        route("POST", "transactions"), route("POST", "taps", query: ["base"]), route("POST", "events", query: ["base"]),
        route("POST", "displayed-rows"),
        Route(
            "POST", "/v1/sessions/{id}/reset", query: Sessions.commandQuery, takesBody: true, obeysIfMatch: true,
            takesKey: true
        ) { context in
            if !context.request.body.isEmpty, try context.json() != .emptyObject {
                throw ProblemError(.badRequest, "A reset takes no body, or {}.")
            }
            return try sessions.reply(to: context) { session in
                (.reset(to: try await session.openingTable()), JSONText(object: [("reset", .emptyObject)]))
            }
        },
    ]
}

extension Command {
    /// `{resource: body}`, as the journal keeps it.
    static func journalText(resource: String, body: JSONText, partial: Bool) -> JSONText {
        var writer = JSONWriter(capacity: body.count + 32)
        writer.beginObject()
        writer.name(resource)
        writer.value(body)
        if partial {
            writer.name("partial")
            writer.value(true)
        }
        writer.endObject()
        return writer.text
    }
}

/// How a command's answer is to look: `?form=sequential`, `?dryRun`, `Prefer: return=…` (RFC 7240).
struct CommandForm: Sendable {
    var dryRun: Bool
    var isSequential: Bool
    var preference: String?

    init(_ context: RequestContext) throws {
        dryRun = try context.flag("dryRun")
        switch context.query("form") {
        case nil, "stages": isSequential = false
        case "sequential": isSequential = true
        case let form?: throw ProblemError(.badRequest, "`form` is \"stages\" or \"sequential\", not \"\(form)\".")
        }
        for preference in (context.head.headers["prefer"] ?? "").split(separator: ",") {
            // A preference may have parameters behind semicolons.
            let name = preference.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            if name.hasPrefix("return=") { self.preference = self.preference ?? String(name.dropFirst(7)) }
        }
    }

    var asksForSnapshot: Bool { preference == "representation" }

    /// The response without its snapshot, and without the headers that belong to that.
    var snapshotHead: HTTPResponse {
        HTTPResponse(status: 200, headers: [("Preference-Applied", "return=representation")])
    }

    /// Answers of the data source have a `notification`.
    func response(_ answer: Session.Answer, of session: Session, notifies: Bool) -> HTTPResponse {
        let etag = ("ETag", session.position(at: answer.committed).entityTag)
        switch preference {
        case "minimal": return HTTPResponse(status: 204, headers: [etag, ("Preference-Applied", "return=minimal")])
        case "representation":
            var response = snapshotHead
            response.headers += [("Content-Type", "application/json"), etag]
            response.body = .bytes(
                answer.snapshot.encoded(session: session.id, table: session.table, epoch: session.epoch))
            return response
        default: break
        }
        return .json(headers: [etag]) { writer in
            writer.beginObject()
            writer.name("revision")
            writer.value(answer.revision)
            writer.name("outcome")
            switch answer.kind {
            case .applied: writer.value("applied")
            case .unchanged: writer.value("unchanged")
            case .ignored(let reason):
                writer.value("ignored")
                writer.name("reason")
                writer.value(reason)
            }
            if notifies {
                writer.name("notification")
                writer.value(answer.notification?.json ?? .null)
            }
            if let at = answer.at {
                writer.name("at")
                writer.beginArray()
                writer.value(at.section)
                writer.value(at.row)
                writer.endArray()
            }
            writer.name("update")
            writer.value(isSequential ? answer.update.sequentialJSON : answer.updateText)
            writer.endObject()
        }
    }
}
