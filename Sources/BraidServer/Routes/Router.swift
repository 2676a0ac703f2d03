import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// A request, together with the values that its route's handler needs, such as the requester and the limits.
struct RequestContext: Sendable {
    var request: HTTPRequest
    let requestID: String
    let route: Route
    let requester: Requester
    let limits: ServerLimits
    let log: RequestLog

    var head: HTTPRequestHead { request.head }

    /// Returns the segment of the request's path that matches `{name}` in the route's pattern, such as the session's ID
    /// for `{id}`.
    func parameter(_ name: String) -> String { route.parameter(name, of: head.path) ?? "" }

    /// The account against which the request's leases of memory and of other quotas count: the session and the token of
    /// the request.
    var account: Quota.Account { route.account(of: head, requester) }

    /// Throws `noSession` if the requester's token is for another session than `session`.
    func require(_ session: Session) throws { try requester.require(sessionNumber: session.number, id: session.id) }

    /// Returns the value of a parameter in the request's query, or `nil` without the parameter. A parameter without a
    /// value has the value "".
    func query(_ name: String) -> String? { head.query.last { $0.name == name }?.value }

    /// Logs that this request has performed an administrative act.
    func logAct(_ act: String, _ facts: (name: String, value: String)...) { logAct(act, facts: facts) }

    func logAct(_ act: String, facts: [(name: String, value: String)]) {
        log.act(act, facts, by: LoggedRequest(id: requestID, head: head, peer: head.peer, requester: requester))
    }

    var isLongPoll: Bool { route.isLongPoll(head) }

    /// Returns whether a flag in the request's query is set: `?name`, `?name=true` or `?name=1`. A missing flag,
    /// `false` and `0` mean no. Throws `badRequest` for other values.
    func flag(_ name: String) throws -> Bool {
        switch query(name) {
        case nil, "false", "0": return false
        case "", "true", "1": return true
        case let value?:
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` is a flag: it has no value, or true or false, not \"\(value)\".")
        }
    }

    /// Returns the integer value of a parameter in the request's query, or `nil` without the parameter. Throws
    /// `badRequest` unless the value is an integer in the range.
    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = query(name) else { return nil }
        guard let value = Int(digits: text), range.contains(value) else {
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` must be an integer from \(range.lowerBound)\(range.upperBound == .max ? "" : " to \(range.upperBound)"), not \"\(text)\"."
            )
        }
        return value
    }
}

/// A route of the HTTP API: a method and a path pattern, with the function that handles matching requests.
final class Route: Sendable {
    let method: String
    /// The method and the path pattern of the route, as in `GET /v1/tables`.
    let name: String
    /// Whether the route is a probe: a monitoring system calls it at regular intervals. The server logs the requests of
    /// probes only at the level `debug`.
    let isProbe: Bool
    /// Who may use the route.
    let admission: Admission
    /// The segments of the route's path pattern. A segment such as `{id}` matches any one non-empty segment of a path.
    let pattern: [Substring]
    private let parts: [Part]
    /// The query parameters that the route accepts, in addition to `pretty`.
    let query: Set<String>
    /// Whether the route ignores unknown query parameters instead of refusing the request.
    let ignoresUnknownQuery: Bool
    /// Whether the route's requests may have a body. The body is JSON, or of the media type that `streamedBody` names.
    let takesBody: Bool
    /// The media types that the route accepts as a body's `Content-Type`. Other types that end with `+json` are
    /// refused, as they are not plain JSON.
    let bodyTypes: [String]
    /// The media types that every PATCH accepts: JSON and JSON merge patch (RFC 7396). Both have the same meaning.
    static let patchTypes = ["application/json", "application/merge-patch+json"]
    /// Whether the route evaluates a request's `If-Match`. If the condition is not met, the route changes nothing.
    let obeysIfMatch: Bool
    /// Whether the route evaluates a request's `If-None-Match` although it is not a GET.
    let obeysIfNoneMatch: Bool
    /// Whether a request of this route may wait for an event that never happens. When the server stops, it cancels the
    /// task of such a request.
    let endsAtStop: Bool
    /// Whether the route's requests may have an `Idempotency-Key`. Other routes refuse a request with a key.
    let takesKey: Bool
    /// The media type in which the route usually answers.
    let produces: String
    /// A second media type in which the route can answer, in addition to `produces`.
    let alternative: String?
    /// Whether the handler itself indents for `pretty`, or has nothing to indent, so that the server need not.
    let obeysPretty: Bool
    /// The counters of the route's answers, for the metrics.
    let counters: RouteCounters
    /// The worker pool on which the route's handler starts, unless the request's body is large.
    let pool: WorkerPool
    /// Answers a request of this route in a task, which is cancelled when the client disconnects.
    let handle: Handler
    /// Answers a request of this route directly on the event loop's thread, from memory and in bounded time. Returns
    /// `nil` for a request that needs a task.
    let atOnce: ImmediateHandler?
    /// The handler that reads a request's body while it arrives. A route with this handler does not use `handle`.
    let streamedBody: StreamedBody?

