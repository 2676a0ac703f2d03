import BraidEngine

/// The explanation of one problem type: what `GET /problems/{name}` answers in addition to the problem's title and
/// status.
struct ProblemExplanation: Sendable {
    /// What the problem type means, in one sentence.
    var summary: String
    /// In which situation the server answers with this type of problem document.
    var cause: String
    /// What the client, or the operator of the server, should do about the problem.
    var remedy: String
    /// An example of a problem document of the explained type.
    var example: Example

    init(_ summary: String, cause: String, remedy: String, example: Example) {
        self.summary = summary
        self.cause = cause
        self.remedy = remedy
        self.example = example
    }

    /// The members of an example problem document that differ from one request to another, such as `detail`.
    struct Example: Sendable {
        /// The path of the request that the server refuses in the example.
        var path: String
        var detail: String
        /// The faults of the request's body in the example. Empty if the example document has no `errors`.
        var faults: [Refusal.Fault]

        /// - Parameter faults: the pointer, the code and the detail of each fault in the request's body.
        init(
            _ path: String, _ detail: String, faults: [(pointer: String, code: Refusal.Fault.Code, detail: String)] = []
        ) {
            self.path = path
            self.detail = detail
            self.faults = faults.map {
                .init(pointer: JSONPointer($0.pointer) ?? .root, code: $0.code, detail: $0.detail)
            }
        }
    }
}

extension Problem {
    /// Writes the JSON answer of `GET /problems/{name}` for this problem.
    func writePage(to writer: inout JSONWriter) {
        let explanation = explanation
        writeMembers(status: status, detail: explanation.summary, to: &writer)
        writer.member("cause", explanation.cause)
        writer.member("remedy", explanation.remedy)
        writer.name("example")
        let example = explanation.example
        ProblemError(self, example.detail, faults: example.faults)
            .write(path: example.path, requestID: "01J9ZK3T5W8Q", to: &writer)
    }

