import BraidEngine
import BraidHTTP
import BraidSessions

/// DataSourceController's RowManager and SectionManager, and what can be read of the stored table.
///
/// Every call becomes the command `{"data-source": {call: arguments}}`: the request's body, with the indices of its
/// path as `at`, and `notify` from the query, if it stands there.
func dataSourceRoutes(_ sessions: Sessions) -> [Route] {
    func call(
        _ method: String, _ resource: String, _ call: DataSourceCommand.Call, query: Set<String> = ["notify"],
        path: @escaping @Sendable (RequestContext) throws -> [(name: String, value: JSONText)] = { _ in [] }
    ) -> Route {
        Route(
            method, "/v1/sessions/{id}/\(resource)", query: query.union(Sessions.commandQuery).union(["base"]),
            takesBody: true, obeysIfMatch: true, takesKey: true
        ) { context in
            var added = try path(context)
            if context.query("notify") != nil { added.append(("notify", .bool(try context.flag("notify")))) }
            let arguments = try context.arguments(adding: added)
            let command = try Command(dataSource: call, arguments: arguments)
            let text = JSONText(object: [("data-source", JSONText(object: [(call.rawValue, arguments)]))])
            return try sessions.reply(to: context, notifies: true) { _ in (command, text) }
        }
    }
    let row: @Sendable (RequestContext) throws -> [(name: String, value: JSONText)] = {
        [("at", JSONText(parts: [.number(try $0.index("section")), .number(try $0.index("row"))]))]
    }
    let section: @Sendable (RequestContext) throws -> [(name: String, value: JSONText)] = {
        [("at", .number(try $0.index("section")))]
    }
    return [
        call("POST", "rows", .addRow),
        call("PUT", "rows", .updateRows),
        call("PUT", "rows/{section}/{row}", .updateRow, path: row),
        call("DELETE", "rows/{section}/{row}", .removeRow, path: row),
        call("POST", "sections", .addSection),
        call("PUT", "sections", .updateAllSections),
        call("DELETE", "sections", .removeAllSections),
        call("PUT", "sections/{section}", .updateSection, path: section),
        call("DELETE", "sections/{section}", .removeSection, path: section),
        call("PUT", "sections/{section}/rows", .updateRowsOfSection, path: section),
        call("PUT", "sections/{section}/data", .updateSectionData, path: section),
        call("PUT", "cells-for-model-types/{modelType}", .registerCell, query: []) {
            [("modelType", .string($0.parameter("modelType")))]
        },
        Route("GET", "/v1/sessions/{id}/rows/{section}/{row}") { context in
            let path = RowPath(section: try context.index("section"), row: try context.index("row"))
            let id = context.parameter("id")
            return .later {
                let model = try await sessions.current(id).storedSnapshot.modelObject(at: path)
                return .json {
                    $0.beginObject()
                    $0.name("model")
                    $0.value(model)
                    $0.endObject()
                }
            }
        },
        Route("GET", "/v1/sessions/{id}/sections/{section}/data") { context in
            let section = try context.index("section")
            let id = context.parameter("id")
            return .later {
                let data = try await sessions.current(id).storedSnapshot.sectionData(for: section)
                return .json {
                    $0.beginObject()
                    $0.name("header")
                    $0.value(data.header)
                    $0.name("footer")
                    $0.value(data.footer)
                    $0.endObject()
                }
            }
        },
    ]
}

extension RequestContext {
    /// An index in the path: an integer from 0. One beyond all integers is out of any bounds, and no error.
    func index(_ name: String) throws -> Int {
        let text = parameter(name)
        guard text.utf8.allSatisfy(\.isDigit) else {
            throw ProblemError(.badRequest, "A \(name)'s index must be an integer from 0, not \"\(text)\".")
        }
        return Int(text) ?? .max
    }

    /// The body's members, none of which may stand in the path or the query as well. No body will do where it has
    /// nothing to say.
    func arguments(adding added: [(name: String, value: JSONText)]) throws -> JSONText {
        let body = request.body.isEmpty ? .emptyObject : try json()
        guard let members = body.members() else {
            throw Refusal(
                .badRequest, "The body must be an object.", faults: [.init(pointer: .root, detail: "must be an object")]
            )
        }
        for (name, _) in members where added.contains(where: { $0.name == name }) {
            throw Refusal(
                .badRequest, "The body's member `\(name)` stands in the path or the query already.",
                faults: [
                    .init(pointer: JSONPointer.root.appending(name), detail: "stands in the path or the query already")
                ])
        }
        return JSONText(object: added + members)
    }
}
