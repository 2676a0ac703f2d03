import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// Returns the routes that register, validate, read and delete table descriptions.
func tableRoutes(store: any SessionStore, clock: Clock, limits: TableLimits) -> [Route] {
    [
        Route("GET", "/v1/tables") { _ in
            let tables = try await store.tables()
            return .json { writer in
                writer.beginObject()
                writer.name("tables")
                writer.beginArray()
                for table in tables {
                    writer.beginObject()
                    writer.name("table")
                    writer.value(table.name)
                    writer.name("version")
                    writer.value(table.version)
                    writer.name("updated")
                    writer.value(Instant(millisecondsSince1970: table.updated).text)
                    writer.endObject()
                }
                writer.endArray()
                writer.endObject()
            }
        },
        Route("POST", "/v1/tables/validate", takesBody: true) { context in
            let body = try context.json()
            let description = try TableDescription(body)
            // A fault of the models or the state in the description itself is only a warning. A session can be opened
            // with other models and another state.
            let warnings =
                description.warnings
                + [description.openingFault(within: limits, now: Instant(millisecondsSince1970: clock.now()).text)]
                .compactMap(\.self)
            return .json { writer in
                writer.beginObject()
                writer.name("table")
                writer.value(description.name)
                writer.name("valid")
                writer.value(true)
                writer.faults(warnings, named: "warnings")
                writer.endObject()
            }
        },
        Route("PUT", "/v1/tables/{table}", takesBody: true) { context in
            let name = context.parameter("table")
            guard TableDescription.isName(name) else {
                throw ProblemError(
                    .badRequest, "The path's table name is not valid: a name has \(TableDescription.nameRule).")
            }
            let body = try context.json()
            let description = try TableDescription(body)
            guard description.name == name else {
                throw Refusal(
                    .descriptionInvalid,
                    "The description has the name \"\(description.name)\", but the path has the name \"\(name)\".",
                    faults: [
                        .init(
                            pointer: JSONPointer.root.appending("table"), code: .conflict,
                            detail: "must be \"\(name)\", as in the path")
                    ])
            }
            var result = (version: 0, isNew: false)
            if let old = try await store.table(name), old.description == body {
                result.version = old.version
            } else {
                result = try await store.putTable(name, description: body.detached, at: clock.instant())
            }
            var response = HTTPResponse.json(status: result.isNew ? 201 : 200) { writer in
                writer.beginObject()
                writer.name("table")
                writer.value(name)
                writer.name("version")
                writer.value(result.version)
                writer.endObject()
            }
            if result.isNew { response.headers.append(("Location", "/v1/tables/\(name)")) }
            return response
        },
        Route("GET", "/v1/tables/{table}") { context in
            let name = context.parameter("table")
            guard let table = try await store.table(name) else {
                throw ProblemError(noTable: name)
            }
            return .json(table.description.bytes)
        },
        Route("DELETE", "/v1/tables/{table}") { context in
            let name = context.parameter("table")
            switch try await store.deleteTable(name) {
            case .deleted: return HTTPResponse(status: 204)
            case .missing: throw ProblemError(noTable: name)
            case .inUse(let sessions):
                throw ProblemError(
                    .tableInUse,
                    "\(sessions == 1 ? "A session uses" : "\(sessions) sessions use") the table \"\(name)\". End \(sessions == 1 ? "it" : "them") first."
                )
            }
        },
    ]
}

extension RequestContext {
    /// Parses the request's body as JSON.
    ///
    /// - Parameter deeper: the number of nesting levels that the body may have beyond the server's limit.
    /// - Throws: `invalidJSON` for an empty body, or `JSONError` if the body is not JSON or is nested too deeply.
    func json(deeper: Int = 0) throws -> JSONText {
        guard !request.body.isEmpty else { throw ProblemError(.invalidJSON, "The body is empty. It must be JSON.") }
        return try JSONText(parsing: request.body, depthLimit: limits.jsonDepth + deeper)
    }
}

extension HTTPResponse {
    static func json(status: Int = 200, headers: [(String, String)] = [], _ write: (inout JSONWriter) -> Void)
        -> HTTPResponse
    {
        var writer = JSONWriter()
        write(&writer)
        return .json(writer.bytes, status: status, headers: headers)
    }

    static func json(_ bytes: [UInt8], status: Int = 200, headers: [(String, String)] = []) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: .bytes(bytes))
    }
}
