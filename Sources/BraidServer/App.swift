import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore
import Synchronization

/// The application behind the HTTP server. The application finds a request's route, performs the checks that all routes
/// share, runs the handler, and turns errors into problem documents.
package final class App: HTTPHandler {
    /// The server's version number, as in `--version`, the metrics and the OpenAPI document.
    package static let version = "0.2.0"

    package let sessions: SessionHost
    package let store: any SessionStore
    /// The server's log. `nil` if the server logs nothing.
    package let logLines: LogLines?
    package let watchedFiles = WatchedFiles()
    package let phase = ServerPhase()
    /// The log of requests, of administrative acts and of reached limits.
    package let log: RequestLog
    let metrics = Metrics()
    let router: Router
    let limits: ServerLimits
    /// The quota of requests that the server may be answering at the same time (`--max-requests`).
    private let requests: Quota
    private let workers = Workers.shared
    let access: AccessControl
    private let pages: PagePolicy
    /// The state of the test mode (`--test-mode`). `nil` in ordinary operation.
    package let testMode: TestMode?
    package let clock: Clock
    private let ids: IDGenerator

    /// Creates the application.
    ///
    /// - Parameters:
    ///   - controllers: the controller tokens. Without one, everyone who can connect is a controller.
    ///   - log: `nil` logs nothing.
    ///   - proxies: the proxies whose `X-Forwarded-For` says from which client a request comes.
    ///   - testMode: `nil` without `--test-mode`.
    package init(
        store: any SessionStore, clock: Clock = Clock(), ids: IDGenerator = IDGenerator(),
        limits: ServerLimits = ServerLimits(), controllers: ControllerTokens, pages: PagePolicy = PagePolicy(),
        streams: StreamLimits = StreamLimits(), log: LogLines? = nil, proxies: TrustedProxies = TrustedProxies(),
        testMode: TestMode? = nil
    ) {
        self.store = store
        self.clock = clock
        self.ids = ids
        self.limits = limits
        requests = Quota(limits.requests, resourcePart: 2, clientPart: 16)
        self.pages = pages
        self.testMode = testMode
        logLines = log
        self.log = RequestLog(log, proxies: proxies)
        let sessions = SessionHost(store: store, clock: clock, ids: ids, limits: limits.session, streams: streams)
        self.sessions = sessions
        access = AccessControl(controllers: controllers, tokens: sessions.tokens)
        let health = StoreHealth(store)
        router = Router(
            operationRoutes(health: health, phase: phase, log: log) + [
                metricsRoute(
                    metrics, sessions: sessions, health: health, requests: requests, limits: limits, log: log)
            ] + assetRoutes()
                + tableRoutes(sessions, limits: limits.table)
                + [fixtureRoute(watchedFiles, subscribers: sessions.subscribers)]
                + sessionRoutes(sessions)
                + commandRoutes(sessions) + dataSourceRoutes(sessions) + journalRoutes(sessions)
                + updateRoutes(sessions)
                + observeRoutes(sessions, limits: limits) + tokenRoutes(sessions.tokens) + statelessRoutes(clock: clock)
                + (testMode?.routes(sessions) ?? [])
        )
        metrics.follow(router.routes.map(\.counters))
    }

    /// Connects the application to its HTTP server. After that, `/metrics` reports the server's connections, and faults
    /// of the test mode can close these connections.
    package func follow(_ server: HTTPServer) {
        testMode?.follow(server)
        metrics.connections.withLock { $0 = { [weak server] in server?.connectionFacts } }
    }

    package func isProbe(_ head: HTTPRequestHead) -> Bool {
        guard case .route(let route) = router.match(method: head.method, path: head.path) else { return false }
        return route.isProbe
    }

    package func disposition(of head: HTTPRequestHead) -> HTTPBodyDisposition {
        if head.framing == .none, !router.streamsBody(method: head.method, path: head.path) { return .gather(limit: 0) }
        guard case .route(let route) = router.match(method: head.method, path: head.path) else {
            return .gather(limit: HTTPBodyDisposition.smallBody)
        }
        do {
            let claim = try access.claim(head, for: route.admission)
            switch claim {
            case .known(let requester): return disposition(of: head, route, requester)
            case .unknown:
                if case .length(let length) = head.framing, length <= HTTPBodyDisposition.smallBody,
                    route.streamedBody == nil
                {
                    return .gather(limit: limits.bodyBytes)
                }
                return .undecided(on: workers.short) { [self] in
                    do {
                        return disposition(of: head, route, try await access.requester(claim))
                    } catch {
                        return refusal(of: head, route, error)
                    }
                }
            }
        } catch {
            return refusal(of: head, route, error)
        }
    }

    /// Returns how the HTTP server passes on the body of a request whose token is accepted: buffered, or while it
    /// arrives.
    private func disposition(of head: HTTPRequestHead, _ route: Route, _ requester: Requester) -> HTTPBodyDisposition {
        let account = route.account(of: head, requester)
        return route.streamedBody == nil
            ? .gather(limit: limits.bodyBytes, account: account) : .stream(account: account)
    }

    /// Refuses a request whose token is missing or invalid, without reading a large body. A small body of known length
    /// is still read, unless the route reads it while it arrives, so that the client can reuse the connection.
    private func refusal(of head: HTTPRequestHead, _ route: Route, _ error: any Error) -> HTTPBodyDisposition {
        if case .length(let length) = head.framing, length <= HTTPBodyDisposition.smallBody, route.streamedBody == nil {
            return .gather(limit: length)
        }
        let exchange = HandledRequest(head: head, id: requestID(of: head), start: monotonicNanoseconds(), route: route)
        return .refuse(finish(response(to: error, exchange), exchange, isOnLoop: true))
    }

    package func handle(_ head: HTTPRequestHead, body: HTTPBodyReader) async -> HTTPResponse {
        await withTaskExecutorPreference(workers.short) {
            let request = HTTPRequest(head: head)
            let exchange = HandledRequest(head: head, id: requestID(of: head), start: monotonicNanoseconds())
            guard let testMode, TestMode.concerns(head) else { return await response(to: request, body, exchange) }
            return await test(request, exchange, testMode) { request, exchange, pass in
                pass.onClose {
                    body.fail(HTTPFailure(status: 503, detail: "The server was reset while it read the body."))
                }
                return await response(to: request, body, exchange)
            }
        }
    }

    /// Answers a request whose handler reads the body while it arrives.
    private func response(
        to request: HTTPRequest, _ body: HTTPBodyReader, _ exchange: HandledRequest
    ) async -> HTTPResponse {
        var exchange = exchange
        do {
            try pages.check(request.head)
            let route = try route(of: request.head)
            exchange.route = route
            guard let streamedBody = route.streamedBody else {
                throw ProblemError(.internalError, "The body was streamed, but the route buffers it.")
            }
            let requester = try await access.requester(access.claim(request.head, for: route.admission))
            exchange.requester = requester
            let context = try context(request, route, requester, id: exchange.id)
            return finish(try await streamedBody.handle(context, body), exchange)
        } catch {
            return finish(response(to: error, exchange), exchange)
        }
    }

    package func response(to failure: HTTPFailure, head: HTTPRequestHead?, isHandled: Bool, peer: IPAddress?)
        -> HTTPResponse
    {
        let id = head.map(requestID(of:)) ?? ids.requestID()
        let request = LoggedRequest(id: id, head: head, peer: peer, requester: nil), problem = ProblemError(failure)
        note(problem, request)
        var response = problem.response(path: head?.plainPath ?? "", requestID: id)
        // If a body is too long and the token is missing or known to be invalid, the answer reports the missing or
        // invalid token. For other failures the token is not checked, because the parsed part of the head may not
        // contain the `Authorization` field.
        if failure.status == 413, let head, head.framing != .none, let refusal = access.refusal(of: head) {
            response = refusal.response(path: head.plainPath, requestID: id)
        }
        addHeaders(to: &response, for: head, id: id)
        // Every answer to a GET has `Cache-Control: no-cache`, unless its handler sets the field. A request whose head
        // was not parsed may be a GET.
        if head.map({ $0.method == "GET" || $0.method == "HEAD" }) ?? true {
            response.headers.append(("Cache-Control", "no-cache"))
        }
        var route: Route?
        if let head, case .route(let found) = router.match(method: head.method, path: head.path) { route = found }
        // If a handler is reading the request's body while it arrives, that handler also receives the failure, and
        // counts and logs the request.
        if isHandled { return response }
        if let testMode, let head, TestMode.concerns(head) {
            let tested = TestedExchange(refused: head)
            response = testMode.answers(tested, id: id, start: monotonicNanoseconds(), with: response)
        }
        (route?.counters ?? metrics.unrouted).count(status: response.status, nanoseconds: 0)
        log.answered(request, route, status: response.status)
        return response
    }

    package func handle(_ request: HTTPRequest) -> HTTPReply {
        let head = request.head
        let exchange = HandledRequest(head: head, id: requestID(of: head), start: monotonicNanoseconds())
        guard let testMode, TestMode.concerns(head) else { return reply(to: request, exchange) }
        let isEndless = (try? route(of: head))?.endsAtStop ?? false
        return .task(on: workers.short, endsAtStop: isEndless) { [self] in
            await test(request, exchange, testMode) { request, exchange, pass in
                switch reply(to: request, exchange) {
                case .ready(let response): response
                case .task(let executor, let isEndless, let work):
                    if isEndless {
                        await pass.waiting { await withTaskExecutorPreference(executor) { await work() } }
                    } else {
                        await withTaskExecutorPreference(executor) { await work() }
                    }
                }
            }
        }
    }

    private func reply(to request: HTTPRequest, _ exchange: HandledRequest) -> HTTPReply {
        let head = request.head
        var exchange = exchange
        do {
            if let response = pages.preflight(head) { return .ready(finish(response, exchange)) }
            if pages.refusesPreflight(head) { log.refusedPage(by: exchange.logged) }
            try pages.check(head)
            if let response = optionsAnswer(head) { return .ready(finish(response, exchange)) }
            let route = try route(of: head)
            exchange.route = route
            let claim = try access.claim(head, for: route.admission)
            exchange.account.resource = route.parameter("id", of: head.path)
            if case .known(let requester) = claim {
                exchange.requester = requester
                exchange.account.client = requester.token?.id
                if !isPretty(exchange), let atOnce = route.atOnce,
                    let response = try atOnce(context(request, route, requester, id: exchange.id))
                {
                    return reply(response, exchange)
                }
                exchange.lease = try lease(for: route, exchange)
            }
            let pool = request.expectedSize > Memory.largeBytes ? workers.long : route.pool
            return .task(on: pool, endsAtStop: route.endsAtStop) { [self, exchange] in
                await response(to: request, route, claim, exchange)
            }
        } catch {
            return reply(response(to: error, exchange), exchange)
        }
    }

    /// Replies with a complete response. If the body must be compressed, a worker pool does so, unless the server
    /// already answers as many requests as it may: then the body stays plain.
    private func reply(_ response: HTTPResponse, _ exchange: HandledRequest) -> HTTPReply {
        guard let coding = response.coding(for: exchange.head), response.needsCompression(in: coding) else {
            return .ready(finish(response, exchange))
        }
        var exchange = exchange
        do {
            exchange.lease = try lease(for: exchange.route, exchange)
        } catch {
            return .ready(finish(response, exchange, isOnLoop: true))
        }
        return .task(on: isLarge(response) ? workers.long : workers.short) { [self, exchange] in
            defer { exchange.lease?.end() }
            return finish(response, exchange)
        }
    }

    /// Returns whether indenting or compressing a body takes too long for the short worker pool.
    private func isLarge(_ response: HTTPResponse) -> Bool { (response.body.count ?? 0) > Workers.shortBytes }

    /// Returns the route of a request. Throws `noSuchResource` for an unknown path, and `methodNotAllowed` for a known
    /// path with a wrong method.
    func route(of head: HTTPRequestHead) throws -> Route {
        switch router.match(method: head.method, path: head.path) {
        case .route(let route): return route
        case .none:
            let hint = router.suggestion(for: head.path).map { "Did you mean \($0)?" }
            throw ProblemError(
                .noSuchResource,
                "The resource \(head.plainPath) does not exist. \(hint ?? "/openapi.json lists all resources.")")
        case .otherMethods(let allowed):
            throw ProblemError(
                .methodNotAllowed,
                "\(head.plainPath) does not accept \(head.method). It accepts \(allowed.joined(separator: ", ")).",
                headers: [("Allow", allowed.joined(separator: ", "))])
        }
    }

    /// Answers a request in a task, as opposed to on the event loop's thread.
    private func response(
        to request: HTTPRequest, _ route: Route, _ claim: AccessControl.Claim, _ exchange: HandledRequest
    ) async -> HTTPResponse {
        var exchange = exchange
        // The lease reserves a place among the current requests, whose number `--max-requests` limits. The lease ends
        // before the answer is sent, because the client may send its next request as soon as it has the answer.
        defer { exchange.lease?.end() }
        do {
            let requester = try await access.requester(claim)
            exchange.requester = requester
            if case .unknown = claim {
                exchange.account.client = requester.token?.id
                exchange.lease = try lease(for: route, exchange)
            }
            var context = try context(request, route, requester, id: exchange.id)
            let bodyLease = try context.request.decompressBody(
                limit: limits.bodyBytes, memory: limits.bodies, for: exchange.account)
            defer { bodyLease?.end() }
            // Indenting needs several times the answer's memory, so each large session indents one answer at a time.
            if isPretty(exchange), !route.endsAtStop, let session = largeSession(exchange.account) {
                return try await withTaskExecutorPreference(workers.long) { [context] in
                    try await session.largeReads.withLock { finish(try await response(of: route, context), exchange) }
                }
            }
            return await finishInLane(try await response(of: route, context), exchange)
        } catch {
            return await finishInLane(response(to: error, exchange), exchange)
        }
    }

    /// Finishes a response. A large body is indented and compressed on the long worker pool.
    private func finishInLane(_ response: HTTPResponse, _ exchange: HandledRequest) async -> HTTPResponse {
        guard isLarge(response),
            isPretty(exchange)
                || response.coding(for: exchange.head).map({ response.needsCompression(in: $0) }) ?? false
        else { return finish(response, exchange) }
        do {
            return try await sessions.streams.turns.withTurn(of: exchange.account.client) {
                await withTaskExecutorPreference(workers.long) { finish(response, exchange) }
            }
        } catch {
            // The client has disconnected.
            return finish(response, exchange, isOnLoop: true)
        }
    }

    /// Returns the response of the route's handler. An event stream or a long poll that was opened with a token for one
    /// session ends when the token is revoked or expires. An event stream that was opened with a controller token ends
    /// when the server no longer accepts this token.
    private func response(of route: Route, _ context: RequestContext) async throws -> HTTPResponse {
        let token = context.requester.token
        if let token, context.isLongPoll {
            return try await sessions.tokens.whileValid(token) { try await route.handle(context) }
        }
        let response = try await route.handle(context)
        if case .stream(let stream) = response.body, stream.isEndless {
            do {
                if let token { try await sessions.tokens.follow(token, stream) }
                if let digest = context.requester.controllerToken, !access.controllers.follow(digest, stream) {
                    throw SessionError.invalidToken
                }
            } catch {
                stream.close()
                throw error
            }
        }
        return response
    }

    /// Returns the session that a request is for, if this session is in memory and its snapshot is large and not
    /// cached. Otherwise returns `nil`.
    private func largeSession(_ account: Quota.Account) -> Session? {
        guard let session = account.resource.flatMap({ sessions.inMemory($0) }), session.isLarge else { return nil }
        return session
    }

    /// Returns a lease that counts a request among the current requests, whose number `--max-requests` limits. Returns
    /// `nil` if the request does not count.
    ///
    /// A probe needs no lease, because operators need it most when the server is full. A long poll needs no lease,
    /// because it counts as a subscriber.
    /// - Throws: `unavailable` if the server accepts no more requests, and `quotaExceeded` if the session or the token
    ///   has used its share of the requests.
    private func lease(for route: Route?, _ exchange: HandledRequest) throws -> Quota.Lease? {
        if let route, route.isProbe || route.isLongPoll(exchange.head) { return nil }
        return try requests.required("requests under way", option: "max-requests", for: exchange.account)
    }

    /// A request with the values that its answer and its log line need.
    struct HandledRequest: Sendable {
        let head: HTTPRequestHead
        let id: String
        /// The time at which the server began to handle the request, in nanoseconds of the monotonic clock.
        let start: Int
        /// The route of the request. `nil` if no route matches.
        var route: Route?
        /// The sender of the request. `nil` if the server has not identified the sender. On a route for everyone, each
        /// sender is a controller.
        var requester: Requester?
        var account = Quota.Account()
        /// The lease that counts this request among the `--max-requests` current requests, while the server answers the
        /// request.
        var lease: Quota.Lease?
        /// The test mode's view of this request, with the fault that the request meets. `nil` without `--test-mode`.
        var tested: TestedExchange?

        var logged: LoggedRequest {
            let isAnyone = route?.admission == .everyone
            return LoggedRequest(id: id, head: head, peer: head.peer, requester: isAnyone ? nil : requester)
        }
    }

    /// Returns the answer to an `OPTIONS` request, for the server as a whole or for one resource. Returns `nil` for
    /// requests with other methods, and for unknown paths.
    private func optionsAnswer(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard head.method == "OPTIONS" else { return nil }
        if head.path.isEmpty {
            return HTTPResponse(status: 204, headers: [("Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")])
        }
        guard case .otherMethods(let allowed) = router.match(method: head.method, path: head.path) else { return nil }
        let patch = allowed.contains("PATCH") ? [("Accept-Patch", Route.patchTypes.joined(separator: ", "))] : []
        return HTTPResponse(status: 204, headers: [("Allow", allowed.joined(separator: ", "))] + patch)
    }

    /// Performs the checks of a request that all routes share, and returns the context for the route's handler.
    private func context(
        _ request: HTTPRequest, _ route: Route, _ requester: Requester, id: String
    ) throws -> RequestContext {
        let head = request.head
        try access.check(requester, route.admission, session: route.parameter("id", of: head.path))
        try route.checkAccept(head)
        try head.checkAcceptEncoding()
        if !route.ignoresUnknownQuery { try route.checkQuery(head) }
        let context = RequestContext(
            request: request, requestID: id, route: route, requester: requester, limits: limits, log: log)
        _ = try context.flag("pretty")
        if route.takesBody {
            try route.checkContentType(head)
            _ = try head.hasGzipBody
        } else if !request.body.isEmpty {
            throw ProblemError(
                .badRequest, "\(head.method) \(head.plainPath) accepts no body. Send the request without one.")
        }
        try route.checkConditions(head)
        try route.checkKey(head)
        return context
    }

    func response(to error: any Error, _ exchange: HandledRequest) -> HTTPResponse {
        // If the task was cancelled, the client has usually disconnected or closed its side of the connection. So the
        // client will probably not read this answer.
        if error is CancellationError {
            return ProblemError(
                unavailable:
                    "The client closed its side of the connection before the request was executed. Nothing was changed."
            )
            .response(path: exchange.head.plainPath, requestID: exchange.id)
        }
        if let problem = ProblemError(error)?.shown(to: exchange.requester) {
            if problem.problem == .outcomeUnknown { write(.warning, "outcome unknown: \(error)", exchange) }
            note(problem, exchange.logged)
            return problem.response(path: exchange.head.plainPath, requestID: exchange.id)
        }
        write(.error, "internal error: \(error)", exchange)
        return ProblemError(
            .internalError, "The server failed. Its log contains the cause, under the `requestId` of this answer."
        )
        .response(path: exchange.head.plainPath, requestID: exchange.id)
    }

    private func write(_ level: LogLevel, _ message: String, _ exchange: HandledRequest) {
        logLines?.write(level, message) { line in
            line.add("path", exchange.head.plainPath)
            line.add("requestId", exchange.id)
        }
    }

    /// Reports to the log that a request has reached a limit, or that it is refused because of the page that sent it.
    private func note(_ problem: ProblemError, _ request: @autoclosure () -> LoggedRequest) {
        if [.originNotAllowed, .misdirectedRequest].contains(problem.problem) { log.refusedPage(by: request()) }
        guard let limit = problem.limit else { return }
        log.reached(limit, isShare: problem.problem == .quotaExceeded, by: request())
    }

    /// Completes a response: header fields, indentation, compression, statistics and log.
    ///
    /// - Parameter isOnLoop: `true` if the response must not be compressed, because an event loop's thread calls this
    ///   method.
    func finish(
        _ response: HTTPResponse, _ exchange: HandledRequest, isOnLoop: Bool = false
    ) -> HTTPResponse {
        let head = exchange.head
        var response = response
        addHeaders(to: &response, for: head, id: exchange.id)
        response.account = exchange.account
        // Without `Cache-Control`, caches may store an answer and choose how long they reuse it (RFC 9111, 4.2.2). With
        // `no-cache`, caches ask the server each time.
        if head.method == "GET" || head.method == "HEAD", !response.headers.contains(where: { $0.0 == "Cache-Control" })
        {
            response.headers.append(("Cache-Control", "no-cache"))
        }
        // A route with an alternative answers in two media types, so caches must store the answers separately for each
        // `Accept` field (RFC 9110, 12.5.5).
        if exchange.route?.alternative != nil { response.headers.append(("Vary", "Accept")) }
        if isPretty(exchange), let bytes = response.body.bytes, !bytes.isEmpty, bytes.count <= limits.prettyBytes,
            let text = try? JSONText(parsing: bytes, depthLimit: 1000),
            var pretty = text.pretty(limit: limits.prettyBytes)
        {
            pretty.append(UInt8(ascii: "\n"))
            response.body = .bytes(pretty)
        }
        if let testMode, TestMode.concerns(head) {
            let tested = exchange.tested ?? TestedExchange(refused: head)
            response = testMode.answers(tested, id: exchange.id, start: exchange.start, with: response)
        }
        compress(&response, exchange, isOnLoop: isOnLoop)
        let nanoseconds = monotonicNanoseconds() - exchange.start
        (exchange.route?.counters ?? metrics.unrouted).count(status: response.status, nanoseconds: nanoseconds)
        log.answered(exchange.logged, exchange.route, status: response.status, nanoseconds: nanoseconds)
        return response
    }

    /// Adds the header fields of every answer.
    private func addHeaders(to response: inout HTTPResponse, for head: HTTPRequestHead?, id: String) {
        response.headers.append(("X-Request-Id", id))
        response.headers += pages.headers(for: head)
        if testMode != nil { response.headers.append(TestMode.header) }
    }

    /// Encodes the response's body in the coding that the client prefers.
    ///
    /// The bytes of a large body need a lease of memory while they are compressed. If the response has a lease, it
    /// serves this purpose. If the quota refuses the lease, the body stays plain.
    private func compress(_ response: inout HTTPResponse, _ exchange: HandledRequest, isOnLoop: Bool) {
        var coding = isOnLoop ? nil : response.coding(for: exchange.head)
        var lease: Quota.Lease?
        if let wanted = coding, let size = response.body.count, size > Memory.largeBytes,
            response.needsCompression(in: wanted)
        {
            let memory = response.lease ?? Quota.Lease(of: sessions.streams.buffers, to: exchange.account)
            do { try memory.grow(to: size) } catch { coding = nil }
            lease = memory
        }
        response.encode(in: coding, for: exchange.head)
        if response.lease == nil { lease?.end() }
    }

    private func isPretty(_ exchange: HandledRequest) -> Bool {
        exchange.route?.obeysPretty != true
            && exchange.head.query.contains { $0.name == "pretty" && $0.value != "false" && $0.value != "0" }
    }

    private func requestID(of head: HTTPRequestHead) -> String {
        guard let given = head.headers["x-request-id"], (1...128).contains(given.utf8.count),
            given.utf8.allSatisfy(\.isVisible)
        else { return ids.requestID() }
        return given
    }
}

extension HTTPRequestHead {
    /// The request's target without its query, for messages and logs.
    var plainPath: String {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[..<$0]) } ?? target
    }
}
