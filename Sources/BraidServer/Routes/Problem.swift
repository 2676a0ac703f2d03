import BraidEngine

/// The problems that the server can answer with, each with a name, a status, a title and an explanation.
/// `GET /problems/{name}` returns the explanation. Source: RFC 9457.
enum Problem: String, CaseIterable, Sendable {
    case ambiguousRow = "ambiguous-row"
    case badRequest = "bad-request"
    case commandTimeout = "command-timeout"
    case baseTooOld = "base-too-old"
    case descriptionInvalid = "description-invalid"
    case duplicateRowID = "duplicate-row-id"
    case editingNotAllowed = "editing-not-allowed"
    case etagMismatch = "etag-mismatch"
    case eventInvalid = "event-invalid"
    case eventUndeclared = "event-undeclared"
    case expectationFailed = "expectation-failed"
    case handlerContract = "handler-contract"
    case headersTooLarge = "headers-too-large"
    case idempotencyKeyInUse = "idempotency-key-in-use"
    case idempotencyKeyReused = "idempotency-key-reused"
    case internalError = "internal-error"
    case invalidJSON = "invalid-json"
    case methodNotAllowed = "method-not-allowed"
    case modelInvalid = "model-invalid"
    case modelRequired = "model-required"
    case modelTypeMismatch = "model-type-mismatch"
    case misdirectedRequest = "misdirected-request"
    case moveNotAllowed = "move-not-allowed"
    case notAcceptable = "not-acceptable"
    case notFound = "not-found"
    case notImplemented = "not-implemented"
    case originNotAllowed = "origin-not-allowed"
    case preconditionFailed = "precondition-failed"
    case quotaExceeded = "quota-exceeded"
    case rejected
    case requestTimeout = "request-timeout"
    case role
    case rowGone = "row-gone"
    case rowNotFound = "row-not-found"
    case sectionNotFound = "section-not-found"
    case sectionsAreDeclared = "sections-are-declared"
    case sessionExists = "session-exists"
    case storageFull = "storage-full"
    case tableInUse = "table-in-use"
    case targetTooLong = "target-too-long"
    case templateFailed = "template-failed"
    case tooLarge = "content-too-large"
    case tooMany = "too-many-sessions"
    case tooManyRows = "too-many-rows"
    case tooManySections = "too-many-sections"
    case transactionTooLong = "transaction-too-long"
    case unauthorized
    case unavailable
    case unsupportedMediaType = "unsupported-media-type"
    case unsupportedVersion = "http-version-not-supported"

    var status: Int { facts.status }
    var title: String { facts.title }
    /// The explanation that `GET /problems/{name}` returns.
    var explanation: String { facts.explanation }

    /// Writes the members `type`, `title`, `status` and `detail`.
    func writeMembers(detail: String, to writer: inout JSONWriter) {
        writer.name("type")
        writer.value("/problems/\(rawValue)")
        writer.name("title")
        writer.value(title)
        writer.name("status")
        writer.value(status)
        writer.name("detail")
        writer.value(detail)
    }

