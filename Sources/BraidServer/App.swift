import BraidEngine
import BraidStore
import Logging
import Synchronization

/// The application behind the HTTP layer: finds the route, checks what all routes have in common, turns errors into
/// problem documents.
final class App: HTTPHandler {
    let sessions: Sessions
    let store: any SessionStore
    let logger: Logger
    /// Where each request is a line; nil where they are not logged.
    private let requestLog: LogLines?
    let metrics = Metrics()
    let router: Router
    private let limits: Limits
    /// Of requests that are being worked on.
    private let requests: Budget
    private let access: AccessControl
    private let pages: PagePolicy
    let source: Source

    /// `token`: the controller's; nil when everyone who can connect is a controller.
    init(
        store: any SessionStore, source: Source, limits: Limits = Limits(), token: String?, pages: PagePolicy = PagePolicy(),
        streams: StreamLimits = StreamLimits(), logger: Logger, requestLog: LogLines? = nil
    ) {
        self.store = store
        self.source = source
        self.limits = limits
        requests = Budget(limits.requests)
        self.pages = pages
        self.logger = logger
        self.requestLog = requestLog
        let sessions = Sessions(store: store, source: source, limits: limits, streams: streams, metrics: metrics, logger: logger)
        self.sessions = sessions
        access = AccessControl(controllerToken: token, tokens: sessions.tokens)
        router = Router(
            operationRoutes(store: store, logger: logger) + [metricsRoute(metrics, sessions: sessions)] + assetRoutes() + tableRoutes(store: store, source: source) + sessionRoutes(sessions)
                + commandRoutes(sessions) + dataSourceRoutes(sessions) + journalRoutes(sessions) + updateRoutes(sessions)
                + observeRoutes(sessions, limits: limits) + tokenRoutes(sessions.tokens) + statelessRoutes(source: source))
        metrics.follow(router.routes.map(\.counters))
    }

    func disposition(of head: HTTPRequestHead) -> HTTPBodyDisposition {
        router.streamsBody(method: head.method, path: head.path) ? .stream : .gather(limit: bodyLimit(of: head))
    }

    /// A stranger cannot make the server gather a large body. A small one is, so that the connection can go on.
    private func bodyLimit(of head: HTTPRequestHead) -> Int {
        let small = min(64 * 1024, limits.bodyBytes)
        switch head.framing {
        case .none: return small
        case .length(let length) where length <= small: return small
        case .length, .chunked: return access.refusal(of: head) == nil ? limits.bodyBytes : small
        }
    }

    func handle(_ head: HTTPRequestHead, body: HTTPBodyReader) async -> HTTPResponse {
        var exchange = Exchange(head: head, id: requestID(of: head), start: Source.ticks())
        do {
            guard case .route(let route) = router.match(method: head.method, path: head.path), let taker = route.streamedBody
            else { throw ProblemError(.notFound, "There is no resource \(head.plainPath).") }
            exchange.route = route
            try pages.check(head)
            let requester = switch try access.claim(head, for: route.admission) {
            case .known(let requester): requester
            case .unknown(let bearer): try await access.find(bearer)
            }
            let context = try context(HTTPRequest(head: head), route, requester, id: exchange.id)
            return finish(try await taker.handle(context, body), exchange)
        } catch {
            return finish(response(to: error, exchange), exchange)
        }
    }

    func response(to failure: HTTPFailure, head: HTTPRequestHead?) -> HTTPResponse {
        let id = head.map(requestID(of:)) ?? source.requestID()
        var response = ProblemError(failure).response(path: head?.plainPath ?? "", requestID: id)
        // Where the body is too long; a head that was refused itself may have lacked the token still.
        if failure.status == 413, let head, head.framing != .none, let refusal = access.refusal(of: head) {
            response = refusal.response(path: head.plainPath, requestID: id)
        }
        response.headers += [("X-Request-Id", id)] + pages.headers(for: head)
        // As of other answers; one to a head that was not understood may be to a GET.
        if head.map({ $0.method == "GET" || $0.method == "HEAD" }) ?? true { response.headers.append(("Cache-Control", "no-cache")) }
        var route: Route?
        if let head, case .route(let found) = router.match(method: head.method, path: head.path) { route = found }
        // One whose body is read while it comes has its handler at work, which is told of the failure and answers it.
        if let head, head.framing != .none, route?.streamedBody != nil { return response }
        (route?.counters ?? metrics.unrouted).count(status: response.status, nanoseconds: 0)
        requestLog?.write(.info, "request") { $0.add(id: id, head, route, status: response.status) }
        return response
    }