    typealias Handler = @Sendable (RequestContext) async throws -> HTTPResponse
    typealias ImmediateHandler = @Sendable (RequestContext) throws -> HTTPResponse?

    struct StreamedBody: Sendable {
        let contentType: String
        let handle: @Sendable (RequestContext, HTTPBodyReader) async throws -> HTTPResponse
    }

    init(
        _ method: String, _ pattern: String, for admission: Admission = .role(.controller), query: Set<String> = [],
        ignoresUnknownQuery: Bool = false, takesBody: Bool = false, bodyTypes: [String]? = nil,
        obeysIfMatch: Bool = false, obeysIfNoneMatch: Bool = false, takesKey: Bool = false, endsAtStop: Bool = false,
        isProbe: Bool = false, produces: String = "application/json",
        alternative: String? = nil, obeysPretty: Bool = false, pool: WorkerPool = Workers.shared.short,
        streamedBody: StreamedBody? = nil, atOnce: ImmediateHandler? = nil,
        _ handle: @escaping Handler
    ) {
        self.method = method
        counters = RouteCounters(method: method, template: pattern)
        name = "\(method) \(pattern)"
        self.isProbe = isProbe
        self.admission = admission
        self.pool = pool
        self.pattern = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        parts = self.pattern.map(Part.init)
        self.query = query
        self.ignoresUnknownQuery = ignoresUnknownQuery
        self.obeysIfMatch = obeysIfMatch
        self.obeysIfNoneMatch = obeysIfNoneMatch
        self.endsAtStop = endsAtStop
        self.takesBody = takesBody
        self.takesKey = takesKey
        self.produces = produces
        self.alternative = alternative
        self.obeysPretty = obeysPretty
        self.handle = handle
        self.atOnce = atOnce
        self.streamedBody = streamedBody
        self.bodyTypes =
            bodyTypes ?? streamedBody.map { [$0.contentType] }
            ?? (method == "PATCH" ? Self.patchTypes : ["application/json"])
    }

    /// Creates a route that can answer on the event loop's thread, without a task, because its handler only reads
    /// memory.
    static func inMemory(
        _ method: String, _ pattern: String, for admission: Admission, ignoresUnknownQuery: Bool = false,
        isProbe: Bool = false, produces: String = "application/json", obeysPretty: Bool = false,
        _ handle: @escaping @Sendable (RequestContext) throws -> HTTPResponse
    ) -> Route {
        Route(
            method, pattern, for: admission, ignoresUnknownQuery: ignoresUnknownQuery, isProbe: isProbe,
            produces: produces, obeysPretty: obeysPretty, atOnce: handle, handle)
    }

    /// Creates a route that reads the request's body while it arrives.
    convenience init(
        _ method: String, _ pattern: String, for admission: Admission = .role(.controller), query: Set<String> = [],
        streamedBody contentType: String, obeysIfMatch: Bool = false,
        _ handle: @escaping @Sendable (RequestContext, HTTPBodyReader) async throws -> HTTPResponse
    ) {
        let streamedBody = StreamedBody(contentType: contentType, handle: handle)
        self.init(
            method, pattern, for: admission, query: query, takesBody: true, obeysIfMatch: obeysIfMatch,
            streamedBody: streamedBody
        ) { _ in
            throw ProblemError(.internalError, "The body was buffered, but the route reads it while it arrives.")
        }
    }