    // Most examples of problems are about one session, `contacts`. This session's declared sections are `friends`,
    // `blocked` and `notes`. The test suite ProblemPageTests causes most of these problems and compares the server's
    // documents with the examples.
    var explanation: ProblemExplanation {
        switch self {
        case .ambiguousRow:
            .init(
                "Several displayed sections contain a row with this id.",
                cause:
                    "The command names a row by its id alone. Ids are unique within a section, but not within a table.",
                remedy: "Name the section in the row reference: {\"id\": …, \"section\": …}.",
                example: .init(
                    "/v1/sessions/contacts/edits",
                    "The sections \"friends\" and \"blocked\" both have a row with the id \"bob\": name the section as well."
                ))
        case .badRequest:
            .init(
                "The request does not have the form that the resource requires.",
                cause:
                    "The body lacks a member, has an unknown one, or has a value of the wrong type. Or the path, the query or a header field is malformed.",
                remedy:
                    "Correct the request. If the body is at fault, each item of `errors` has the JSON Pointer to the place, a code and a sentence. Sending the same request again does not help.",
                example: .init(
                    "/v1/sessions/contacts/edits",
                    "The request's body is not valid. At \"/delete/index\": the member is unknown; the known members are `section`, `row`, `id`.",
                    faults: [
                        (
                            "/delete/index", .unknownMember,
                            "the member is unknown; the known members are `section`, `row`, `id`"
                        )
                    ]))
        case .baseTooOld:
            .init(
                "The server cannot rebase the command: it has no history back to the revision given as `base`.",
                cause:
                    "The session's journal was cut (--journal-limit, --journal-bytes), the session was opened again, or a call to the data source has a base while changes are not published.",
                remedy: "Get the snapshot, and send the command with the snapshot's position as `base`.",
                example: .init(
                    "/v1/sessions/contacts/edits", "The journal does not reach back to revision 12. Get the snapshot."))
        case .revisionNotAvailable:
            .init(
                "The session's journal does not reach back to the revision.",
                cause:
                    "The journal was cut (--journal-limit, --journal-bytes), the position is of an earlier epoch, or changes were not published at the revision and the journal begins after they were made.",
                remedy:
                    "Use a later revision: GET /v1/sessions/{id}/journal begins with the first revision that is available.",
                example: .init(
                    "/v1/sessions/contacts/snapshot",
                    "The journal of the session \"contacts\" does not reach back to revision 12."))
        case .changeTooLarge:
            .init(
                "The request would store more data at once than the server accepts. Nothing was changed.",
                cause:
                    "The command's update, the rows that it writes, and the rows that it replaces or removes have more than 400 MiB together. Or the session to copy has more than 400 MiB.",
                remedy: "Send several commands, each for fewer rows. To remove all rows at once, end the session.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The command would store about 1073758208 bytes at once: its update, the rows that it writes, and the rows that it replaces or removes. It may store 419430400 bytes. Send several commands, each for fewer rows."
                ))
        case .commandTimeout:
            .init(
                "The server worked on the command for longer than the command may take. Nothing was changed.",
                cause:
                    "The command or transaction is too large, or its templates take too long. The limits are --command-timeout and, for participants, --participant-command-timeout.",
                remedy:
                    "Send the command in smaller parts, simplify the templates, or raise the limit. If the server was only busy, the same command can succeed after the time in `Retry-After`.",
                example: .init(
                    "/v1/sessions/contacts/transactions",
                    "The command took more than the 30 seconds that it may take. Nothing was changed. Send it in smaller parts."
                ))
        case .descriptionInvalid:
            .init(
                "The table description has faults.",
                cause:
                    "A table description was registered, checked or used to open a session, and it breaks a rule of the format.",
                remedy:
                    "Correct the places that `errors` lists, at most the first hundred. `braid-server check` finds the same faults in a file, with line and column.",
                example: .init(
                    "/v1/tables/contacts",
                    "The table description has a fault. At \"/bindings/0/cell\": the cell \"ContactCel\" is not declared; add it to `cells`.",
                    faults: [
                        (
                            "/bindings/0/cell", .unknownName,
                            "the cell \"ContactCel\" is not declared; add it to `cells`"
                        )
                    ]))
        case .duplicateRowID:
            .init(
                "Two models of a section have the same id.",
                cause: "The command inserts or sets a model whose id another row of the section already has.",
                remedy: "Give each model of a section its own id.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The section \"friends\" already has a row with the id \"ada\"; ids must be unique within a section."
                ))
        case .editingNotAllowed:
            .init(
                "The table description does not allow this edit of this row.",
                cause:
                    "The row's editing style, which `editing` of its binding gives, does not allow the edit. Or the section's rows are derived from other data.",
                remedy:
                    "Offer only the edits that the row's `editing` in the snapshot names. To change a derived row, change what it is derived from.",
                example: .init(
                    "/v1/sessions/contacts/edits",
                    "Row 0 of the section \"notes\" does not allow delete; its editing style is none."))
        case .etagMismatch:
            .init(
                "The session or the table description is at another version than `If-Match` or `If-None-Match` demands. Nothing was changed.",
                cause:
                    "Another request changed the session or the table description after the client read it. Or the request must only create a table description (`If-None-Match: *`), and it exists.",
                remedy:
                    "Get the snapshot or the table description, decide again, and send the request with the new `ETag`. The answer's `ETag` is the present one.",
                example: .init(
                    "/v1/sessions/contacts/state",
                    "The session is at \"3f9c27a1.7\", not at \"3f9c27a1.6\". Get the snapshot, then decide again."))
        case .eventInvalid:
            .init(
                "The event's parameters do not match the schema that the row's cell declares.",
                cause:
                    "A cell's `events` in the table description declare a schema for each event, and the parameters break it.",
                remedy: "Correct the parameters at the places that `errors` lists.",
                example: .init(
                    "/v1/sessions/contacts/events",
                    "The parameters of the event \"called\" do not match the schema that the cell \"ContactCell\" declares. At \"/event/called/minutes\": must be a whole number from 0 to 255, not 300.",
                    faults: [
                        ("/event/called/minutes", .outOfRange, "must be a whole number from 0 to 255, not 300")
                    ]))
        case .eventUndeclared:
            .init(
                "The row's cell declares no event of this name.",
                cause: "The event's name is not in `events` of the cell in the table description.",
                remedy: "Send an event that the cell declares, or add the event to the cell in the table description.",
                example: .init(
                    "/v1/sessions/contacts/events",
                    "The cell \"ContactCell\" declares no event \"messaged\". It declares only \"called\"."))
        case .expectationFailed:
            .init(
                "The request's `Expect` field has an expectation that the server does not know.",
                cause: "The only expectation that the server knows is `100-continue`.",
                remedy: "Send the request without `Expect`, or with `Expect: 100-continue`.",
                example: .init("/v1/sessions", "The only expectation served is '100-continue'."))
        case .handlerContract:
            .init(
                "A handler of the table description failed, or did not do what the command requires. The command was undone.",
                cause:
                    "After a delete or an insert, the handlers must have changed the section's row count by exactly one. Or an action of a handler names a row or section that does not exist.",
                remedy: "Correct the handler in the table description. A client cannot do anything about it.",
                example: .init(
                    "/v1/sessions/contacts/edits",
                    "After onDelete the section \"friends\" has 2 rows instead of 1. The command was undone. Correct the handler."
                ))
        case .headersTooLarge:
            .init(
                "The request's header section has too many fields, or too many bytes.",
                cause:
                    "The request line and the fields together exceed --max-header-bytes, or there are more than 100 fields. Large cookies are the usual reason.",
                remedy: "Send fewer or shorter fields, or raise the limit.",
                example: .init("", "The request's head is longer than 32768 bytes."))
        case .idempotencyKeyInUse:
            .init(
                "The first request with this `Idempotency-Key` is not answered yet.",
                cause: "The client sent a request again while the server was still carrying it out.",
                remedy:
                    "Send the same request again after the time in `Retry-After`. It then gets the first one's answer.",
                example: .init(
                    "/v1/sessions/contacts/edits",
                    "The request with the Idempotency-Key \"order-17\" is still being carried out. Send it again after the time in `Retry-After`."
                ))
        case .idempotencyKeyReused:
            .init(
                "The `Idempotency-Key` belongs to another request.",
                cause: "The key was sent before with another method, target or body.",
                remedy: "Use a new key for each request. Use the same key only to send the same request again.",
                example: .init(
                    "/v1/sessions/contacts/taps",
                    "The Idempotency-Key \"order-17\" was sent before with another request. Use a new key for each request."
                ))
        case .injectedFault:
            .init(
                "A test has told the server to answer so. Only a server with `--test-mode` injects faults.",
                cause:
                    "A rule of `/v1/test/faults` matches the request. The rule also sets the answer's status, which can be any from 400 to 599.",
                remedy:
                    "Handle the status as your program would handle it from any server. Remove the rules with `DELETE /v1/test/faults`.",
                example: .init(
                    "/v1/sessions/contacts/snapshot",
                    "The fault \"fault-1\" of /v1/test/faults answers this request. Nothing was done."))
        case .internalError:
            .init(
                "The server failed. The request is not at fault.",
                cause: "A defect of the server, or damage to its database.",
                remedy:
                    "Find the cause in the server's log, under the answer's `requestId`. A command may be sent again with the same `Idempotency-Key`.",
                example: .init(
                    "/v1/sessions/contacts/snapshot",
                    "The server failed. Its log contains the cause, under the `requestId` of this answer."))
        case .invalidJSON:
            .init(
                "The body is not valid JSON.",
                cause:
                    "The body breaks RFC 8259 or I-JSON (RFC 7493): it must be UTF-8, without lone surrogates and without duplicate member names. Or it is nested deeper than --max-json-depth.",
                remedy: "Correct the body at the line and column that `detail` names.",
                example: .init(
                    "/v1/render",
                    "The body is not valid JSON: line 1, column 14: expected a value, but found `}`."))
        case .methodNotAllowed:
            .init(
                "The resource does not accept this method.",
                cause: "The path exists, but not with the method of the request.",
                remedy: "Use one of the methods that the answer's `Allow` field lists.",
                example: .init(
                    "/v1/sessions/contacts/snapshot",
                    "/v1/sessions/contacts/snapshot does not accept PUT. It accepts GET, HEAD, OPTIONS."))
        case .misdirectedRequest:
            .init(
                "The `Host` field names a host that the server does not answer for.",
                cause:
                    "A server without a token answers only for IP addresses, localhost, its --hostname and the hosts of --allow-origin. This protects it from web pages that reach it by another name (DNS rebinding).",
                remedy: "Use an address that the server answers for, or start it with --allow-origin or a token.",
                example: .init(
                    "/v1/tables",
                    "This server needs no token, so it does not answer for the host \"intranet.example\": web pages could reach it by that name. Use its IP address or localhost, or start it with --allow-origin or a token."
                ))
        case .idInvalid:
            .init(
                "A new row or section would have an id that no request can name.",
                cause: "The id is empty, too long, `.` or `..`, or contains NUL, so that it does not fit into a URL.",
                remedy: "Give the row or section another id.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "A row of the section \"friends\" cannot have the id \"..\": an id has 1 to 400 bytes of UTF-8 without NUL, and is not \".\" or \"..\"."
                ))
        case .modelInvalid:
            .init(
                "A model does not match its model type.",
                cause:
                    "The model breaks the schema of its model type, or it has no usable id at the place that the model type names.",
                remedy: "Correct the model at the places that `errors` lists, or change the model type.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "A model does not match the schema of the model type \"Contact\". At \"/friends/0/name\": must be a string, not 5.",
                    faults: [("/friends/0/name", .wrongType, "must be a string, not 5")]))
        case .modelRequired:
            .init(
                "The insert needs a model.",
                cause:
                    "The command has no `model`, and the section's binding has no `insert.template` that makes one.",
                remedy: "Send the model with the insert, or add an `insert.template` to the table description.",
                example: .init(
                    "/v1/sessions/contacts/edits",
                    "An insert into the section \"blocked\" needs a `model`: its binding has no `insert.template`."))
        case .modelsDoNotFit:
            .init(
                "The session has models or titles that do not fit the version of the table to which it would be bound.",
                cause:
                    "The version has no such section, its schema refuses a model, or two models of a section get the same id. Binding the session would lose them.",
                remedy:
                    "Change or remove the models at the places that `errors` lists, at most the first hundred. Or name the sections in the request's `discard`: the session then loses what does not fit.",
                example: .init(
                    "/v1/sessions/contacts/table",
                    "The session has content that does not fit this version of the table. Change the models, or name their sections in `discard` to lose what does not fit.",
                    faults: [
                        (
                            "/notes", .unknownName,
                            "the table has no such section any more, and the section has a model"
                        )
                    ]))
        case .modelTypeMismatch:
            .init(
                "A row cannot be moved between sections with models of different types.",
                cause: "The two sections' bindings have different `modelType`s.",
                remedy: "Move rows only between sections of one model type.",
                example: .init(
                    "/v1/sessions/contacts/moves",
                    "Rows of \"notes\" are of the model type \"Note\", those of \"friends\" of the type \"Contact\": they cannot be moved into each other."
                ))
        case .moveNotAllowed:
            .init(
                "The table description does not allow this move.",
                cause:
                    "The section has no `moving`, its `movable` does not hold for the row, or its `to` does not name the target section.",
                remedy:
                    "Offer only the moves that the row's `movable` and the section's `movesTo` in the snapshot allow.",
                example: .init(
                    "/v1/sessions/contacts/moves",
                    "The rows of the section \"friends\" cannot be moved to the section \"notes\". The snapshot's `movesTo` lists the sections to which they can be moved."
                ))
        case .notAcceptable:
            .init(
                "The resource has no representation that the `Accept` and `Accept-Encoding` fields allow.",
                cause:
                    "`Accept` excludes every media type with which the resource answers. Or `Accept-Encoding` excludes gzip, zstd and plain bodies.",
                remedy:
                    "Allow one of the media types or codings that `detail` names, or send no `Accept` and no `Accept-Encoding`.",
                example: .init(
                    "/v1/tables",
                    "The resource answers with application/json, which `Accept: text/html` does not allow. Send an `Accept` that allows it, or none."
                ))
        case .noSuchResource:
            .init(
                "The path names no resource of this server.",
                cause: "The path is misspelled, or a segment of it is missing or empty.",
                remedy: "Use one of the paths that /openapi.json lists.",
                example: .init(
                    "/v1/session", "The resource /v1/session does not exist. Did you mean /v1/sessions?"))
        case .notImplemented:
            .init(
                "The server serves this method for no resource.",
                cause: "The method is unknown, or it is CONNECT: the server is not a proxy.",
                remedy: "Use one of the methods that /openapi.json lists.",
                example: .init("", "This server is not a proxy: CONNECT is not served."))
        case .originNotAllowed:
            .init(
                "A web page of another origin sent the request.",
                cause: "A server without a token refuses requests of web pages, except those of --allow-origin.",
                remedy: "Start the server with --allow-origin for the page's origin, or with a token.",
                example: .init(
                    "/v1/tables",
                    "This server needs no token, so it refuses requests of pages of https://shop.example. Start it with --allow-origin or a token."
                ))
        case .outcomeUnknown:
            .init(
                "The server does not know whether the change is stored.",
                cause:
                    "The database did not confirm the change: its connection or its disk failed at this moment, and it did not come back in time.",
                remedy:
                    "Send the request again after the time in `Retry-After`, with the same `Idempotency-Key`: the change is then made once. Without a key, look first whether it was made.",
                example: .init("/v1/sessions/contacts/edits", ProblemError.outcomeUnknownDetail))
        case .preconditionFailed:
            .init(
                "The resource does not support the condition of the request. Nothing was done.",
                cause:
                    "The request has an `If-Match` or an `If-None-Match`, and the resource does not evaluate it for this method.",
                remedy: "Send the request without the condition.",
                example: .init(
                    "/v1/tables/contacts",
                    "DELETE /v1/tables/contacts does not support If-Match. Only requests that change or end a session do, and PUT /v1/tables/{table}. Send the request without it."
                ))
        case .quotaExceeded:
            .init(
                "This session or this token already uses its share of a resource that all sessions have in common.",
                cause:
                    "The session or the token has too many requests, subscribers or large bodies at the same time. Other sessions are not affected.",
                remedy: "Send fewer requests at a time, and try again after the time in `Retry-After`.",
                example: .init(
                    "/v1/sessions/contacts/updates",
                    "This session or this token already has its share of the server's requests: 1024 for a session, 128 for a token. Wait until some of them have ended."
                ))
        case .rejected:
            .init(
                "A handler of the table description refused the command.",
                cause: "A handler ran the action `reject`. The `detail` is the reason that the handler gave.",
                remedy: "Show the reason to the user. The command can succeed later, when the table has changed.",
                example: .init("/v1/sessions/contacts/edits", "Bob cannot be removed."))
        case .requestTimeout:
            .init(
                "The request did not arrive in time.",
                cause:
                    "The head took longer than --header-timeout, or the body arrived more slowly than --min-body-rate.",
                remedy: "Send the request again, on a faster connection or in smaller parts.",
                example: .init(
                    "/v1/sessions/contacts/models", "The body came at less than 1024 bytes a second."))
        case .role:
            .init(
                "The token's role does not allow this request.",
                cause: "The request is for controllers or participants, and the token is for a lower role.",
                remedy: "Send a token of the role that `WWW-Authenticate` names.",
                example: .init(
                    "/v1/sessions/contacts/state",
                    "This request needs a controller's token. The token that was sent is a viewer's."))
        case .rowGone:
            .init(
                "The row, or the target of the move, was displayed at `base` but cannot be found any more.",
                cause:
                    "Another command deleted or hid the row after the client's position. Or rows without ids changed, so that the server cannot tell which row is meant.",
                remedy: "Get the snapshot, show it to the user, and let the user decide again.",
                example: .init(
                    "/v1/sessions/contacts/taps",
                    "The row with the id \"carl\" is not displayed any more. Get the snapshot."))
        case .rowNotFound:
            .init(
                "The row or section that the command names is not displayed.",
                cause:
                    "The row's id or index, or the section's id or index, does not exist in the displayed table. Without `base`, the row may have been deleted in the meantime.",
                remedy: "Get the snapshot, and name a row of it. Send its position as `base`.",
                example: .init(
                    "/v1/sessions/contacts/taps", "No displayed row has the id \"nobody\". Get the snapshot."))
        case .sectionNotFound:
            .init(
                "The table has no section with this id.",
                cause: "The id is misspelled, or the table description does not declare the section.",
                remedy: "Use one of the table's sections, which `detail` lists, or declare the section.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The section \"invited\" does not exist. This table has \"friends\", \"blocked\", \"notes\"."))
        case .sectionsAreDeclared:
            .init(
                "The sections of this table cannot be added, removed or reordered.",
                cause: "The table description declares its `sections`, and the call would change them.",
                remedy: "Change the rows of the declared sections, or use a table with \"sections\": \"dynamic\".",
                example: .init(
                    "/v1/sessions/contacts/sections",
                    "The table declares its sections. They cannot be added, removed or put in another order. Change their rows instead, or use a table with dynamic sections."
                ))
        case .sessionExists:
            .init(
                "A session with this id exists already.",
                cause: "The `id` in the body is the id of an open session.",
                remedy: "Use the open session, end it first, or choose another id.",
                example: .init(
                    "/v1/sessions",
                    "A session with this id exists already. Choose another id, or end that session first."))
        case .sessionNotFound:
            .init(
                "The session does not exist.",
                cause:
                    "No session with this id was opened, the session was ended, or the request's token is for another session.",
                remedy: "Check the id, or open the session. Open sessions are at /v1/sessions.",
                example: .init(
                    "/v1/sessions/contact",
                    "The session \"contact\" does not exist. It was never opened, or it was ended."))
        case .storageFull:
            .init(
                "The server's disk is full. Nothing was changed.",
                cause: "The database cannot grow. Reads still work.",
                remedy: "Free disk space on the server. It then accepts changes again without a restart.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The server's disk is full. Nothing was changed. Send the request again when the disk has room."))
        case .tableInUse:
            .init(
                "The table description cannot be deleted while sessions use it.",
                cause: "Sessions were opened with this table description and have not been ended.",
                remedy: "End the sessions first.",
                example: .init(
                    "/v1/tables/contacts", "A session uses the table \"contacts\". End it first."))
        case .tableNotFound:
            .init(
                "The table description does not exist.",
                cause: "No table description was registered under this name, or it was deleted.",
                remedy: "Check the name, or register the table description with PUT.",
                example: .init(
                    "/v1/tables/contact",
                    "The table description \"contact\" does not exist. Register it with PUT /v1/tables/contact."))
        case .targetTooLong:
            .init(
                "The request's target, its path and query, is too long.",
                cause: "The target has more than 8 KiB.",
                remedy: "Send a shorter path and query. Put data into the body.",
                example: .init("", "The request's target is longer than 8192 bytes."))
        case .templateFailed:
            .init(
                "A template or an expression failed. Nothing was changed.",
                cause:
                    "A template or expression of the table description, or of the request, could not be evaluated with this data. Or it gave a value that its place does not allow.",
                remedy:
                    "Correct the template, or the data that it reads. `errors` names the template's place, and in a session the first rows for which it failed.",
                example: .init(
                    "/v1/render", "The template failed: division by zero.",
                    faults: [("/template/price/$eval", .templateFailed, "division by zero")]))
        case .tokenNotFound:
            .init(
                "The session has no token with this id.",
                cause: "The token never existed, it has expired, or it was revoked before.",
                remedy: "List the session's tokens. A token that is not listed is not valid.",
                example: .init(
                    "/v1/sessions/contacts/tokens/t1",
                    "The session \"contacts\" has no token \"t1\". It never existed, or it was revoked."))
        case .tooLarge:
            .init(
                "The request's body, or a line of it, has too many bytes.",
                cause:
                    "The body, or a line of an `observe` stream, exceeds --max-body-bytes. For a body in gzip, both the compressed and the decompressed bytes count.",
                remedy: "Send the data in smaller parts, or raise the limit.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The body is longer than the 16777216 bytes that the server accepts here."))
        case .tooMany:
            .init(
                "The server has as many sessions as it accepts.",
                cause: "The number of open sessions has reached --max-sessions.",
                remedy: "End sessions that are no longer needed, or raise the limit.",
                example: .init(
                    "/v1/sessions", "The server has 100000 sessions, as many as it accepts. End a session first."))
        case .tooManyRows:
            .init(
                "The table would have more rows than it may have. Nothing was changed.",
                cause: "The command would bring the stored or the displayed rows of the session above --max-rows.",
                remedy: "Remove rows first, divide the data among several sessions, or raise the limit.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The table would have more than 1000000 rows, the most that it may have. Remove rows first."))
        case .tooManySections:
            .init(
                "The table would have more sections than it may have. Nothing was changed.",
                cause: "The command would bring the session's sections above --max-sections.",
                remedy: "Remove sections first, divide the data among several sessions, or raise the limit.",
                example: .init(
                    "/v1/sessions/contacts/models",
                    "The table would have 10001 sections. It may have at most 10000. Remove sections first."))
        case .transactionTooLong:
            .init(
                "The transaction has more commands than it may have. Nothing was changed.",
                cause:
                    "The number of commands exceeds --max-transaction or, for participants, --participant-max-transaction.",
                remedy: "Send the commands in several transactions, or raise the limit.",
                example: .init(
                    "/v1/sessions/contacts/transactions",
                    "The transaction has 1001 commands. A participant's may have 1000. Send it in smaller parts."))
        case .unauthorized:
            .init(
                "The request needs a valid bearer token (RFC 6750).",
                cause: "The request has no token, or its token is unknown, expired or revoked.",
                remedy:
                    "Send the controller's token, or a token for the session, as `Authorization: Bearer <token>`. Get a new token if the old one has expired.",
                example: .init(
                    "/v1/tables", "This request needs a token. Send it as `Authorization: Bearer <token>`."))
        case .unavailable:
            .init(
                "The server cannot carry out the request at the moment.",
                cause:
                    "The server is starting, stopping or overloaded, its database is locked or unreachable, or its memory for large requests is in use.",
                remedy:
                    "Send the request again after the time in `Retry-After`, a command with the same `Idempotency-Key`.",
                example: .init(
                    "/v1/sessions/contacts/snapshot",
                    "The server has 2048 requests, as many as it accepts. Try again after the time in `Retry-After`."))
        case .unsupportedMediaType:
            .init(
                "The resource does not accept a body of this media type or coding.",
                cause:
                    "The `Content-Type` field is missing, or it names another media type. Or `Content-Encoding` names another coding than gzip.",
                remedy:
                    "Send one of the media types that the answer names: in `Accept`, or in `Accept-Patch` if the request was a PATCH. If the answer has `Accept-Encoding`, send the body in a coding that this field names.",
                example: .init(
                    "/v1/render",
                    "The body must be application/json, not text/plain. (With curl: -H 'Content-Type: application/json'.)"
                ))
        case .unsupportedVersion:
            .init(
                "The server does not speak this version of HTTP.",
                cause: "The request line names another version than HTTP/1.1 or HTTP/1.0.",
                remedy: "Use HTTP/1.1. A reverse proxy in front of the server can offer HTTP/2.",
                example: .init("", "This server speaks HTTP/1.1 and HTTP/1.0 only."))
        case .verificationFailed:
            .init(
                "Another number of recorded requests matches than a test has claimed. Only a server with `--test-mode` records requests.",
                cause:
                    "A test has sent `POST /v1/test/requests/verify`, and its claim is not true. `count` is the number of requests that match, and `requests` contains their ids.",
                remedy:
                    "Compare the `differences` of `nearestMisses` with what the program under test should have sent. `GET /v1/test/requests` lists all recorded requests.",
                example: .init(
                    "/v1/test/requests/verify", "0 of 2 recorded requests match, but exactly 1 should."))
        }
    }
}