    func handle(_ request: HTTPRequest) -> HTTPReply {
        var exchange = Exchange(head: request.head, id: requestID(of: request.head), start: Source.ticks())
        do {
            switch try reply(to: request, &exchange) {
            case .ready(let response):
                if isPretty(request.head), case .bytes(let bytes) = response.body, bytes.count > Self.largeBytes {
                    return .later { [self, exchange] in finish(response, exchange) }
                }
                return .ready(finish(response, exchange))
            case .soon(let work):
                let work = try counted(work, request.head)
                return .soon { [self, exchange] in await answer(exchange, work) }
            case .later(let work):
                let work = try counted(work, request.head)
                return .later { [self, exchange] in await answer(exchange, work) }
            case .waiting(let work): return .waiting { [self, exchange] in await answer(exchange, work) }
            }
        } catch {
            return .ready(finish(response(to: error, exchange), exchange))
        }
    }

    /// The work as one of the requests that may be under way. Throws `unavailable` when there are as many already. What operators
    /// ask (metrics, readiness) is answered under any load: it is then that they need it.
    private func counted(
        _ work: @escaping @Sendable () async throws -> HTTPResponse, _ head: HTTPRequestHead
    ) throws -> @Sendable () async throws -> HTTPResponse {
        guard head.path.first == "v1" else { return work }
        let share = try requests.required("requests under way")
        return {
            // Before the answer leaves: the client may send its next request as soon as it has it.
            defer { share.giveBack() }
            return try await work()
        }
    }

    private func answer(_ exchange: Exchange, _ work: () async throws -> HTTPResponse) async -> HTTPResponse {
        do {
            return finish(try await work(), exchange)
        } catch {
            return finish(response(to: error, exchange), exchange)
        }
    }

    /// One request, for its answer and its line in the log.
    private struct Exchange: Sendable {
        let head: HTTPRequestHead
        let id: String
        /// As `Source.ticks` has it.
        let start: Int
        /// Nil for one that no route takes.
        var route: Route?

        func log(status: Int, nanoseconds: Int, to line: inout LogLine) {
            line.add(id: id, head, route, status: status)
            line.add("microseconds", nanoseconds / 1_000)
        }
    }

    private func reply(to request: HTTPRequest, _ exchange: inout Exchange) throws -> RouteReply {
        let head = request.head
        if let response = pages.preflight(head) { return .ready(response) }
        try pages.check(head)
        if head.method == "OPTIONS", head.path.isEmpty {
            return .ready(HTTPResponse(status: 204, headers: [("Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")]))
        }
        switch router.match(method: head.method, path: head.path) {
        case .none: throw ProblemError(.notFound, "There is no resource \(head.plainPath).")
        case .otherMethods(let allowed):
            let allow = [("Allow", allowed.joined(separator: ", "))]
            if head.method == "OPTIONS" { return .ready(HTTPResponse(status: 204, headers: allow)) }
            throw ProblemError(.methodNotAllowed, "\(head.plainPath) does not take \(head.method); it takes \(allowed.joined(separator: ", ")).", headers: allow)
        case .route(let route):
            exchange.route = route
            let id = exchange.id
            switch try access.claim(head, for: route.admission) {
            case .known(let requester):
                guard request.body.count > Self.largeBytes else { return try reply(to: request, route, requester, id: id) }
                return .later { [self] in
                    switch try reply(to: request, route, requester, id: id) {
                    case .ready(let response): return response
                    case .soon(let work), .later(let work), .waiting(let work): return try await work()
                    }
                }
            case .unknown(let bearer):
                return .waiting { [self] in
                    switch try reply(to: request, route, try await access.find(bearer), id: id) {
                    case .ready(let response): return response
                    // As elsewhere, what has begun goes on when the client leaves.
                    case .soon(let work), .later(let work): return try await Task { try await counted(work, head)() }.value
                    case .waiting(let work): return try await work()
                    }
                }
            }
        }
    }

    /// What a token lets in ends with the token.
    private func reply(
        to request: HTTPRequest, _ route: Route, _ requester: Requester, id: String
    ) throws -> RouteReply {
        let reply = try route.handle(context(request, route, requester, id: id))
        guard let token = requester.token else { return reply }
        let tokens = sessions.tokens
        switch reply {
        case .ready, .soon: return reply
        case .later(let work):
            return .later {
                let response = try await work()
                guard case .stream(let stream) = response.body, stream.isEndless else { return response }
                do {
                    try await tokens.follow(token, stream)
                } catch {
                    stream.close()
                    throw error
                }
                return response
            }
        case .waiting(let work): return .waiting { try await tokens.whileValid(token, work) }
        }
    }

    /// A request that is what its route takes.
    private func context(
        _ request: HTTPRequest, _ route: Route, _ requester: Requester, id: String
    ) throws -> RequestContext {
        let head = request.head
        try access.check(requester, route.admission, session: route.parameter("id", of: head.path))
        try checkAccept(head, route)
        for (name, _) in head.query where name != "pretty" && !route.query.contains(name) {
            throw ProblemError(.badRequest, "There is no query parameter `\(name)` here\(route.query.isEmpty ? "" : "; there are \(route.query.sorted().map { "`\($0)`" }.joined(separator: ", "))").")
        }
        for (index, parameter) in head.query.enumerated() where head.query[..<index].contains(where: { $0.name == parameter.name }) {
            throw ProblemError(.badRequest, "The query parameter `\(parameter.name)` stands there twice.")
        }
        let context = RequestContext(request: request, requestID: id, route: route, requester: requester, limits: limits)
        _ = try context.flag("pretty")
        if route.takesBody {
            try checkContentType(head, route)
        } else if !request.body.isEmpty {
            throw ProblemError(.badRequest, "\(head.method) \(head.plainPath) takes no body.")
        }
        try route.checkConditions(head)
        return context
    }

