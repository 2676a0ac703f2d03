import BraidEngine
import CAssets

/// The problem types (RFC 9457); `docs/problems.json` explains each.
package enum Problem: String, CaseIterable, Sendable {
    case ambiguousRow = "ambiguous-row"
    case badRequest = "bad-request"
    case changeTooLarge = "change-too-large"
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
    case idInvalid = "id-invalid"
    case idempotencyKeyInUse = "idempotency-key-in-use"
    case idempotencyKeyReused = "idempotency-key-reused"
    case injectedFault = "injected-fault"
    case internalError = "internal-error"
    case invalidJSON = "invalid-json"
    case methodNotAllowed = "method-not-allowed"
    case modelInvalid = "model-invalid"
    case modelRequired = "model-required"
    case modelsDoNotFit = "models-do-not-fit"
    case modelTypeMismatch = "model-type-mismatch"
    case misdirectedRequest = "misdirected-request"
    case moveNotAllowed = "move-not-allowed"
    case notAcceptable = "not-acceptable"
    case noSuchResource = "no-such-resource"
    case notImplemented = "not-implemented"
    case originNotAllowed = "origin-not-allowed"
    case outcomeUnknown = "outcome-unknown"
    case preconditionFailed = "precondition-failed"
    case quotaExceeded = "quota-exceeded"
    case rejected
    case requestTimeout = "request-timeout"
    case revisionNotAvailable = "revision-not-available"
    case role
    case rowGone = "row-gone"
    case rowNotFound = "row-not-found"
    case scope
    case sectionNotFound = "section-not-found"
    case sectionsAreDeclared = "sections-are-declared"
    case sessionExists = "session-exists"
    case sessionNotFound = "session-not-found"
    case storageFull = "storage-full"
    case tableInUse = "table-in-use"
    case tableNotFound = "table-not-found"
    case targetTooLong = "target-too-long"
    case templateFailed = "template-failed"
    case tokenNotFound = "token-not-found"
    case tooLarge = "content-too-large"
    case tooMany = "too-many-sessions"
    case tooManyRows = "too-many-rows"
    case tooManySections = "too-many-sections"
    case transactionTooLong = "transaction-too-long"
    case unauthorized
    case unavailable
    case undoConflict = "undo-conflict"
    case undoNotAllowed = "undo-not-allowed"
    case unsupportedMediaType = "unsupported-media-type"
    case unsupportedVersion = "http-version-not-supported"
    case verificationFailed = "verification-failed"

    /// An injected fault can have another.
    package var status: Int { definition.status }
    var title: String { definition.title }

    /// The members with which every problem document begins.
    func writeMembers(status: Int, detail: String, to writer: inout JSONWriter) {
        writer.member("type", "/problems/\(rawValue)")
        writer.member("title", title)
        writer.member("status", status)
        writer.member("detail", shortened(detail))
    }

    private var definition: (status: Int, title: String) {
        switch self {
        case .ambiguousRow: (409, "Ambiguous row")
        case .badRequest: (400, "Bad request")
        case .baseTooOld: (409, "Base too old")
        case .changeTooLarge: (422, "Change too large")
        case .commandTimeout: (503, "Command takes too long")
        case .descriptionInvalid: (422, "Invalid table description")
        case .duplicateRowID: (422, "Duplicate row id")
        case .editingNotAllowed: (403, "Editing not allowed")
        case .etagMismatch: (412, "Entity tag mismatch")
        case .eventInvalid: (422, "Invalid event")
        case .eventUndeclared: (422, "Event not declared")
        case .expectationFailed: (417, "Expectation failed")
        case .handlerContract: (409, "A handler broke its contract")
        case .headersTooLarge: (431, "Header fields too large")
        case .idInvalid: (422, "Invalid id")
        case .idempotencyKeyInUse: (409, "Idempotency key in use")
        case .idempotencyKeyReused: (422, "Idempotency key reused")
        case .injectedFault: (500, "Injected fault")
        case .internalError: (500, "Internal error")
        case .invalidJSON: (400, "Not JSON")
        case .methodNotAllowed: (405, "Method not allowed")
        case .modelInvalid: (422, "Invalid model")
        case .modelRequired: (422, "A model is required")
        case .modelsDoNotFit: (409, "Models do not fit the table")
        case .modelTypeMismatch: (409, "Model types differ")
        case .misdirectedRequest: (421, "Misdirected request")
        case .moveNotAllowed: (403, "Move not allowed")
        case .notAcceptable: (406, "Not acceptable")
        case .noSuchResource: (404, "No such resource")
        case .notImplemented: (501, "Not implemented")
        case .originNotAllowed: (403, "Origin not allowed")
        case .outcomeUnknown: (503, "Outcome unknown")
        case .preconditionFailed: (412, "Precondition failed")
        case .quotaExceeded: (429, "Quota exceeded")
        case .rejected: (409, "Rejected")
        case .requestTimeout: (408, "Request time-out")
        case .revisionNotAvailable: (410, "Revision not available")
        case .role: (403, "Another role is needed")
        case .rowGone: (409, "Row gone")
        case .rowNotFound: (404, "Row not found")
        case .scope: (403, "The token does not cover this")
        case .sectionNotFound: (404, "Section not found")
        case .sectionsAreDeclared: (409, "Sections are declared")
        case .sessionExists: (409, "Session exists")
        case .sessionNotFound: (404, "Session not found")
        case .storageFull: (507, "Storage full")
        case .tableInUse: (409, "Table in use")
        case .tableNotFound: (404, "Table description not found")
        case .targetTooLong: (414, "Target too long")
        case .templateFailed: (422, "A template failed")
        case .tokenNotFound: (404, "Token not found")
        case .tooLarge: (413, "Content too large")
        case .tooMany: (429, "Too many sessions")
        case .tooManyRows: (422, "Too many rows")
        case .tooManySections: (422, "Too many sections")
        case .transactionTooLong: (422, "Transaction too long")
        case .unauthorized: (401, "Unauthorized")
        case .unavailable: (503, "Unavailable")
        case .undoConflict: (409, "Undo conflict")
        case .undoNotAllowed: (403, "Undo not allowed")
        case .unsupportedMediaType: (415, "Unsupported media type")
        case .unsupportedVersion: (505, "HTTP version not supported")
        case .verificationFailed: (422, "Verification failed")
        }
    }
}

extension Problem {
    /// `GET /problems/{name}`
    func writePage(to writer: inout JSONWriter) {
        let page = Self.pages[rawValue], example = page?["example"]
        writeMembers(status: status, detail: page?["summary"]?.stringValue ?? title, to: &writer)
        writer.member("cause", page?["cause"])
        writer.member("remedy", page?["remedy"])
        writer.object("example") {
            writeMembers(status: status, detail: example?["detail"]?.stringValue ?? title, to: &$0)
            $0.member("instance", example?["instance"])
            $0.member("requestId", "01J9ZK3T5W8Q")
            $0.member("errors", example?["errors"])
        }
    }

    /// `docs/problems.json`, by name: meaning, cause, remedy, example.
    static var pages: JSONText {
        let file = UnsafeBufferPointer(start: cassets_problems.bytes, count: cassets_problems.count)
        return (try? JSONText(parsing: Array(file))) ?? .emptyObject
    }
}
