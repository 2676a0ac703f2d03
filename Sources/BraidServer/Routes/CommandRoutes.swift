import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// One for each `CommandKind` that has an HTTP method.
func commandRoutes(_ sessions: SessionHost) -> [Route] {
    CommandKind.all.compactMap { kind in
        guard let method = kind.method else { return nil }
        var query = CommandForm.query
        if kind.acceptsBase { query.insert("base") }
        if kind.acceptsStrict { query.insert("strict") }
        if kind.role < .controller { query.insert("view") }
        return Route(
            method.rawValue, "/v1/sessions/{id}/\(kind.path)",
            for: kind == .transactions ? .commands : .role(kind.role), query: query, takesBody: true,
            obeysIfMatch: true, takesKey: true
        ) { context in
            let (command, text) = try context.command(of: kind)
            return try await sessions.answer(context, executing: command, text: text)
        }
    }
}

extension Exchange {
    /// The command, and its text for the journal. Throws `role` if the requester may not send it.
    fileprivate func command(of kind: CommandKind) throws -> (Command, text: JSONText) {
        switch kind {
        case .reset:
            if !body.isEmpty, try json() != .emptyObject {
                throw ProblemError(.badRequest, "A reset accepts no body, or {}.")
            }
            return (.reset(to: nil), JSONText(object: [(kind.name, .emptyObject)]))
        case .redo where body.isEmpty:
            return (try Command(kind: kind.name, body: .emptyObject), JSONText(object: [(kind.name, .emptyObject)]))
        case .table:
            let body = try json()
            return (.rebind(try Rebinding(body)), body)
        default:
            let body = try json(), command = try Command(kind: kind.name, body: body)
            try requester.require(command.role)
            return (command, JSONText(object: [(kind.name, body)]))
        }
    }

    fileprivate func logAct(_ execution: Execution) {
        guard case .applied = execution.outcome.kind, !execution.isDryRun else { return }
        let session = execution.session
        let values = [(name: "session", value: session.id), ("revision", "\(execution.revision)")]
        switch execution.command {
        case .reset: logAct("session reset", values: values)
        case .rebind: logAct("session rebound", values: values + session.boundTableValues)
        default: return
        }
    }

    /// `?form=sequential`: `operations`, one after the other.
    func isSequential() throws -> Bool {
        switch query("form") {
        case nil, "stages": return false
        case "sequential": return true
        case let form?: throw ProblemError(.badRequest, "`form` is \"stages\" or \"sequential\", not \"\(form)\".")
        }
    }
}

extension SessionHost {
    /// `text` is for the journal.
    func answer(
        _ context: Exchange, executing command: Command, text: JSONText
    ) async throws -> HTTPResponse {
        var request = CommandRequest(
            session: context.parameter("id"), number: context.requester.sessionNumber, command, text: text)
        request.isDryRun = try context.flag("dryRun")
        let form = try CommandForm(context)
        request.condition = context.head.positionCondition
        request.base = try context.query("base").map { try Position($0) }
        request.sender = try Looker(context)
        request.account = context.account
        request.isStrict = try context.flag("strict")
        func executed(keeping keep: KeepsAnswer?) async throws -> HTTPResponse {
            var request = request
            if let keep { request.keptAnswer = { keep(form.kept($0)) } }
            let execution = try await execute(request)
            context.logAct(execution)
            return form.response(execution)
        }
        // A dry run changes nothing, so keeps no answer.
        guard let key = try IdempotencyKey(context), !request.isDryRun else { return try await executed(keeping: nil) }
        return try await once(key, for: request, replay: { try await replayed($0, context) }) { keep in
            try await executed(keeping: keep)
        }
    }
}

/// `?form=sequential`, `?pretty`, `Prefer: return=…` (RFC 7240).
struct CommandForm: Sendable {
    var isSequential: Bool
    var preference: String?

    /// Parameters of every request with a single command.
    static let query: Set<String> = ["dryRun", "form"]

    init(_ context: Exchange) throws {
        isSequential = try context.isSequential()
        preference = context.head.returnPreference
    }

    /// The answer as stored for retries.
    func kept(_ execution: Execution) -> JSONText {
        preference == "representation"
            ? execution.snapshotHead.kept(snapshotOf: execution.session) : response(execution).kept(snapshotOf: nil)
    }

    func response(_ execution: Execution) -> HTTPResponse {
        let headers = execution.location + [("ETag", execution.position.entityTag)]
        switch preference {
        case "minimal":
            return HTTPResponse(status: 204, headers: headers + [("Preference-Applied", "return=minimal")])
        case "representation":
            var response = execution.snapshotHead
            response.headers += [("Content-Type", "application/json"), ("ETag", execution.position.entityTag)]
            response.body = execution.displayed.body(of: execution.shown.snapshot)
            return response
        default: break
        }
        let outcome = execution.outcome
        let update = isSequential ? execution.shown.update.sequentialJSON : execution.shownUpdateText
        let body = JSONText.object(capacity: 128 + update.count) {
            $0.member("revision", execution.revision)
            switch outcome.kind {
            case .applied: $0.member("outcome", "applied")
            case .unchanged: $0.member("outcome", "unchanged")
            case .ignored(let reason):
                $0.member("outcome", "ignored")
                $0.member("reason", shortened(reason))
            }
            if case .dataSource = execution.command { $0.member("notification", outcome.notification?.json ?? .null) }
            $0.member("rows", outcome.tally?.json)
            $0.member("at", execution.place)
            $0.member("update", update)
        }
        return .json(body.bytes, status: execution.status, headers: headers)
    }
}

extension Execution {
    /// 201 if a data source call that names rows by id has inserted some.
    fileprivate var status: Int { outcome.inserted == nil ? 200 : 201 }

    /// If such a call has inserted one row with an id.
    fileprivate var location: [(String, String)] {
        guard let inserted = outcome.inserted, let id = inserted.id else { return [] }
        let path = ["v1", "sessions", session.id, "sections", inserted.section.text, "rows", id.text]
        return [("Location", path.map { "/" + $0.percentEncoded }.joined())]
    }

    /// `Prefer: return=representation`, without the snapshot and its fields.
    fileprivate var snapshotHead: HTTPResponse {
        HTTPResponse(status: status, headers: location + [("Preference-Applied", "return=representation")])
    }
}

extension String {
    /// As a path's segment: all but unreserved characters (RFC 3986, 2.3).
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
    /// `return` in `Prefer` (RFC 7240).
    var returnPreference: String? {
        guard let field = headers["prefer"] else { return nil }
        for preference in field.utf8[...].split(atUnquoted: ",", atMost: 64) {
            // Parameters are ignored.
            let bytes = preference.prefix { $0 != UInt8(ascii: ";") }.filter { !$0.isBlank && $0 != UInt8(ascii: "\"") }
            let text = String(decoding: bytes.map(\.lowercased), as: UTF8.self)
            if text.hasPrefix("return=") { return String(text.dropFirst(7)) }
        }
        return nil
    }
}