    private var facts: (status: Int, title: String, explanation: String) {
        switch self {
        case .ambiguousRow:
            (
                409, "Ambiguous row",
                "Several displayed sections have a row with this id. Name the section in the row reference: {\"id\": …, \"section\": …}."
            )
        case .badRequest:
            (400, "Bad request", "The request is malformed; `errors` points at what is wrong.")
        case .baseTooOld:
            (
                409, "Base too old",
                "The journal no longer reaches back to the revision given as `base`. Fetch the snapshot."
            )
        case .commandTimeout:
            (
                422, "Command takes too long",
                "The command took longer than allowed (--command-timeout) and changed nothing. Send it in smaller parts."
            )
        case .descriptionInvalid:
            (422, "Invalid table description", "`errors` names every fault of the description with its JSON Pointer.")
        case .duplicateRowID: (422, "Duplicate row id", "The ids of a section's models must be unique.")
        case .editingNotAllowed:
            (
                403, "Editing not allowed",
                "The table's description does not allow this edit of this row; see the row's `editing` in the snapshot."
            )
        case .etagMismatch:
            (412, "The session has moved on", "The session is at another revision than the one in If-Match.")
        case .eventInvalid:
            (
                422, "Invalid event",
                "The event's parameters are not what its cell declares; `errors` points at what is wrong."
            )
        case .eventUndeclared:
            (
                422, "Event not declared",
                "The row's cell declares no event of this name; see `cells` in the table description."
            )
        case .expectationFailed: (417, "Expectation failed", "The only expectation known is 100-continue.")
        case .handlerContract:
            (
                409, "A handler broke its contract",
                "After its handlers ran, a command must have changed the section's row count by exactly one. The command was undone."
            )
        case .headersTooLarge:
            (431, "Header fields too large", "The request's header section has too many fields, or too many bytes.")
        case .idempotencyKeyInUse:
            (
                409, "Idempotency key in use",
                "The first request with this Idempotency-Key is still being answered. Try again in a moment."
            )
        case .idempotencyKeyReused:
            (
                422, "Idempotency key reused",
                "The Idempotency-Key was sent before with another request. Use a new key for every request."
            )
        case .internalError:
            (500, "Internal error", "The server failed. Its log contains the error under the request's id.")
        case .invalidJSON:
            (
                400, "Not JSON",
                "The body must be JSON (RFC 8259) and keep to I-JSON (RFC 7493): UTF-8, no lone surrogates, no duplicate member names."
            )
        case .methodNotAllowed: (405, "Method not allowed", "The `Allow` field lists the methods of this resource.")
        case .modelInvalid:
            (422, "Invalid model", "A model is not what its model type demands; `errors` points at what is wrong.")
        case .modelRequired:
            (422, "A model is required", "An insert needs a model, unless the description has an `insert.template`.")
        case .modelTypeMismatch:
            (409, "Model types differ", "Rows cannot be moved between sections whose models are of different types.")
        case .misdirectedRequest:
            (
                421, "Misdirected request",
                "The `Host` field names a host that this server does not answer for. Without a token it answers for IP addresses, localhost, its own --hostname, and the hosts of --allow-origin."
            )
        case .moveNotAllowed:
            (
                403, "Move not allowed",
                "The table's description does not allow this move; see `movable` and `movesTo` in the snapshot."
            )
        case .notAcceptable: (406, "Not acceptable", "The resource cannot be represented as the `Accept` field asks.")
        case .notFound: (404, "Not found", "There is no such resource.")
        case .notImplemented:
            (501, "Not implemented", "The server serves no method of this name anywhere; it is not a proxy.")
        case .originNotAllowed:
            (
                403, "Origin not allowed",
                "The request comes from a web page of another origin. Allow the origin with --allow-origin."
            )
        case .preconditionFailed:
            (
                412, "Precondition failed",
                "The request has a condition, If-Match or If-None-Match, that this resource does not evaluate. Nothing was changed."
            )
        case .quotaExceeded:
            (
                429, "Quota exceeded",
                "This session or this token already uses its share of a resource that all sessions use; `detail` names the resource. Other sessions are not affected. Try again after the time in `Retry-After`, with fewer requests at a time."
            )
        case .rejected:
            (409, "Rejected", "A handler of the table's description refused the command; `detail` has its reason.")
        case .requestTimeout: (408, "Request time-out", "The request did not arrive in time.")
        case .role:
            (
                403, "Another role is needed",
                "The token's role does not allow this; `WWW-Authenticate` names the role that does."
            )
        case .rowGone:
            (
                409, "Row gone",
                "The row, or the target of a move, existed at the revision given as `base`, but cannot be found now. Get the snapshot and use its rows."
            )
        case .rowNotFound: (404, "Row not found", "No such row or section is displayed.")
        case .sectionNotFound: (404, "Section not found", "The table has no such section.")
        case .sectionsAreDeclared:
            (409, "Sections are declared", "The table declares its sections: they cannot be added or removed.")
        case .sessionExists: (409, "Session exists", "A session with this id already exists.")
        case .storageFull: (507, "Storage full", "The disk is full: nothing was changed. Reads still work.")
        case .tableInUse: (409, "Table in use", "Sessions of this table exist; end them first.")
        case .targetTooLong: (414, "Target too long", "The request's target has too many bytes.")
        case .templateFailed:
            (
                422, "A template failed",
                "A template or expression of the description could not be evaluated for this data. Nothing was changed."
            )
        case .tooLarge: (413, "Content too large", "The request's body has too many bytes.")
        case .tooMany:
            (
                429, "Too many sessions",
                "There are as many sessions as the server allows (--max-sessions). End one first."
            )
        case .tooManyRows: (422, "Too many rows", "The table would have more rows than the server allows (--max-rows).")
        case .tooManySections:
            (422, "Too many sections", "The table would have more sections than the server allows (--max-sections).")
        case .transactionTooLong:
            (
                422, "Transaction too long",
                "The transaction has more commands than a requester of this role may send at once (--max-transaction, --participant-max-transaction). Nothing was changed. Send it in smaller parts."
            )
        case .unauthorized:
            (
                401, "Unauthorized",
                "A valid bearer token is needed: the controller's, or one for this session (RFC 6750)."
            )
        case .unavailable:
            (
                503, "Unavailable",
                "The server is starting, stopping or overloaded. Try again after the time in `Retry-After`."
            )
        case .unsupportedMediaType:
            (
                415, "Unsupported media type",
                "The resource does not accept a body of this media type. The answer names those that it accepts: in `Accept`, or in `Accept-Patch` if the request was a PATCH."
            )
        case .unsupportedVersion: (505, "HTTP version not supported", "The server speaks HTTP/1.1 and HTTP/1.0.")
        }
    }
}
