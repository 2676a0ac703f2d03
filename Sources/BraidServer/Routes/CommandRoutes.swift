import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// Returns the routes of all commands, one for each `CommandKind` of the engine that has an HTTP method.
func commandRoutes(_ sessions: SessionHost) -> [Route] {
    CommandKind.all.compactMap { kind in
        guard let method = kind.method else { return nil }
        var query = SessionHost.commandQuery
        if kind.acceptsBase { query.insert("base") }
        if kind.acceptsStrict { query.insert("strict") }
        return Route(
            method.rawValue, "/v1/sessions/{id}/\(kind.path)",
            for: kind == .transactions ? .commands : .role(kind.role), query: query, takesBody: true,
            obeysIfMatch: true, takesKey: true
        ) { context in try await sessions.respond(to: context, context.command(of: kind)) }
    }
}

extension Exchange {
    /// Returns the command in the request's body. Throws the error `role` if the requester may not send this command.
    fileprivate func command(of kind: CommandKind) throws -> CommandRequest.Content {
        if kind == .table { return .rebinding(try RebindingRequest(try json())) }
        guard kind != .reset else {
            if !request.body.isEmpty, try json() != .emptyObject {
                throw ProblemError(.badRequest, "A reset accepts no body, or {}.")
            }
            return .reset
        }
        let body = try json(), command = try Command(kind: kind.name, body: body)
        try requester.require(command.role)
        return .command(command, text: JSONText(object: [(kind.name, body)]))
    }
}

extension Session.Answer {
    /// The status of an answer with a body: 201 if a data source call that names rows by id inserts a row or several
    /// rows, otherwise 200.
    var status: Int { inserted == nil ? 200 : 201 }

    /// The `Location` field with the path of the inserted row, if a data source call that names rows by id inserts a
    /// row with an id.
    fileprivate func location(in session: Session) -> [(String, String)] {
        guard let inserted, let id = inserted.id else { return [] }
        let path = ["v1", "sessions", session.id, "sections", inserted.section.text, "rows", id.text]
        return [("Location", path.map { "/" + $0.percentEncoded }.joined())]
    }
}

extension String {
    /// This text as a segment of a URL's path. Every byte except the unreserved characters is percent-encoded (RFC
    /// 3986, 2.3).
    var percentEncoded: String {
        utf8.map { byte in
            let letter = byte | 0x20
            let isUnreserved =
                byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) || "-._~".utf8.contains(byte)
            return isUnreserved ? String(UnicodeScalar(byte)) : byte.percentEncoded
        }.joined()
    }
}

extension HTTPRequestHead {
    /// What the client wants as the answer's body: the value of `return` in `Prefer` (RFC 7240). `nil` if the client
    /// does not say.
    var returnPreference: String? {
        for preference in (headers["prefer"] ?? "").utf8[...].split(atUnquoted: ",", atMost: 64) {
            // A preference such as `return=minimal` can have parameters after a semicolon, which are ignored here.
            let bytes = preference.prefix { $0 != UInt8(ascii: ";") }.filter { !$0.isBlank && $0 != UInt8(ascii: "\"") }
            let text = String(decoding: bytes.map(\.lowercased), as: UTF8.self)
            if text.hasPrefix("return=") { return String(text.dropFirst(7)) }
        }
        return nil
    }
}

/// The form in which the client wants a command's answer: `?form=sequential`, `?dryRun` and `Prefer: return=…` (RFC
/// 7240).
struct CommandForm: Sendable {
    var dryRun: Bool
    var isSequential: Bool
    var preference: String?

    init(_ context: Exchange) throws {
        dryRun = try context.flag("dryRun")
        switch context.query("form") {
        case nil, "stages": isSequential = false
        case "sequential": isSequential = true
        case let form?: throw ProblemError(.badRequest, "`form` is \"stages\" or \"sequential\", not \"\(form)\".")
        }
        preference = context.head.returnPreference
    }

    var asksForSnapshot: Bool { preference == "representation" }

    /// Returns the answer to a command with `Prefer: return=representation`, without its body: the status, `Location`
    /// and `Preference-Applied`. The caller adds the snapshot and its header fields.
    func snapshotHead(_ answer: Session.Answer, of session: Session) -> HTTPResponse {
        HTTPResponse(
            status: answer.status,
            headers: answer.location(in: session) + [("Preference-Applied", "return=representation")])
    }

    /// Returns the response to an executed command, in the form that the client wants.
    ///
    /// - Parameter notifies: whether a body with an update also contains `notification`, as answers of the data source
    ///   do.
    func response(_ answer: Session.Answer, of session: Session, notifies: Bool) -> HTTPResponse {
        let etag = ("ETag", session.position(at: answer.committed).entityTag), location = answer.location(in: session)
        switch preference {
        case "minimal":
            return HTTPResponse(status: 204, headers: location + [etag, ("Preference-Applied", "return=minimal")])
        case "representation":
            var response = snapshotHead(answer, of: session)
            response.headers += [("Content-Type", "application/json"), etag]
            // A large snapshot is encoded while it is sent, so that it uses little memory.
            response.body =
                Session.isStreamed(answer.snapshot)
                ? .stream(session.stream(of: answer.snapshot)) : .bytes(session.encoded(answer.snapshot))
            return response
        default: break
        }
        return .json(status: answer.status, headers: location + [etag]) { writer in
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
                writer.value(shortened(reason))
            }
            if notifies {
                writer.name("notification")
                writer.value(answer.notification?.json ?? .null)
            }
            if let tally = answer.tally {
                writer.name("rows")
                writer.value(tally.json)
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
