import BraidEngine
import BraidSessions

/// Who a route is for.
enum Admission: Sendable, Equatable {
    /// Also who has no token.
    case everyone
    case role(Role)
    /// The highest role that any of the transaction's commands needs.
    case commands

    /// Which route is for whom, all in one place: the column "role" of docs/http-api/README.md. What is not listed is
    /// for controllers; a test compares it with the router both ways.
    static let table: [String: Admission] = [
        // What runs the server, and says nothing about what is in it: health, metrics, the API's own description.
        "GET /healthz": .everyone,
        "GET /readyz": .everyone,
        "GET /metrics": .everyone,
        "GET /openapi.json": .everyone,
        "GET /problems/{name}": .everyone,
        // The inspector and the client, which ask for what they show.
        "GET /": .everyone,
        "GET /inspector.js": .everyone,
        "GET /inspector/{file}": .everyone,
        "GET /inspector.css": .everyone,
        "GET /braid.js": .everyone,
        "GET /braid.d.ts": .everyone,

        "GET /v1/tables": .role(.controller),
        "GET /v1/tables/{table}": .role(.controller),
        "PUT /v1/tables/{table}": .role(.controller),
        "DELETE /v1/tables/{table}": .role(.controller),
        "POST /v1/tables/validate": .role(.controller),
        "POST /v1/diff": .role(.controller),
        "POST /v1/render": .role(.controller),

        "POST /v1/sessions": .role(.controller),
        "GET /v1/sessions": .role(.controller),
        "GET /v1/sessions/{id}": .role(.viewer),
        "DELETE /v1/sessions/{id}": .role(.controller),
        "GET /v1/sessions/{id}/snapshot": .role(.viewer),
        "GET /v1/sessions/{id}/updates": .role(.viewer),
        "GET /v1/sessions/{id}/journal": .role(.controller),
        "POST /v1/sessions/{id}/tokens": .role(.controller),
        "GET /v1/sessions/{id}/tokens": .role(.controller),
        "DELETE /v1/sessions/{id}/tokens/{token}": .role(.controller),

        "POST /v1/sessions/{id}/edits": .role(.participant),
        "POST /v1/sessions/{id}/moves": .role(.participant),
        "POST /v1/sessions/{id}/events": .role(.participant),
        "POST /v1/sessions/{id}/taps": .role(.participant),
        "POST /v1/sessions/{id}/displayed-rows": .role(.participant),
        "PUT /v1/sessions/{id}/models": .role(.controller),
        "PUT /v1/sessions/{id}/headers": .role(.controller),
        "PUT /v1/sessions/{id}/footers": .role(.controller),
        "PUT /v1/sessions/{id}/displayed-sections": .role(.controller),
        "PATCH /v1/sessions/{id}/state": .role(.controller),
        "POST /v1/sessions/{id}/transactions": .commands,
        "POST /v1/sessions/{id}/reset": .role(.controller),
        "POST /v1/sessions/{id}/observe": .role(.controller),

        // The data source.
        "POST /v1/sessions/{id}/rows": .role(.controller),
        "PUT /v1/sessions/{id}/rows": .role(.controller),
        "GET /v1/sessions/{id}/rows/{section}/{row}": .role(.controller),
        "PUT /v1/sessions/{id}/rows/{section}/{row}": .role(.controller),
        "DELETE /v1/sessions/{id}/rows/{section}/{row}": .role(.controller),
        "POST /v1/sessions/{id}/sections": .role(.controller),
        "PUT /v1/sessions/{id}/sections": .role(.controller),
        "DELETE /v1/sessions/{id}/sections": .role(.controller),
        "PUT /v1/sessions/{id}/sections/{section}": .role(.controller),
        "DELETE /v1/sessions/{id}/sections/{section}": .role(.controller),
        "PUT /v1/sessions/{id}/sections/{section}/rows": .role(.controller),
        "GET /v1/sessions/{id}/sections/{section}/data": .role(.controller),
        "PUT /v1/sessions/{id}/sections/{section}/data": .role(.controller),
        "PUT /v1/sessions/{id}/cells-for-model-types/{modelType}": .role(.controller),
    ]

    /// The least role that is let in; nil: none is needed.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may do nothing, so no transaction of one is read.
        case .commands: .participant
        }
    }
}

extension Command {
    /// The role that it needs: that of the resource which takes it.
    var role: Role {
        switch self {
        case .delete, .insert, .move, .tap, .event, .displayedRows: .participant
        case .setModels, .setHeaders, .setFooters, .setDisplayedSections, .patchState, .dataSource, .reset: .controller
        case .transaction(let commands): commands.map(\.role).max() ?? .participant
        }
    }
}
