import BraidHTTP
import BraidRuntime
import BraidSessions

/// One request on its way through a route.
struct RequestContext: Sendable {
    let request: HTTPRequest
    let requestID: String
    let route: Route
    let requester: Requester
    let limits: ServerLimits

    var head: HTTPRequestHead { request.head }

    /// The path's variable segment of that name.
    func parameter(_ name: String) -> String { route.parameter(name, of: head.path) ?? "" }

    /// Who pays for what the request uses: its session, and its token.
    var account: Budget.Account { route.account(of: head, requester) }

    /// Refuses a session that is not the one which the token was made for.
    func require(_ session: Session) throws { try requester.require(sessionNumber: session.number, id: session.id) }

    /// The last value of a query parameter; "" for one without a value.
    func query(_ name: String) -> String? { head.query.last { $0.name == name }?.value }

    var isLongPoll: Bool { route.isLongPoll(head) }

    /// A flag: there without a value, or with `true` or `1`.
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

    /// An integer in a range.
    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = query(name) else { return nil }
        guard let value = Int(text), text.utf8.allSatisfy(\.isDigit), range.contains(value) else {
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` must be an integer from \(range.lowerBound)\(range.upperBound == .max ? "" : " to \(range.upperBound)"), not \"\(text)\"."
            )
        }
        return value
    }
}

/// One method on one path pattern.
final class Route: Sendable {
    let method: String
    /// The method and the pattern: `GET /v1/tables`.
    let name: String
    /// Who may use the route.
    let admission: Admission
    /// `{name}` stands for one segment.
    let pattern: [Substring]
    private let parts: [Part]
    /// Query parameters that it knows, beside `pretty`.
    let query: Set<String>
    /// Whether it ignores query parameters that it does not know, instead of refusing them.
    let ignoresUnknownQuery: Bool
    /// Whether the request brings a body: JSON, or what `streamedBody` says.
    let takesBody: Bool
    /// The media types of its body. Other types that end with `+json` mean something else than plain JSON.
    let bodyTypes: [String]
    /// The media types that every PATCH accepts: a JSON merge patch (RFC 7396) by either name.
    static let patchTypes = ["application/json", "application/merge-patch+json"]
    /// Whether it does nothing while `If-Match` does not name what there is.
    let obeysIfMatch: Bool
    /// Whether it waits for something that may never happen: then its work ends when the server stops.
    let endsAtStop: Bool
    /// Whether a request may have an `Idempotency-Key`.
    let takesKey: Bool
    /// The media type of its answers.
    let produces: String
    /// The media type, beside that one, that it has an answer for.
    let alternative: String?
    /// Its answers, counted.
    let counters: RouteCounters
    /// The pool that runs the handler.
    let lane: Workers.Lane
    /// Answers a request in a task. The task is cancelled when the client leaves.
    let handle: Handler
    /// Answers a request on the event loop's thread, from memory and in bounded time. Returns `nil` for a request that
    /// needs a task.
    let atOnce: ImmediateHandler?
    /// In place of `handle`, for a body that is read while it arrives.
    let streamedBody: StreamedBody?

    typealias Handler = @Sendable (RequestContext) async throws -> HTTPResponse
    typealias ImmediateHandler = @Sendable (RequestContext) throws -> HTTPResponse?

    struct StreamedBody: Sendable {
        let contentType: String
        let handle: @Sendable (RequestContext, HTTPBodyReader) async throws -> HTTPResponse
    }

    init(
        _ method: String, _ pattern: String, for admission: Admission = .role(.controller), query: Set<String> = [],
        ignoresUnknownQuery: Bool = false, takesBody: Bool = false, obeysIfMatch: Bool = false, takesKey: Bool = false,
        endsAtStop: Bool = false, produces: String = "application/json", alternative: String? = nil,
        lane: Workers.Lane = .short, streamedBody: StreamedBody? = nil, atOnce: ImmediateHandler? = nil,
        _ handle: @escaping Handler
    ) {
        self.method = method
        counters = RouteCounters(method: method, template: pattern)
        name = "\(method) \(pattern)"
        self.admission = admission
        self.lane = lane
        self.pattern = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        parts = self.pattern.map(Part.init)
        self.query = query
        self.ignoresUnknownQuery = ignoresUnknownQuery
        self.obeysIfMatch = obeysIfMatch
        self.endsAtStop = endsAtStop
        self.takesBody = takesBody
        self.takesKey = takesKey
        self.produces = produces
        self.alternative = alternative
        self.handle = handle
        self.atOnce = atOnce
        self.streamedBody = streamedBody
        bodyTypes =
            streamedBody.map { [$0.contentType] } ?? (method == "PATCH" ? Self.patchTypes : ["application/json"])
    }

    /// A route whose answers are always in memory.
    static func inMemory(
        _ method: String, _ pattern: String, for admission: Admission, ignoresUnknownQuery: Bool = false,
        produces: String = "application/json", _ handle: @escaping @Sendable (RequestContext) throws -> HTTPResponse
    ) -> Route {
        Route(
            method, pattern, for: admission, ignoresUnknownQuery: ignoresUnknownQuery, produces: produces,
            atOnce: handle, handle)
    }

    /// A route that reads the request's body while it arrives.
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
            throw ProblemError(.internalError, "The body was gathered that is to be read while it arrives.")
        }
    }

    func matches(_ path: [String]) -> Bool {
        guard path.count == parts.count else { return false }
        // From the end, where routes differ.
        for place in parts.indices.reversed() {
            switch parts[place] {
            case .literal(let text): if text != path[place] { return false }
            case .parameter: if path[place].isEmpty { return false }
            }
        }
        return true
    }

    /// The segment that stands for `{name}` in a path which matches; nil where the route has none.
    func parameter(_ name: String, of path: [String]) -> String? {
        for case (let place, .parameter(name)) in parts.enumerated() { return path[place] }
        return nil
    }

    /// Whether a request waits for an update.
    func isLongPoll(_ head: HTTPRequestHead) -> Bool { endsAtStop && head.query.contains { $0.name == "wait" } }

    /// Who pays for what a request uses. A controller's requests count for their session alone.
    func account(of head: HTTPRequestHead, _ requester: Requester) -> Budget.Account {
        Budget.Account(resource: parameter("id", of: head.path), client: requester.token?.id)
    }

    private enum Part: Sendable {
        case literal(String), parameter(String)

        init(_ text: Substring) {
            self = text.first == "{" ? .parameter(String(text.dropFirst().dropLast())) : .literal(String(text))
        }
    }
}

/// Finds the route of a request.
struct Router: Sendable {
    let routes: [Route]
    /// Routes by the number of their segments.
    private let bySegments: [[Route]]
    private let streamed: [Route]

    init(_ routes: [Route]) {
        self.routes = routes
        let longest = routes.map(\.pattern.count).max() ?? 0
        bySegments = (0...longest).map { count in routes.filter { $0.pattern.count == count } }
        streamed = routes.filter { $0.streamedBody != nil }
    }

    /// Whether the request's body is read while it arrives.
    func streamsBody(method: String, path: [String]) -> Bool {
        streamed.contains { $0.method == method && $0.matches(path) }
    }

    enum Match {
        case route(Route)
        /// The path is known, the method is not; `Allow` lists those that are.
        case otherMethods([String])
        case none
    }

    func match(method: String, path: [String]) -> Match {
        // HEAD is a GET whose body is not sent (RFC 9110, 9.3.2).
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
