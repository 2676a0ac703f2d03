import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// DataSourceController's RowManager and SectionManager, and reads of the stored table.
///
/// Each call becomes `{"dataSource": {call: arguments}}`, from the body's members (or the whole body as one), the
/// query's `notify` and the path's parameters.
func dataSourceRoutes(_ sessions: SessionHost) -> [Route] {
    DataSourceCommand.Call.allCases.map { call in
        var query = CommandForm.query.union(["base", "strict"])
        if call.acceptsNotify { query.insert("notify") }
        let (method, path) = call.resource
        return Route(
            method.rawValue, "/v1/sessions/{id}/\(path)", for: .role(CommandKind.dataSource.role), query: query,
            takesBody: true, bodyTypes: call.acceptsLines ? ["application/json", BodyLines.mediaType] : nil,
            obeysIfMatch: true, takesKey: true
        ) { context in
            let arguments = try await context.arguments(of: call, sessions)
            let command = try Command(dataSource: call, arguments: arguments)
            let text = JSONText(object: [("dataSource", JSONText(object: [(call.rawValue, arguments)]))])
            return try await sessions.answer(context, executing: command, text: text)
        }
    } + [
        Route("GET", "/v1/sessions/{id}/models", query: ["section", "after", "limit"]) { context in
            let after = try context.query("after").map { try ModelCursor($0) }
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            let session = try await context.session(sessions)
            let (revision, page, next) = try session.models(
                of: context.query("section").map { SectionID($0) }, after: after, limit: limit)
            let tag = session.position(at: revision).entityTag
            if let unchanged = context.head.notModified(tag) { return unchanged }
            let lease = try sessions.streams.lease(page.bytes, for: context.account)
            var response = HTTPResponse.object(headers: [("ETag", tag)]) {
                $0.member("session", session.id)
                $0.member("epoch", session.epoch)
                $0.member("revision", revision)
                $0.array("models", of: page.rows) { writer, entry in
                    writer.object {
                        $0.member("section", entry.section)
                        $0.member("id", entry.row.id)
                        $0.member("model", entry.row.model)
                    }
                }
                $0.member("next", next?.description)
            }
            response.lease = lease
            return response
        },
        Route("GET", "/v1/sessions/{id}/rows/{section}/{row}") { context in
            let path = RowPath(section: try context.index("section"), row: try context.index("row"))
            let model = try await context.session(sessions).storedSnapshot.modelObject(at: path)
            let lease = try sessions.streams.lease(model.count, for: context.account)
            var response = HTTPResponse.object {
                $0.member("model", model)
            }
            response.lease = lease
            return response
        },
        Route("GET", "/v1/sessions/{id}/sections/{section}/rows/{rowId}") { context in
            let session = try await context.session(sessions)
            let (revision, model) = try session.storedModel(
                of: RowID(context.parameter("rowId")), in: try context.section(of: session))
            let tag = session.position(at: revision).entityTag
            if let unchanged = context.head.notModified(tag) { return unchanged }
            let lease = try sessions.streams.lease(model.count, for: context.account)
            var response = HTTPResponse.json(model, headers: [("ETag", tag)])
            response.lease = lease
            return response
        },
        Route("GET", "/v1/sessions/{id}/sections/{section}/data") { context in
            let session = try await context.session(sessions)
            let data = try session.storedSnapshot.sectionData(for: try context.section(of: session))
            return .object {
                $0.member("header", data.header)
                $0.member("footer", data.footer)
            }
        },
    ]
}

extension Exchange {
    /// `Int.max` for one too large, which no range contains.
    func index(_ name: String) throws -> Int {
        let text = parameter(name)
        guard let index = Int(clampingDigits: text) else {
            throw ProblemError(.badRequest, "A \(name)'s index must be an integer from 0, not \"\(text)\".")
        }
        return index
    }

    /// By id or, if no section has a number as its id, by index among the displayed ones.
    fileprivate func section(of session: Session) throws -> SectionReference {
        let text = parameter("section"), digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard Int(clampingDigits: digits) != nil, session.countsSections else {
            return .id(SectionID(text))
        }
        return .displayed(try index("section"))
    }

    private func lines() throws -> JSONText {
        var values: [JSONText] = []
        for (number, line) in body.split(separator: .lineFeed, omittingEmptySubsequences: false).enumerated()
        where !BodyLines.isBlank(line) {
            do {
                values.append(try JSONText(parsing: Array(line), depthLimit: limits.jsonDepth))
            } catch {
                throw JSONError(
                    offset: line.startIndex + error.offset, line: number + 1, column: error.column,
                    message: error.message)
            }
        }
        return JSONText(values)
    }

    /// From body, path and query, each given once. Without arguments, no body is needed.
    fileprivate func arguments(of call: DataSourceCommand.Call, _ sessions: SessionHost) async throws -> JSONText {
        var added: [(name: String, value: JSONText)] = []
        if hasParameter("row") {
            added.append(("at", JSONText([try index("section"), try index("row")])))
        } else if hasParameter("section") {
            let session = try await self.session(sessions)
            added.append((call.sectionArgument, try section(of: session).json))
        }
        for name in ["rowId", "modelType"] where hasParameter(name) {
            added.append((name, .string(parameter(name))))
        }
        if query("notify") != nil { added.append(("notify", .bool(try flag("notify")))) }
        if let name = call.wholeBody { return JSONText(object: added + [(name, try json())]) }
        if head.bodyType == BodyLines.mediaType { return JSONText(object: added + [("models", try lines())]) }
        let arguments = body.isEmpty ? .emptyObject : try json()
        guard let members = arguments.members() else {
            throw Refusal("The body must be an object.", .wrongType, "must be an object")
        }
        for (name, _) in members where added.contains(where: { $0.name == name }) {
            throw Refusal(
                "The body's member `\(name)` is already given by the path or the query. Remove it from the body.",
                at: JSONPointer.root.appending(name), .conflict, "is already given by the path or the query")
        }
        return JSONText(object: added + members)
    }
}
