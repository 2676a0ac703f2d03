import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

func tableRoutes(_ sessions: SessionHost, limits: TableLimits) -> [Route] {
    let store = sessions.store, clock = sessions.clock
    return [
        Route("GET", "/v1/tables", servesLimitedTokens: true) { context in
            let tables = try await store.tables().filter { context.requester.scope.covers(table: $0.name) }
            return .object {
                $0.array("tables", of: tables) { writer, table in
                    writer.object {
                        $0.member("table", table.name)
                        table.writeVersion(to: &$0)
                    }
                }
            }
        },
        Route("POST", "/v1/tables/validate", takesBody: true, servesLimitedTokens: true) { context in
            let body = try context.json()
            let description = try TableDescription(body)
            // Its own models or state may be at fault: only a warning, as sessions can open with others.
            let warnings =
                description.warnings
                + [description.openingFault(within: limits, now: Instant(millisecondsSince1970: clock.now()).text)]
                .compactMap(\.self)
            return .object {
                $0.member("table", description.name)
                $0.member("valid", true)
                $0.nonEmptyArray("warnings", of: warnings) { $0.value($1) }
            }
        },
        Route("PUT", "/v1/tables/{table}", takesBody: true, obeysIfMatch: true, obeysIfNoneMatch: true) { context in
            let name = context.parameter("table")
            guard TableDescription.isName(name) else {
                throw ProblemError(
                    .badRequest, "The path's table name is not valid: a name has \(TableDescription.nameRule).")
            }
            let body = try context.json()
            let description = try sessions.descriptions.compile(new: body)
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
            let (table, change) = try await store.register(
                name, description.text, if: context.head, at: clock.instant())
            let isNew = change == .newTable
            if change != .unchanged {
                context.logAct("table registered", ("table", name), ("version", "\(table.version)"))
            }
            var response = HTTPResponse.object(status: isNew ? 201 : 200, headers: [("ETag", table.entityTag)]) {
                $0.member("table", name)
                $0.member("version", table.version)
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
            return .object {
                $0.member("table", name)
                $0.array("versions", of: versions) { writer, version in
                    writer.object { version.writeVersion(to: &$0) }
                }
            }
        },
        Route("GET", "/v1/tables/{table}/versions/{version}") { context in
            let name = context.parameter("table"), text = context.parameter("version")
            guard let version = Int(clampingDigits: text), version > 0 else {
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

func fixtureRoute(_ files: WatchedFiles, subscribers: Quota) -> Route {
    Route("GET", "/v1/fixtures", query: ["since", "wait"], endsAtStop: true, servesLimitedTokens: true) { context in
        let since = try context.integer("since", in: 0...Int.max)
        let wait = try context.integer("wait", in: Route.waits) ?? 0
        let lease =
            wait == 0
            ? nil
            : try subscribers.required(
                "subscribers", option: "max-subscribers", for: context.account, retryAfter: 5)
        defer { lease?.end() }
        if let since { await files.waitForChange(of: since, within: .seconds(wait)) }
        return .json(files.list(within: context.requester.scope))
    }
}

private enum Registration { case newTable, newVersion, unchanged }

extension SessionStore {
    /// Registers the description if the latest version meets the conditions; returns what is then the latest.
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
                // Another request was first: check the conditions again.
                continue
            }
        }
    }
}

extension StoredTable {
    fileprivate func response(to head: HTTPRequestHead) -> HTTPResponse {
        var response =
            head.notModified(entityTag)
            ?? .json(description.bytes, headers: [("ETag", entityTag)])
        response.headers.append(("Table-Version", "\(version)"))
        return response
    }
}

extension TableSummary {
    fileprivate func writeVersion(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("updated", Instant(millisecondsSince1970: updated))
    }
}
