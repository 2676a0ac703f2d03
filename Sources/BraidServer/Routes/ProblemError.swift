import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore

/// An error as clients receive it.
package struct ProblemError: Error, Sendable {
    var problem: Problem
    package var status: Int
    package var detail: String
    package var faults: [Refusal.Fault] = []
    package var headers: [(String, String)] = []
    /// The body's faulty line, or the first missing one, from 1.
    package var line: Int?
    /// `detail` without the rows for which a template failed; `nil` if it names none.
    private var detailWithoutPlace: String?
    /// Writes members that only this kind of problem has.
    package var writeMembers: (@Sendable (inout JSONWriter) -> Void)?
    /// The option of the reached limit.
    var limit: String?

    package init(_ problem: Problem, _ detail: String, faults: [Refusal.Fault] = [], headers: [(String, String)] = []) {
        self.problem = problem
        status = problem.status
        self.detail = detail
        self.faults = faults
        self.headers = headers
    }

    package init(unavailable detail: String, retryAfter seconds: Int = 1) {
        self.init(.unavailable, detail, headers: [("Retry-After", "\(seconds)")])
    }

    /// Long: the command has just used much of the server's time.
    private static let timeoutRetrySeconds = 10

    static let outcomeUnknownDetail =
        "The database did not confirm the change, so it may be stored or not. Send the request again with the same Idempotency-Key."

    package init(_ refusal: Refusal) {
        self.init(Problem(rawValue: refusal.code.rawValue) ?? .badRequest, refusal.detail, faults: refusal.faults)
        switch refusal.code {
        case .templateFailed where refusal.faults.contains { $0.place != nil }:
            detail = refusal.detailWithPlace
            detailWithoutPlace = refusal.detail
        case .commandTimeout: headers.append(("Retry-After", "\(Self.timeoutRetrySeconds)"))
        // Others' details name the place already.
        case .descriptionInvalid, .eventInvalid, .modelInvalid:
            guard let first = refusal.faults.first, first.detail != refusal.detail else { break }
            let pointer = first.pointer.description
            var place = pointer.isEmpty ? "the root" : "\"\(pointer)\""
            // A very long pointer would double the answer.
            if pointer.utf8.count > 1_000 { place = "the first pointer of `errors`" }
            let others = refusal.faults.count > 1 ? " `errors` lists all faults." : ""
            detail += " At \(place): \(first.detail.asSentence)\(others)"
        default: break
        }
    }

    package init(_ error: SessionError) {
        let problem: Problem =
            switch error.code {
            case .badRequest: .badRequest
            case .baseTooOld: .baseTooOld
            case .changeTooLarge: .changeTooLarge
            case .idempotencyKeyInUse: .idempotencyKeyInUse
            case .idempotencyKeyReused: .idempotencyKeyReused
            case .internalError: .internalError
            case .invalidToken: .unauthorized
            case .noSession: .sessionNotFound
            case .noTable: .tableNotFound
            case .positionMismatch: .etagMismatch
            case .quotaExceeded: .quotaExceeded
            case .revisionNotAvailable: .revisionNotAvailable
            case .tooManySessions: .tooMany
            case .transactionTooLong: .transactionTooLong
            case .unavailable: .unavailable
            }
        self.init(problem, error.message)
        if let seconds = error.retryAfter { headers.append(("Retry-After", "\(seconds)")) }
        limit = error.limit
        if let position = error.position { headers.append(("ETag", position.entityTag)) }
        if error.code == .invalidToken { headers.append(Bearer.invalidChallenge) }
    }

    package init(_ error: JSONError) {
        self.init(
            .invalidJSON, "The body is not valid JSON: line \(error.line), column \(error.column): \(error.message).")
    }

    package init(_ failure: HTTPFailure) {
        let problem: Problem =
            switch failure.status {
            case 408: .requestTimeout
            case 413: .tooLarge
            case 414: .targetTooLong
            case 417: .expectationFailed
            case 429: .quotaExceeded
            case 431: .headersTooLarge
            case 500: .internalError
            case 501: .notImplemented
            case 503: .unavailable
            case 505: .unsupportedVersion
            default: .badRequest
            }
        self.init(
            problem, failure.detail,
            headers: problem == .unavailable || problem == .quotaExceeded ? [("Retry-After", "1")] : [])
        if failure.isMemoryLimit { limit = "max-buffered-bytes" }
    }

    init(noTable name: String) {
        self.init(
            .tableNotFound, "The table description \"\(name)\" does not exist. Register it with PUT /v1/tables/\(name)."
        )
    }

    /// `nil` for the server's own unexpected fault, which is logged and not shown.
    package init?(_ error: any Error) {
        switch error {
        case let problem as ProblemError: self = problem
        case let error as SessionError: self.init(error)
        case let refusal as Refusal: self.init(refusal)
        case let error as JSONError: self.init(error)
        case let failure as HTTPFailure: self.init(failure)
        case let error as StoreError:
            switch error {
            case .sessionExists:
                self.init(
                    .sessionExists,
                    "A session with this id exists already. Choose another id, or end that session first.")
            case .full:
                self.init(
                    .storageFull,
                    "The server's disk is full. Nothing was changed. Send the request again when the disk has room.")
            case .tooLarge:
                self.init(
                    .changeTooLarge,
                    "The request would store more data at once than the database accepts. Nothing was changed. Send several requests, each for fewer rows."
                )
            case .sessionMissing:
                self.init(
                    .sessionNotFound,
                    "The session does not exist any more: it was ended while the request was carried out.")
            case .tableMissing:
                self.init(
                    .tableNotFound,
                    "The table description was deleted while the request was carried out. Register it again."
                )
            case .tableChanged:
                self.init(
                    unavailable:
                        "The table description was registered again at the same time. Try again after the time in `Retry-After`."
                )
            case .busy:
                self.init(
                    unavailable: "Another program has locked the database. Try again after the time in `Retry-After`.")
            case .readOnly:
                self.init(
                    unavailable: "The database is read-only at the moment. Try again after the time in `Retry-After`.")
            case .newerVersion:
                self.init(
                    unavailable:
                        "A newer server has upgraded the database, and this server cannot use it any more. Send the request to the newer server."
                )
            case .outcomeUnknown:
                self.init(.outcomeUnknown, Self.outcomeUnknownDetail, headers: [("Retry-After", "1")])
            case .unavailable:
                self.init(unavailable: "The database is not available. Try again after the time in `Retry-After`.")
            case .closed: self.init(unavailable: "The server is stopping.")
            case .revisionConflict:
                self.init(
                    unavailable:
                        "Another server changed the session at the same time. Try again after the time in `Retry-After`."
                )
            default: return nil
            }
        default: return nil
        }
    }

    /// Only controllers may know the rows for which a template failed.
    func shown(to requester: Requester?) -> ProblemError {
        guard let detailWithoutPlace, requester?.role != .controller else { return self }
        var error = self
        error.detail = detailWithoutPlace
        error.faults.removeAll { $0.place != nil }
        return error
    }

    /// `path` is without the query.
    func response(path: String, requestID: String) -> HTTPResponse {
        var writer = JSONWriter()
        write(path: path, requestID: requestID, to: &writer)
        return HTTPResponse(
            status: status, headers: [("Content-Type", "application/problem+json")] + headers,
            body: .bytes(writer.bytes))
    }

    /// RFC 9457.
    func write(path: String, requestID: String, to writer: inout JSONWriter) {
        writer.object {
            problem.writeMembers(status: status, detail: detail, to: &$0)
            $0.member("instance", path)
            $0.member("requestId", requestID)
            $0.member("line", line)
            $0.nonEmptyArray("errors", of: faults) { $0.value($1) }
            writeMembers?(&$0)
        }
    }
}

// In a problem's `errors`, or in `warnings`.
extension Refusal.Fault: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.member("pointer", pointer.shortened.description)
            $0.member("code", code.rawValue)
            $0.member("detail", shortened(detail))
            $0.member("section", place?.section)
            $0.member("row", place?.row)
            $0.member("id", place?.id.map { shortened($0.text) })
        }
    }
}
