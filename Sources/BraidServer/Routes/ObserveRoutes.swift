import BraidEngine
import BraidHTTP
import BraidSessions

/// A stream of models (Braid's Rx binding), each line like a body of `PATCH …/models`.
func observeRoutes(_ sessions: SessionHost, limits: ServerLimits) -> [Route] {
    [
        Route(
            "POST", "/v1/sessions/{id}/observe", streamedBody: BodyLines.mediaType,
            obeysIfMatch: true
        ) { context, body in
            let id = context.parameter("id")
            let session = try await context.session(sessions)
            let start = session.position
            var revision = start.revision
            // For the first line only, which can change the position.
            var condition = context.head.positionCondition
            try condition?.check(start)
            var lines = BodyLines(body, limit: limits.bodyBytes, isGzip: try context.head.hasGzipBody)
            var applied = 0, unchanged = 0
            do {
                // The next line is read after this one's commit, which slows a fast sender down.
                while let line = try await lines.next() {
                    let models = try JSONText(parsing: line, depthLimit: limits.jsonDepth)
                    let command = try Command(kind: "patchModels", body: models)
                    let text = JSONText(object: [("patchModels", models)])
                    var request = CommandRequest(session: id, number: session.number, command, text: text)
                    request.condition = condition
                    request.sender = Looker(context.requester.user)
                    let execution = try await sessions.execute(request)
                    condition = nil
                    revision = execution.revision
                    if execution.outcome.kind == .applied { applied += 1 } else { unchanged += 1 }
                }
            } catch let error as JSONError {
                throw ProblemError(
                    .invalidJSON, "The line is not valid JSON: column \(error.column): \(error.message)."
                ).at(line: lines.number)
            } catch let failure as HTTPFailure {
                // The body broke off, for example.
                throw ProblemError(failure).at(line: lines.number + 1)
            } catch {
                throw ProblemError(error).map { $0.line == nil ? $0.at(line: lines.number) : $0 } ?? error
            }
            return .object {
                $0.member("applied", applied)
                $0.member("unchanged", unchanged)
                $0.member("revision", revision)
            }
        }
    ]
}

extension ProblemError {
    /// The faulty line, or the first missing one.
    func at(line number: Int) -> ProblemError {
        var error = self
        error.line = number
        error.detail = "\(detail) This is line \(number); the lines before it have been applied."
        let faults = faults.isEmpty ? [Refusal.Fault(pointer: .root, code: .refused, detail: detail)] : faults
        error.faults = faults
        for index in faults.indices { error.faults[index].detail = "line \(number): \(faults[index].detail)" }
        return error
    }
}
