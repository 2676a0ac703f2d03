import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// Returns the routes of all commands, one for each `CommandKind` of the engine that has an HTTP method.
func commandRoutes(_ sessions: Sessions) -> [Route] {
    CommandKind.all.compactMap { kind in
        guard let method = kind.method else { return nil }
        var query = Sessions.commandQuery
        if kind.acceptsBase { query.insert("base") }
        if kind.acceptsPartial { query.insert("partial") }
        return Route(
            method.rawValue, "/v1/sessions/{id}/\(kind.name)",
            for: kind == .transactions ? .commands : .role(kind.role), query: query, takesBody: true,
            obeysIfMatch: true, takesKey: true
        ) { context in try await sessions.respond(to: context, context.command(of: kind)) }
    }
}

extension RequestContext {
    /// Returns the command in the request's body. Throws the error `role` if the requester may not send this command.
    fileprivate func command(of kind: CommandKind) throws -> CommandRequest.Content {
        if kind == .table { return .rebinding(try RebindingRequest(try json())) }
        guard kind != .reset else {
            if !request.body.isEmpty, try json() != .emptyObject {
                throw ProblemError(.badRequest, "A reset accepts no body, or {}.")
            }
            return .reset
        }
        let partial = try flag("partial"), body = try json()
        let command = try Command(resource: kind.name, body: body, partial: partial)
        try requester.require(command.role)
        return .command(command, text: Command.journalText(resource: kind.name, body: body, partial: partial))
    }
}

extension Command {
    /// Returns the text with which the journal records a command: `{resource: body}`, with `"partial": true` for a
    /// partial command.
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

/// The form in which the client wants a command's answer: `?form=sequential`, `?dryRun`, `Prefer: return=…` (RFC 7240).
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
            // A preference in the `Prefer` field can have parameters after a semicolon.
            let name = preference.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            if name.hasPrefix("return=") { self.preference = self.preference ?? String(name.dropFirst(7)) }
        }
    }

    var asksForSnapshot: Bool { preference == "representation" }

    /// The status and the first header field of an answer to `Prefer: return=representation`. The caller adds the
    /// snapshot and its header fields.
    var snapshotHead: HTTPResponse {
        HTTPResponse(status: 200, headers: [("Preference-Applied", "return=representation")])
    }

    /// Returns the response to an executed command, in the form that the client wants.
    ///
    /// - Parameter notifies: whether the body contains `notification`, as answers of the data source do.
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
