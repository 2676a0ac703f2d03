import BraidHTTP
import BraidRuntime

// Admit, on the event loop: page, CORS and OPTIONS, route, token, the place among the current requests.

extension App: HTTPHandler {
    /// Route and sender, found once for the whole exchange.
    package func receive(_ head: HTTPRequestHead) -> Exchange {
        let id = requestID(of: head)
        func exchange(_ route: Route?, _ verdict: Exchange.Verdict) -> Exchange {
            Exchange(app: self, head: head, requestID: id, route: route, verdict: verdict)
        }
        let match = router.match(method: head.method, path: head.path)
        if let response = pages.preflight(head) { return exchange(nil, .answered(response)) }
        do {
            if pages.refusesPreflight(head) { log.refusedPage(by: exchange(nil, .answered(HTTPResponse(status: 204)))) }
            try pages.check(head)
        } catch {
            let route: Route? = if case .route(let route) = match { route } else { nil }
            return exchange(route, .refused(error, afterBody: route?.streamsBody != true))
        }
        switch match {
        case .none where head.method == "OPTIONS" && head.path.isEmpty:
            let allowed = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
            return exchange(nil, .answered(HTTPResponse(status: 204, headers: [("Allow", allowed)])))
        case .otherMethods(let allowed) where head.method == "OPTIONS":
            let patch = allowed.contains("PATCH") ? [("Accept-Patch", Route.patchTypes.joined(separator: ", "))] : []
            return exchange(
                nil,
                .answered(HTTPResponse(status: 204, headers: [("Allow", allowed.joined(separator: ", "))] + patch)))
        case .none:
            let problem = router.noSuchResource(head)
            return exchange(nil, .answered(problem.response(path: head.plainPath, requestID: id)))
        case .otherMethods(let allowed):
            let problem = ProblemError(
                .methodNotAllowed,
                "\(head.plainPath) does not accept \(head.method). It accepts \(allowed.joined(separator: ", ")).",
                headers: [("Allow", allowed.joined(separator: ", "))])
            return exchange(nil, .answered(problem.response(path: head.plainPath, requestID: id)))
        case .route(let route):
            return exchange(route, access.verdict(on: head, for: route.admission, takesTicket: route.takesTicket))
        }
    }

    package func refusal(for failure: HTTPFailure, unreadable head: HTTPRequestHead) -> HTTPResponse {
        unreadable(head, failure).refusal(for: failure, isHandled: false)
    }

    /// For a head that is not known to its end: the request can only be refused.
    package func unreadable(_ head: HTTPRequestHead, _ failure: HTTPFailure) -> Exchange {
        var route: Route?
        if case .route(let found) = router.match(method: head.method, path: head.path) { route = found }
        return Exchange(
            app: self, head: head, requestID: requestID(of: head), route: route,
            verdict: .refused(failure))
    }

    private func requestID(of head: HTTPRequestHead) -> String {
        guard let given = head.headers["x-request-id"], (1...128).contains(given.utf8.count),
            given.utf8.allSatisfy(\.isVisible)
        else { return ids.requestID() }
        return given
    }
}

extension Exchange {
    package var isProbe: Bool { route?.isProbe ?? false }

    package var disposition: HTTPBodyDisposition {
        let isStreamed = route?.streamsBody == true
        if head.framing == .none, !isStreamed { return .gather(limit: 0) }
        // A small body is read before a refusal, so that the connection can be reused.
        var isSmall = false
        if case .length(let length) = head.framing, !isStreamed { isSmall = length <= HTTPBodyDisposition.smallBody }
        switch verdict {
        case .admitted:
            return isStreamed ? .stream(account: account) : .gather(limit: limits.bodyBytes, account: account)
        case .claimed where isSmall: return .gather(limit: limits.bodyBytes)
        case .claimed: return .undecided(on: Workers.shared.short) { await identified() }
        case .answered: return .gather(limit: HTTPBodyDisposition.smallBody)
        case .refused(_, afterBody: true) where route != nil: return .gather(limit: limits.bodyBytes)
        case .refused(_, afterBody: true): return .gather(limit: HTTPBodyDisposition.smallBody)
        case .refused where isSmall: return .gather(limit: HTTPBodyDisposition.smallBody)
        case .refused(let error, _):
            let exchange = begun()
            return .refuse(exchange.count(exchange.encodeAtOnce(exchange.problemDocument(of: error), in: nil)))
        }
    }

    package func reply(to body: [UInt8]) -> HTTPReply {
        var exchange = begun(with: body)
        do {
            switch verdict {
            case .answered(let response): return exchange.send(response)
            case .refused(let error, _): throw error
            case .admitted:
                // The table of a session is known to the store.
                if !isPretty, requester.scope.tables == nil, let atOnce = route?.atOnce {
                    try exchange.check()
                    if let response = try atOnce(exchange) { return exchange.send(response) }
                }
                exchange.lease = try leased()
            // `decode` takes the lease, when the account is known.
            case .claimed: break
            }
        } catch {
            return exchange.send(exchange.problemDocument(of: error))
        }
        let isLong = head.expectedSize(of: body) > Memory.largeBytes
        let pool = isLong ? Workers.shared.long : route?.pool ?? Workers.shared.short
        return .task(on: pool, endsAtStop: route?.endsAtStop ?? false) { [exchange] in
            await exchange.runStages()
        }
    }

    package func respond(reading body: HTTPBodyReader) async -> HTTPResponse {
        await withTaskExecutorPreference(Workers.shared.short) { await begun(reading: body).runStages() }
    }

    private func runStages() async -> HTTPResponse {
        var exchange = self
        // The lease ends before the answer is sent: the client may then send its next request.
        defer { exchange.lease?.end() }
        let response = await exchange.handle()
        return exchange.count(await exchange.compress(await exchange.present(response)))
    }

    /// On the event loop, unless the response must be compressed and there is room for a task.
    private func send(_ response: HTTPResponse) -> HTTPReply {
        let coding = response.coding(for: head)
        guard let coding, response.needsCompression(in: coding) else {
            return .ready(count(encodeAtOnce(response, in: coding)))
        }
        var exchange = self
        do { exchange.lease = try leased() } catch { return .ready(count(encodeAtOnce(response, in: nil))) }
        return .task(on: response.isLarge ? Workers.shared.long : Workers.shared.short) { [exchange] in
            defer { exchange.lease?.end() }
            return exchange.count(await exchange.compress(await exchange.present(response)))
        }
    }

    /// The place among the current requests. None for a long poll, a streamed body, or a probe, which operators need
    /// most when the server is full. Throws `unavailable`, or `quotaExceeded` for a used-up share.
    func leased() throws -> Quota.Lease? {
        if let route, route.isProbe || route.streamsBody || isLongPoll { return nil }
        return try app.requests.required("requests under way", option: "max-requests", for: account)
    }

    var isLongPoll: Bool { route?.isLongPoll(head) ?? false }
}

extension HTTPRequestHead {
    /// Without the query.
    package var plainPath: String {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[..<$0]) } ?? target
    }
}
