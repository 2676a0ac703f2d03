import BraidEngine
import BraidHTTP
import BraidRuntime

/// A method, a pattern such as `/v1/sessions/{id}`, and a handler.
package final class Route: Sendable {
    let method: String
    /// `GET /v1/tables`.
    let name: String
    /// Logged as `debug`, and not counted in `--max-requests`.
    let isProbe: Bool
    let admission: Admission
    /// Its resource is a session or in one.
    let isOfSession: Bool
    /// Whether a token that does not cover everything may be used: the resource is a session or a table, or the handler
    /// leaves out what the token does not cover.
    let servesLimitedTokens: Bool
    /// A GET of a session accepts a ticket in place of a token.
    let takesTicket: Bool
    /// The query parameter.
    package static let ticket = "ticket"
    /// Registers or deletes table descriptions.
    let changesTables: Bool
    package let pattern: [Substring]
    private let parts: [Part]
    /// The accepted parameters, besides `pretty`.
    let query: Set<String>
    let ignoresUnknownQuery: Bool
    let takesBody: Bool
    /// Other `+json` types are refused: they are not plain JSON.
    let bodyTypes: [String]
    /// JSON merge patch (RFC 7396) means the same here.
    static let patchTypes = ["application/json", "application/merge-patch+json"]
    let obeysIfMatch: Bool
    /// Although it is no GET.
    let obeysIfNoneMatch: Bool
    /// May wait for an event that never happens; the server's stop cancels it.
    package let endsAtStop: Bool
    let takesKey: Bool
    let produces: String
    let alternative: String?
    /// The handler itself indents, or there is nothing to indent.
    let obeysPretty: Bool
    let counters: RouteCounters
    /// Where the handler starts; a large body goes to another pool.
    let pool: WorkerPool
    /// Runs in a task, cancelled when the client disconnects.
    let handle: Handler
    /// Answers on the event loop, from memory, in bounded time. If it is or returns `nil`, `handle` runs.
    let atOnce: ImmediateHandler?
    /// The handler reads the body while it arrives.
    let streamsBody: Bool

    package typealias Handler = @Sendable (Exchange) async throws -> HTTPResponse
    package typealias ImmediateHandler = @Sendable (Exchange) throws -> HTTPResponse?

    package init(
        _ method: String, _ pattern: String, for admission: Admission = .role(.controller), query: Set<String> = [],
        ignoresUnknownQuery: Bool = false, takesBody: Bool = false, bodyTypes: [String]? = nil,
        obeysIfMatch: Bool = false, obeysIfNoneMatch: Bool = false, takesKey: Bool = false, endsAtStop: Bool = false,
        isProbe: Bool = false, servesLimitedTokens: Bool = false, produces: String = "application/json",
        alternative: String? = nil, obeysPretty: Bool = false, pool: WorkerPool = Workers.shared.short,
        streamsBody: Bool = false, atOnce: ImmediateHandler? = nil,
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
        isOfSession = pattern.hasPrefix("/v1/sessions/{id}")
        takesTicket = isOfSession && method == "GET"
        changesTables = pattern.hasPrefix("/v1/tables/{table}") && method != "GET"
        self.servesLimitedTokens =
            servesLimitedTokens || isOfSession || pattern.hasPrefix("/v1/tables/{table}") || admission == .everyone
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
        self.streamsBody = streamsBody
        self.bodyTypes = bodyTypes ?? (method == "PATCH" ? Self.patchTypes : ["application/json"])
    }

    package static func inMemory(
        _ method: String, _ pattern: String, for admission: Admission, ignoresUnknownQuery: Bool = false,
        isProbe: Bool = false, produces: String = "application/json", obeysPretty: Bool = false,
        _ handle: @escaping @Sendable (Exchange) throws -> HTTPResponse
    ) -> Route {
        Route(
            method, pattern, for: admission, ignoresUnknownQuery: ignoresUnknownQuery, isProbe: isProbe,
            produces: produces, obeysPretty: obeysPretty, atOnce: handle, handle)
    }

    convenience init(
        _ method: String, _ pattern: String, for admission: Admission = .role(.controller), query: Set<String> = [],
        streamedBody contentType: String, obeysIfMatch: Bool = false,
        _ handle: @escaping @Sendable (Exchange, HTTPBodyReader) async throws -> HTTPResponse
    ) {
        self.init(
            method, pattern, for: admission, query: query, takesBody: true, bodyTypes: [contentType],
            obeysIfMatch: obeysIfMatch, streamsBody: true
        ) { exchange in
            guard let body = exchange.streamedBody else {
                throw ProblemError(.internalError, "The body was buffered, but the route reads it while it arrives.")
            }
            return try await handle(exchange, body)
        }
    }

    func matches(_ path: [String]) -> Bool {
        guard path.count == parts.count else { return false }
        // From the end, where paths differ most.
        for place in parts.indices.reversed() {
            switch parts[place] {
            case .literal(let text): if text != path[place] { return false }
            case .parameter: if path[place].isEmpty { return false }
            }
        }
        return true
    }

    /// `nil` if the pattern lacks it. The path must match.
    package func parameter(_ name: String, of path: [String]) -> String? {
        for case (let place, .parameter(name)) in parts.enumerated() { return path[place] }
        return nil
    }

    static let waits = 0...60

    func isLongPoll(_ head: HTTPRequestHead) -> Bool {
        guard endsAtStop, let wait = head.query.last(where: { $0.name == "wait" }).flatMap({ Int(digits: $0.value) })
        else {
            return false
        }
        return wait > 0 && Self.waits.contains(wait)
    }

    /// `nil` if it is not this pattern with misspelled words.
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

struct Router: Sendable {
    let routes: [Route]
    /// By number of segments.
    private let bySegments: [[Route]]

    init(_ routes: [Route]) {
        self.routes = routes
        let longest = routes.map(\.pattern.count).max() ?? 0
        bySegments = (0...longest).map { count in routes.filter { $0.pattern.count == count } }
    }

    enum Match {
        case route(Route)
        case otherMethods([String])
        case none
    }

    func noSuchResource(_ head: HTTPRequestHead) -> ProblemError {
        let path = head.path.last == "" ? Array(head.path.dropLast()) : head.path
        let similar = routes.lazy.compactMap { $0.corrected(path) }.min { $0.mistakes < $1.mistakes }?.path
        let hint = similar.map { path in "Did you mean \(path.map { "/" + $0.percentEncoded }.joined())?" }
        return ProblemError(
            .noSuchResource,
            "The resource \(head.plainPath) does not exist. \(hint ?? "/openapi.json lists all resources.")")
    }

    func match(method: String, path: [String]) -> Match {
        // A GET without the body (RFC 9110, 9.3.2).
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