    // MARK: What all routes have in common

    /// RFC 9110, 12.5.1: mostly JSON is what there is, and sometimes something else beside it, and it must be acceptable.
    private func checkAccept(_ head: HTTPRequestHead, _ route: Route) throws {
        guard let types = head.acceptedTypes else { return }
        for type in types {
            if type == "*/*" || type == route.produces || type == "application/problem+json" || type == route.alternative { return }
            if type.hasSuffix("/*"), route.produces.hasPrefix(type.dropLast()) { return }
        }
        let available = ([route.produces] + [route.alternative].compactMap { $0 }).joined(separator: " or ")
        throw ProblemError(.notAcceptable, "Answers are \(available), which `Accept: \(head.headers["accept"] ?? "")` does not allow.")
    }

    private func checkContentType(_ head: HTTPRequestHead, _ route: Route) throws {
        let type = head.headers["content-type"]
        let essence = type.map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" } }
        if let streamed = route.streamedBody?.contentType {
            guard essence == streamed else { throw ProblemError(.unsupportedMediaType, "The body must be \(streamed), not \(type ?? "of no type").") }
            return
        }
        guard let type, let essence else { return }
        guard essence == "application/json" || (essence.hasPrefix("application/") && essence.hasSuffix("+json")) else {
            throw ProblemError(.unsupportedMediaType, "The body must be application/json, not \(type). (With curl: -H 'Content-Type: application/json'.)")
        }
    }

    private func response(to error: any Error, _ exchange: Exchange) -> HTTPResponse {
        if let problem = ProblemError(error) { return problem.response(path: exchange.head.plainPath, requestID: exchange.id) }
        logger.error("a fault of the server's: \(error)", metadata: ["id": .string(exchange.id), "path": .string(exchange.head.plainPath)])
        return ProblemError(.internalError, "A fault of the server's; it is in the log under this request's id.")
            .response(path: exchange.head.plainPath, requestID: exchange.id)
    }

    private func finish(_ response: HTTPResponse, _ exchange: Exchange) -> HTTPResponse {
        let head = exchange.head
        var response = response
        response.headers.append(("X-Request-Id", exchange.id))
        response.headers += pages.headers(for: head)
        // What is silent about it may be kept by caches, and given again for as long as they please (RFC 9111, 4.2.2).
        if head.method == "GET" || head.method == "HEAD", !response.headers.contains(where: { $0.0 == "Cache-Control" }) {
            response.headers.append(("Cache-Control", "no-cache"))
        }
        // Caches are to ask for each form by itself (RFC 9110, 12.5.5).
        if exchange.route?.alternative != nil { response.headers.append(("Vary", "Accept")) }
        if isPretty(head), case .bytes(let bytes) = response.body,
            let text = try? JSONText(parsing: bytes, depthLimit: 1000) {
            response.body = .bytes(text.pretty() + [UInt8(ascii: "\n")])
        }
        let nanoseconds = Source.ticks() - exchange.start
        (exchange.route?.counters ?? metrics.unrouted).count(status: response.status, nanoseconds: nanoseconds)
        requestLog?.write(.info, "request") { exchange.log(status: response.status, nanoseconds: nanoseconds, to: &$0) }
        return response
    }

    private func isPretty(_ head: HTTPRequestHead) -> Bool {
        head.query.contains { $0.name == "pretty" && $0.value != "false" && $0.value != "0" }
    }

    /// To read or to write more JSON is too much work for an event loop's thread: it stands between many others and their answers.
    static let largeBytes = 64 * 1024

    private func requestID(of head: HTTPRequestHead) -> String {
        guard let given = head.headers["x-request-id"], (1...128).contains(given.utf8.count),
            given.utf8.allSatisfy(\.isVisible)
        else { return source.requestID() }
        return given
    }
}

extension LogLine {
    /// What is logged of a request, as far as it is known. The path has no query, and bodies and tokens are never logged.
    fileprivate mutating func add(id: String, _ head: HTTPRequestHead?, _ route: Route?, status: Int) {
        add("id", id)
        add("method", head?.method ?? "")
        add("path", head?.plainPath ?? "")
        add("route", route?.counters.template ?? "")
        add("status", status)
    }
}

extension HTTPRequestHead {
    /// The target without its query, for messages.
    var plainPath: String {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[..<$0]) } ?? target
    }
}