    func matches(_ path: [String]) -> Bool {
        guard path.count == parts.count else { return false }
        // Compare path segments from the end, where paths differ most.
        for place in parts.indices.reversed() {
            switch parts[place] {
            case .literal(let text): if text != path[place] { return false }
            case .parameter: if path[place].isEmpty { return false }
            }
        }
        return true
    }

    /// Returns the segment of `path` at the place of `{name}` in the route's pattern. Returns `nil` if the pattern does
    /// not contain `{name}`. The path must match the pattern.
    func parameter(_ name: String, of path: [String]) -> String? {
        for case (let place, .parameter(name)) in parts.enumerated() { return path[place] }
        return nil
    }

    /// The values that the query parameter `wait` may have: the seconds that a request waits for an update.
    static let waits = 0...60

    /// Returns whether a request of this route is a long poll, that is, waits for an update (`?wait=…`). A request
    /// whose `wait` is 0 or invalid does not wait.
    func isLongPoll(_ head: HTTPRequestHead) -> Bool {
        guard endsAtStop, let wait = head.query.last(where: { $0.name == "wait" }).flatMap({ Int(digits: $0.value) })
        else {
            return false
        }
        return wait > 0 && Self.waits.contains(wait)
    }

    /// Returns the account that a request's leases count against: its session and its token. A controller's requests
    /// count against the session only.
    func account(of head: HTTPRequestHead, _ requester: Requester) -> Quota.Account {
        Quota.Account(resource: parameter("id", of: head.path), client: requester.token?.id)
    }

    /// Returns a path without the typing mistakes with which this route would match it, and their number. `nil` if the
    /// route would match no similar path.
    fileprivate func corrected(_ path: [String]) -> (path: [String], mistakes: Int)? {
        guard path.count == parts.count else { return nil }
        var corrected = path, mistakes = 0
        for (place, part) in parts.enumerated() {
            switch part {
            case .literal(let text) where text == path[place]: continue
            case .literal(let text):
                guard Spelling.nearest(to: path[place], among: CollectionOfOne(text)) != nil else { return nil }
                corrected[place] = text
                mistakes += 1
            case .parameter: if path[place].isEmpty { return nil }
            }
        }
        return (corrected, mistakes)
    }

    private enum Part: Sendable {
        case literal(String), parameter(String)

        init(_ text: Substring) {
            self = text.first == "{" ? .parameter(String(text.dropFirst().dropLast())) : .literal(String(text))
        }
    }
}

/// The table of all routes, which finds the route of a request.
struct Router: Sendable {
    let routes: [Route]
    /// The routes by the number of segments in their path patterns: `bySegments[2]` contains the routes with two
    /// segments.
    private let bySegments: [[Route]]
    private let streamed: [Route]

    init(_ routes: [Route]) {
        self.routes = routes
        let longest = routes.map(\.pattern.count).max() ?? 0
        bySegments = (0...longest).map { count in routes.filter { $0.pattern.count == count } }
        streamed = routes.filter { $0.streamedBody != nil }
    }

    /// Returns whether a request with this method and path has a route whose handler reads the body while it arrives.
    func streamsBody(method: String, path: [String]) -> Bool {
        streamed.contains { $0.method == method && $0.matches(path) }
    }

    enum Match {
        case route(Route)
        /// Routes match the request's path, but not the request's method. The associated value lists the methods for
        /// the `Allow` field.
        case otherMethods([String])
        case none
    }

    /// Returns the path of a route that is most similar to a path that no route matches. `nil` if none is similar.
    func suggestion(for path: [String]) -> String? {
        let path = path.last == "" ? Array(path.dropLast()) : path
        return routes.lazy.compactMap { $0.corrected(path) }.min { $0.mistakes < $1.mistakes }
            .map { $0.path.map { "/" + $0.percentEncoded }.joined() }
    }

    func match(method: String, path: [String]) -> Match {
        // HEAD is a GET whose answer has no body (RFC 9110, 9.3.2).
        let wanted = method == "HEAD" ? "GET" : method
        var allowed: [String] = []
        guard path.count < bySegments.count else { return .none }
        for route in bySegments[path.count] where route.matches(path) {
            if route.method == wanted { return .route(route) }
            allowed.append(route.method)
        }
        if allowed.isEmpty { return .none }
        if allowed.contains("GET") { allowed.append("HEAD") }
        return .otherMethods((allowed + ["OPTIONS"]).sorted())
    }
}
