import BraidHTTP
import BraidRuntime

// Account: the route's counters, and the log.

extension Exchange {
    package func count(_ response: HTTPResponse) -> HTTPResponse {
        let nanoseconds = monotonicNanoseconds() - start
        counters.count(status: response.status, nanoseconds: nanoseconds)
        app.log.answered(self, status: response.status, nanoseconds: nanoseconds)
        return response
    }

    private var counters: RouteCounters { route?.counters ?? app.metrics.unrouted }

    package func refusal(for failure: HTTPFailure, isHandled: Bool) -> HTTPResponse {
        var refused = self
        refused.verdict = .refused(failure)
        let problem = ProblemError(failure)
        refused.note(problem)
        var response = problem.response(path: head.plainPath, requestID: requestID)
        // A client without a token learns nothing about an overlong body. For other failures, the parsed part of the
        // head may lack `Authorization`.
        if failure.status == 413, head.framing != .none, let refusal = app.access.refusal(of: head) {
            response = refusal.response(path: head.plainPath, requestID: requestID)
        }
        addFields(to: &response)
        // `respond(reading:)` gets the failure, too, and counts it.
        if isHandled { return response }
        counters.count(status: response.status, nanoseconds: 0)
        app.log.answered(refused, status: response.status)
        return response
    }

    /// Logs a reached limit, or a page that may not send this.
    func note(_ problem: ProblemError) {
        if [.originNotAllowed, .misdirectedRequest].contains(problem.problem) { app.log.refusedPage(by: self) }
        guard let limit = problem.limit else { return }
        app.log.reached(limit, isShare: problem.problem == .quotaExceeded, by: self)
    }

    func write(_ level: LogLevel, _ message: String) {
        app.logLines?.write(level, message) { line in
            line.add("path", head.plainPath)
            line.add("requestId", requestID)
        }
    }
}
