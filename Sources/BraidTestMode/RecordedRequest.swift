import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer
import BraidSessions

/// A request as fault rules and claims of tests see it.
struct TestedRequest: Sendable {
    /// As sent.
    let head: HTTPRequestHead
    /// Decompressed. Empty if read while it arrives, or not kept.
    var body: [UInt8]
    /// `nil`: not JSON, or not kept.
    var json: JSONValue?
    /// In the path. `nil` also if the HTTP server has refused the request.
    let session: String?
    /// `nil` without an acceptable token or without a route.
    let requester: Requester?
    /// Updates as a list, by long polling or as an event stream.
    let wantsUpdates: Bool
    /// Sent so far, if the answer is an event stream.
    let sentEvents = Counter()
    var fault: InjectedFault?

    init(_ head: HTTPRequestHead, _ body: [UInt8] = [], _ route: Route? = nil, _ requester: Requester? = nil) {
        self.head = head
        self.body = body
        json = (try? JSONText(parsing: body, depthLimit: 1_000))?.value()
        session = route?.pattern.dropFirst().first == "sessions" ? route?.parameter("id", of: head.path) : nil
        self.requester = requester
        // `GET /v1/fixtures` also waits, but not for a session's changes.
        wantsUpdates = session != nil && route?.endsAtStop == true
    }

    init(_ exchange: Exchange) {
        var body = exchange.body
        let limits = exchange.app.limits
        _ = try? exchange.head.decompress(&body, limit: limits.bodyBytes, memory: limits.bodies, for: exchange.account)
        self.init(exchange.head, body, exchange.route, exchange.sender)
    }

    var opensStream: Bool { wantsUpdates && head.prefers("text/event-stream") }
}

/// A request with its answer, if it has one.
struct RecordedRequest: Sendable {
    let id: String
    /// Of handling; monotonic nanoseconds.
    let start: Int
    /// Without a large body.
    private(set) var request: TestedRequest
    /// Decompressed. 0 if read while it arrives.
    let bodyBytes: Int
    /// Of the answer; milliseconds since 1970 by the server's clock.
    let time: Int
    let nanoseconds: Int
    /// `nil`: closed without executing.
    let answer: RecordedAnswer?

    /// Of a longer body, only the size is kept.
    static let mostBodyBytes = 64 * 1024

    /// `response` is `nil` if the connection closes without executing.
    init(_ request: TestedRequest, id: String, start: Int, answer response: HTTPResponse?, time: Int) {
        (self.id, self.start, self.time) = (id, start, time)
        self.request = request
        bodyBytes = request.body.count
        if bodyBytes > Self.mostBodyBytes { (self.request.body, self.request.json) = ([], nil) }
        nanoseconds = monotonicNanoseconds() - start
        answer = response.map { RecordedAnswer($0, to: request) }
    }

    var fault: String? { request.fault?.rule }

    /// Executed, but the answer withheld (`loseAnswer`).
    private var isLost: Bool {
        if answer != nil, case .loseAnswer? = request.fault?.action { true } else { false }
    }

    /// Approximate bytes in memory.
    var size: Int {
        let headers = answer?.headers.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 64 } ?? 0
        // Parsed JSON needs several times its text.
        let body = (request.json == nil ? 1 : 5) * request.body.count
        return 1_024 + request.head.headers.bytes.count + 2 * request.head.target.utf8.count + body + headers
            + (answer?.body?.count ?? 0)
    }
}

struct RecordedAnswer: Sendable {
    let status: Int
    let headers: [(String, String)]
    /// `nil` unless JSON of at most ``RecordedRequest/mostBodyBytes``.
    let body: JSONText?
    /// `nil` unless an event stream.
    let events: Counter?
    /// Of a problem document: `row-not-found`.
    let problem: String?

    /// An earlier answer to the same idempotency key.
    var isReplayed: Bool { headers.contains { $0.0 == "Idempotent-Replayed" } }

    init(_ response: HTTPResponse, to request: TestedRequest) {
        (status, headers) = (response.status, response.headers)
        if case .stream = response.body, request.opensStream { events = request.sentEvents } else { events = nil }
        let type = headers.first { $0.0 == "Content-Type" }?.1 ?? ""
        let bytes = type.hasSuffix("json") && !request.head.isHead ? response.body.bytes : nil
        body = bytes.flatMap {
            $0.count <= RecordedRequest.mostBodyBytes ? try? JSONText(parsing: $0, depthLimit: 1_000) : nil
        }
        problem =
            type == "application/problem+json"
            ? body?["type"]?.stringValue?.split(separator: "/").last.map(String.init) : nil
    }
}

// MARK: - As JSON

extension RecordedRequest: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        let head = request.head
        writer.object {
            $0.member("id", id)
            $0.member("time", Instant(millisecondsSince1970: time))
            $0.member("milliseconds", JSONNumber(Double(nanoseconds / 1_000) / 1_000).map(JSONValue.number) ?? .null)
            $0.member("method", head.method)
            $0.member("path", head.plainPath)
            $0.fields("query", head.query.filter { $0.name != Route.ticket })
            $0.fields("headers", head.headers.texts.filter { $0.name != "authorization" })
            if let requester = request.requester {
                $0.member("role", requester.role.rawValue)
                $0.member("token", requester.token?.id)
            }
            $0.member("session", request.session)
            writeBody(to: &$0)
            $0.member("answer", answer)
            $0.member("fault", fault)
            if isLost { $0.member("lost", true) }
        }
    }

    private func writeBody(to writer: inout JSONWriter) {
        guard bodyBytes > 0 else { return }
        if request.body.isEmpty {
            writer.member("bodyBytes", bodyBytes)
        } else {
            writer.member("body", request.json ?? .string(String(decoding: request.body, as: UTF8.self)))
        }
    }
}

extension RecordedAnswer: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.member("status", status)
            $0.fields("headers", headers.map { (name: $0.0.lowercased(), value: $0.1) })
            $0.member("body", body)
            $0.member("problem", problem)
            if isReplayed { $0.member("replayed", true) }
            $0.member("events", events?.value)
        }
    }
}

extension JSONWriter {
    /// Joins a repeated name's values with ", ".
    fileprivate mutating func fields(_ name: StaticString, _ fields: some Sequence<(name: String, value: String)>) {
        var values: [(name: String, value: String)] = []
        for field in fields {
            if let index = values.firstIndex(where: { $0.name == field.name }) {
                values[index].value += ", " + field.value
            } else {
                values.append(field)
            }
        }
        object(name) {
            for field in values { $0.member(field.name, field.value) }
        }
    }
}
