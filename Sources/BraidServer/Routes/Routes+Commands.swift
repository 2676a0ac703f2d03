import BraidEngine
import BraidStore

/// Everything that changes a session: the method and path of each command.
func commandRoutes(_ sessions: Sessions) -> [Route] {
    func route(_ method: String, _ resource: String, query: Set<String> = []) -> Route {
        Route(method, "/v1/sessions/{id}/\(resource)", query: query.union(["dryRun", "form"]), takesBody: true) { context in
            let partial = try context.flag("partial")
            let body = try context.json()
            let command = try Command(resource: resource, body: body, partial: partial)
            return try sessions.reply(
                to: command, text: command.journalText(resource: resource, body: body, partial: partial), context)
        }
    }
    return [
        route("POST", "edits"), route("POST", "moves"), route("PUT", "models", query: ["partial"]), route("PUT", "headers"),
        route("PUT", "footers"), route("PUT", "displayed-sections"), route("PATCH", "state"), route("POST", "transactions"),
        route("POST", "taps"), route("POST", "events"), route("POST", "displayed-rows"),
    ]
}

extension Sessions {
    /// Carries out the command that a request asks for, once if it brings an `Idempotency-Key`. `text` is what the
    /// journal keeps; `notifies`: the answer has the data source's `notification`.
    func reply(to command: Command, text: JSONText, _ context: RequestContext, notifies: Bool = false) throws -> RouteReply {
        let form = try CommandForm(context)
        let id = context.parameter("id"), ifMatch = context.head.headers["if-match"]
        // Nothing is done by a dry run, and nothing can be done twice.
        guard !form.dryRun, let key = try IdempotencyKey(context) else {
            return .later { [self] in
                let (session, answer) = try await perform(command, text: text, on: id, dryRun: form.dryRun, ifMatch: ifMatch)
                return form.response(answer, of: session, notifies: notifies)
            }
        }
        return .later { [self] in
            try await once(key, session: try await session(id).number, context: context) { keep in
                let (session, answer) = try await perform(command, text: text, on: id, ifMatch: ifMatch) {
                    keep(form.response($1, of: $0, notifies: notifies))
                }
                return form.response(answer, of: session, notifies: notifies)
            }
        }
    }
}

extension Command {
    /// `{resource: body}`, as the journal keeps it.
    func journalText(resource: String, body: JSONText, partial: Bool) -> JSONText {
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

    /// Answers of the data source have a `notification`.
    func response(_ answer: Session.Answer, of session: Session, notifies: Bool = false) -> HTTPResponse {
        var headers = [("ETag", session.etag(answer.committed))]
        switch preference {
        case "minimal":
            headers.append(("Preference-Applied", "return=minimal"))
            return HTTPResponse(status: 204, headers: headers)
        case "representation":
            headers += [("Preference-Applied", "return=representation"), ("Content-Type", "application/json")]
            let bytes = answer.snapshot.encoded(session: session.id, table: session.table, epoch: session.epoch)
            return HTTPResponse(status: 200, headers: headers, body: .bytes(bytes))
        default: break
        }
        return .json(headers: headers) { writer in
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
            writer.name("update")
            writer.value(isSequential ? answer.update.sequentialJSON : answer.updateText)
            writer.endObject()
        }
    }
}
