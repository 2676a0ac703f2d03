import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

/// What is behind the HTTP server. `Pipeline/` is a request's way through it.
package final class App: Sendable {
    /// Also in `--version`, the metrics and the OpenAPI document.
    package static let version = "0.2.0"

    package let sessions: SessionHost
    package let store: any SessionStore
    package let logLines: LogLines?
    package let watchedFiles = WatchedFiles()
    package let phase = ServerPhase()
    package let log: RequestLog
    let metrics = Metrics()
    let router: Router
    package let limits: ServerLimits
    /// Requests being answered at once (`--max-requests`).
    let requests: Quota
    let access: AccessControl
    let pages: PagePolicy
    package let clock: Clock
    let ids: IDGenerator

    /// Without a token in `controllers` and without `signed`, everyone who can connect is a controller. `routes` adds to
    /// those of the API.
    package init(
        store: any SessionStore, clock: Clock = Clock(), ids: IDGenerator = IDGenerator(),
        limits: ServerLimits = ServerLimits(), controllers: ControllerTokens, signed: (any SignedTokens)? = nil,
        pages: PagePolicy = PagePolicy(),
        streams: StreamLimits = StreamLimits(), log: LogLines? = nil, proxies: TrustedProxies = TrustedProxies(),
        routes: (SessionHost) -> [Route] = { _ in [] }
    ) {
        self.store = store
        self.clock = clock
        self.ids = ids
        self.limits = limits
        requests = Quota(limits.requests, resourcePart: 2, clientPart: 16)
        self.pages = pages
        logLines = log
        self.log = RequestLog(log, proxies: proxies)
        let sessions = SessionHost(
            store: store, clock: clock, ids: ids, limits: limits.session, streams: streams, signed: signed)
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
                + updateRoutes(sessions) + presenceRoutes(sessions)
                + observeRoutes(sessions, limits: limits) + tokenRoutes(sessions.tokens) + [ticketRoute(sessions)]
                + statelessRoutes(clock: clock)
                + routes(sessions)
        )
        metrics.follow(router.routes.map(\.counters))
    }

    /// For `/metrics`.
    package func follow(_ server: HTTPServer) {
        metrics.connections.withLock { $0 = { [weak server] in server?.connectionStatistics } }
    }
}
