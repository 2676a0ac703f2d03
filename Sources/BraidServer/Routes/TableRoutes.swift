import BraidEngine
import BraidHTTP
import BraidRuntime
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
                    table.writeVersion(to: &writer)
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
        Route("PUT", "/v1/tables/{table}", takesBody: true, obeysIfMatch: true, obeysIfNoneMatch: true) { context in
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
            let (table, change) = try await store.register(name, body.detached, if: context.head, at: clock.instant())
            let isNew = change == .newTable
            if change != .unchanged {
                context.logAct("table registered", ("table", name), ("version", "\(table.version)"))
            }
            var response = HTTPResponse.json(status: isNew ? 201 : 200, headers: [("ETag", table.entityTag)]) {
                writer in
                writer.beginObject()
                writer.name("table")
                writer.value(name)
                writer.name("version")
                writer.value(table.version)
                writer.endObject()
            }
            if isNew { response.headers.append(("Location", "/v1/tables/\(name)")) }
            return response
        },
        Route("GET", "/v1/tables/{table}") { context in
            let name = context.parameter("table")
            guard let table = try await store.table(name) else { throw ProblemError(noTable: name) }
            return table.response(to: context.head)
        },
        Route("GET", "/v1/tables/{table}/versions") { context in
            let name = context.parameter("table")
            let versions = try await store.versions(ofTable: name)
            guard !versions.isEmpty else { throw ProblemError(noTable: name) }
            return .json { writer in
                writer.beginObject()
                writer.name("table")
                writer.value(name)
                writer.name("versions")
                writer.beginArray()
                for version in versions {
                    writer.beginObject()
                    version.writeVersion(to: &writer)
                    writer.endObject()
                }
                writer.endArray()
                writer.endObject()
            }
        },
        Route("GET", "/v1/tables/{table}/versions/{version}") { context in
            let name = context.parameter("table"), text = context.parameter("version")
            // A version number that is too large for `Int` becomes `Int.max`, a version that does not exist.
            let version = text.utf8.allSatisfy(\.isDigit) ? Int(text) ?? .max : 0
            guard version > 0 else {
                throw ProblemError(.badRequest, "A table's version must be an integer from 1, not \"\(text)\".")
            }
            guard let table = try await store.table(name, version: version) else {
                let versions = try await store.versions(ofTable: name).map { String($0.version) }
                if versions.isEmpty { throw ProblemError(noTable: name) }
                throw ProblemError(
                    .tableNotFound,
                    "The table description \"\(name)\" has no version \(version). The server has: \(versions.joined(separator: ", "))."
                )
            }
            return table.response(to: context.head)
        },
        Route("DELETE", "/v1/tables/{table}") { context in
            let name = context.parameter("table")
            switch try await store.deleteTable(name) {
            case .deleted:
                context.logAct("table deleted", ("table", name))
                return HTTPResponse(status: 204)
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

/// Returns the route that shows the description files that the server watches. A long poll of this route counts as a
/// subscriber.
func fixtureRoute(_ files: WatchedFiles, subscribers: Quota) -> Route {
    Route("GET", "/v1/fixtures", query: ["since", "wait"], endsAtStop: true) { context in
        let since = try context.integer("since", in: 0...Int.max)
        let wait = try context.integer("wait", in: Route.waits) ?? 0
        let lease =
            wait == 0
            ? nil
            : try subscribers.required(
                "subscribers", option: "max-subscribers", for: context.account, retryAfter: 5)
        defer { lease?.end() }
        if let since { await files.waitForChange(of: since, within: .seconds(wait)) }
        return .json { files.write(to: &$0) }
    }
}

/// The result of registering a table description: a new table, a new version, or no change.
private enum Registration { case newTable, newVersion, unchanged }

extension SessionStore {
    /// Registers a table description if the latest version meets the request's conditions. Returns the latest version
    /// after the registration, and whether the registration made a new table or a new version.
    fileprivate func register(
        _ name: String, _ description: JSONText, if head: HTTPRequestHead, at: Int
    ) async throws -> (StoredTable, Registration) {
        while true {
            let old = try await table(name)
            try head.checkConditions(on: old, named: name)
            if let old, old.description == description { return (old, .unchanged) }
            do {
                let version = try await putTable(name, description: description, after: old?.version ?? 0, at: at)
                let table = StoredTable(name: name, version: version, updated: at, description: description)
                return (table, old == nil ? .newTable : .newVersion)
            } catch StoreError.tableChanged {
                // Another request has registered a version meanwhile: check the conditions against that version.
                continue
            }
        }
    }
}

extension StoredTable {
    /// Returns the answer to a GET of this version: the description, or a 304, with the version in the header field
    /// `Table-Version`.
    fileprivate func response(to head: HTTPRequestHead) -> HTTPResponse {
        var response =
            head.notModified(entityTag)
            ?? .json(description.bytes, headers: [("ETag", entityTag)])
        response.headers.append(("Table-Version", "\(version)"))
        return response
    }
}

extension Exchange {
    /// Parses the request's body as JSON.
    ///
    /// - Parameter deeper: the number of nesting levels that the body may have beyond the server's limit.
    /// - Throws: `invalidJSON` for an empty body, or `JSONError` if the body is not JSON or is nested too deeply.
    package func json(deeper: Int = 0) throws -> JSONText {
        guard !request.body.isEmpty else { throw ProblemError(.invalidJSON, "The body is empty. It must be JSON.") }
        return try JSONText(parsing: request.body, depthLimit: limits.jsonDepth + deeper)
    }
}

extension HTTPResponse {
    package static func json(status: Int = 200, headers: [(String, String)] = [], _ write: (inout JSONWriter) -> Void)
        -> HTTPResponse
    {
        var writer = JSONWriter()
        write(&writer)
        return .json(writer.bytes, status: status, headers: headers)
    }

    package static func json(_ bytes: [UInt8], status: Int = 200, headers: [(String, String)] = []) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: .bytes(bytes))
    }
}

extension TableSummary {
    /// Writes the members `version` and `updated` of an object that describes this version.
    fileprivate func writeVersion(to writer: inout JSONWriter) {
        writer.name("version")
        writer.value(version)
        writer.name("updated")
        writer.value(Instant(millisecondsSince1970: updated).text)
    }
}
