import BraidHTTP
import BraidRuntime
import BraidSessions
import Synchronization

/// Answered requests, administrative acts, reached limits.
package struct RequestLog: Sendable {
    let lines: LogLines?
    private let proxies: TrustedProxies
    private let limits = LimitWarnings()

    init(_ lines: LogLines?, proxies: TrustedProxies) {
        self.lines = lines
        self.proxies = proxies
    }

    /// Logs neither query, body nor token. `nanoseconds` is `nil` if the HTTP server itself refused.
    func answered(_ request: Exchange, status: Int, nanoseconds: Int? = nil) {
        lines?.write(request.isProbe ? .debug : .info, "request") { line in
            add(request, to: &line) { line in
                line.add("method", request.head.method)
                line.add("path", request.head.plainPath)
                line.add("route", request.route?.counters.template ?? "")
                line.add("status", status)
                if let nanoseconds { line.add("microseconds", nanoseconds / 1_000) }
            }
        }
    }

    func act(_ act: String, _ values: [(name: String, value: String)], by request: Exchange) {
        lines?.write(.notice, act) { line in
            for (name, value) in values { line.add(name, value) }
            add(request, to: &line)
        }
    }

    /// An act of the server itself, for `--fixtures`.
    package func fixtureAct(_ act: String, _ values: [(name: String, value: String)], file: String) {
        lines?.write(.notice, act) { line in
            for (name, value) in values { line.add(name, value) }
            line.add("file", file)
        }
    }

    /// Logs at most once a minute for the limit, and once for its shares (of a session or token). `limit`: the option.
    package func reached(_ limit: String, isShare: Bool = false) { reached(limit, isShare: isShare, by: nil) }

    func reached(_ limit: String, isShare: Bool, by request: Exchange?) {
        guard let times = limits.reached(limit, isShare: isShare) else { return }
        lines?.write(.warning, "limit reached") { line in
            line.add("limit", limit)
            line.add("scope", isShare ? "share" : "server")
            line.add("times", times)
            if let request { add(request, to: &line) }
        }
    }

    /// Logs at most once a minute, with the option that would allow the page.
    func refusedPage(by request: Exchange) {
        let origin = request.head.headers["origin"]
        guard let times = limits.reached("allow-origin", isShare: false) else { return }
        lines?.write(.warning, "web page refused") { line in
            line.add("origin", origin ?? "")
            line.add("host", request.head.host ?? "")
            line.add("option", "--allow-origin=\(origin ?? "ORIGIN")")
            line.add("times", times)
            add(request, to: &line)
        }
    }

    /// As often as requests are logged: each has its line there, too.
    func refused(_ refusal: TokenRefusal, by request: Exchange) {
        lines?.write(.info, "token refused") { line in
            line.add("check", refusal.check)
            add(request, to: &line)
        }
    }

    private func add(_ request: Exchange, to line: inout LogLine, _ addValues: (inout LogLine) -> Void = { _ in }) {
        line.add("requestId", request.requestID)
        line.add("client", proxies.client(request.head, peer: request.head.peer))
        if request.route?.admission != .everyone, let requester = request.sender {
            line.add("role", requester.role.rawValue)
            if let token = requester.token { line.add("tokenId", token.id) }
            if let user = requester.user.id { line.add("user", user) }
        }
        addValues(&line)
        if let trace = request.head.traceID { line.add("traceId", trace) }
    }
}

/// Counts reached limits between log lines, which come once a minute.
private final class LimitWarnings: Sendable {
    private struct Limit: Hashable {
        let name: String
        let isShare: Bool
    }

    private static let interval = 60_000_000_000
    private let limits = Mutex<[Limit: (times: Int, next: Int)]>([:])

    /// How often since the last line; `nil`: no line is due.
    func reached(_ name: String, isShare: Bool) -> Int? {
        let now = monotonicNanoseconds()
        return limits.withLock { limits in
            let limit = Limit(name: name, isShare: isShare), known = limits[limit]
            let times = (known?.times ?? 0) + 1
            if let known, now < known.next {
                limits[limit] = (times, known.next)
                return nil
            }
            limits[limit] = (0, now + Self.interval)
            return times
        }
    }
}

extension HTTPRequestHead {
    /// `traceparent` (W3C Trace Context, 3.2); ignored if malformed.
    var traceID: String? {
        let fields = headers.values("traceparent")
        guard fields.count == 1, let field = fields.first else { return nil }
        let bytes = Array(field.utf8)
        // `version-traceid-parentid-flags`; versions after 00 may append more.
        guard bytes.count == 55 || bytes.count > 55 && bytes[55] == UInt8(ascii: "-") && !field.hasPrefix("00-"),
            !field.hasPrefix("ff-"), [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") })
        else { return nil }
        func isID(_ range: Range<Int>, mayBeZero: Bool = false) -> Bool {
            bytes[range].allSatisfy { $0.hexValue != nil && $0 == $0.lowercased }
                && (mayBeZero || bytes[range].contains { $0 != UInt8(ascii: "0") })
        }
        guard isID(0..<2, mayBeZero: true), isID(3..<35), isID(36..<52), isID(53..<55, mayBeZero: true) else {
            return nil
        }
        return String(decoding: bytes[3..<35], as: UTF8.self)
    }
}
