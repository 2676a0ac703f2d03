import BraidEngine
import BraidRuntime

/// A rule of `/v1/test/faults`. The rule says which requests meet a fault, and what the fault does.
struct FaultRule: Sendable {
    let id: String
    /// The rule's JSON as the test has sent it, with the rule's ID.
    let json: JSONObject
    private let match: RequestMatch
    /// The number of matching requests that the rule skips: the rule does not apply to the first `skip` of them.
    let skip: Int
    /// The most requests to which the rule applies. After that, the rule applies to no request.
    let times: Int
    /// The probability, from 0 to 1, with which the rule applies to a matching request that it does not skip.
    let probability: Double
    let delay: Delay?
    let action: FaultAction?

    /// The time for which the server waits before it handles the request. The time is random, between `milliseconds -
    /// jitter` and `milliseconds + jitter`, and never negative.
    struct Delay: Sendable {
        let milliseconds: Int
        let jitter: Int
    }

    /// The largest number of milliseconds that a rule accepts in a delay or an action: one hour.
    static let longestTime = 3_600_000
    /// The most rules that the server accepts in one list.
    static let mostRules = 1_000

    /// Reads a rule from JSON.
    ///
    /// - Parameters:
    ///   - index: the index of the rule in the list of rules, from 0. A rule without an ID gets an ID with the
    ///     number `index + 1`.
    ///   - pointer: the place of the rule in the request's body, for error messages.
    init(_ text: JSONText, index: Int, at pointer: JSONPointer) throws {
        let rule = try BodyReader(
            text, at: pointer, members: ["id", "match", "skip", "times", "probability", "delay", "action"])
        let id = try rule.string("id") ?? "fault-\(index + 1)"
        self.id = id
        match =
            try rule["match"].map {
                try RequestMatch(BodyReader($0, at: rule.place(of: "match"), members: RequestMatch.members))
            } ?? RequestMatch()
        skip = try rule.integer("skip", in: 0...Int.max) ?? 0
        times = try rule.integer("times", in: 1...Int.max) ?? .max
        probability =
            try rule["probability"].map { value in
                guard let number = value.doubleValue, (0...1).contains(number) else {
                    throw rule.fault(
                        "probability", .rejecting(value.kind, accepting: .number), "must be a number from 0 to 1")
                }
                return number
            } ?? 1
        delay = try rule["delay"].map { delay in
            let delay = try BodyReader(delay, at: rule.place(of: "delay"), members: ["milliseconds", "jitter"])
            return Delay(
                milliseconds: try delay.requiredInteger("milliseconds", in: 0...Self.longestTime),
                jitter: try delay.integer("jitter", in: 0...Self.longestTime) ?? 0)
        }
        action = try rule["action"].map { try FaultAction($0, ofRule: id, at: rule.place(of: "action")) }
        guard delay != nil || action != nil else {
            throw Refusal.bad(pointer, .missingMember, "a rule needs an `action`, a `delay`, or both")
        }
        var json = JSONObject([("id", .string(id))])
        for (name, value) in text.members() ?? [] { json[name] = value.value() }
        self.json = json
    }

    /// Returns whether a request meets the rule's conditions, and whether the rule's action is possible for this
    /// request.
    func matches(_ request: TestedRequest) -> Bool { (action?.fits(request) ?? true) && match.matches(request) }
}

/// What a fault does, for example to a request or to its answer.
enum FaultAction: Sendable {
    /// The server answers with a problem document, and does not execute the request.
    case respond(ProblemError)
    /// The server closes the connection without an answer, and does not execute the request.
    case close
    /// The server executes the request, and then closes the connection without an answer.
    case loseAnswer
    /// The server executes the request, sends the answer's head and at most `bytes` bytes of its body, and closes the
    /// connection. An answer without a body stays as it is.
    case truncate(bytes: Int)
    /// The server sends the body of the answer slowly.
    case throttle(bytesPerSecond: Int)
    /// The server closes the connection of an event stream after a number of events and `bytes` bytes of the next
    /// event.
    case cutStream(events: Int, bytes: Int)
    /// The server sends a number of events of an event stream, sends nothing for some time, and then continues.
    case pauseStream(events: Int, milliseconds: Int)
    /// The server answers a request for updates with a snapshot, as if the journal did not reach back to the client's
    /// position.
    case snapshot
    /// The server gives the session a new epoch before it executes the request.
    case newEpoch
    /// The server closes all connections, refuses new connections for some time, and does not execute the request.
    case refuseConnections(milliseconds: Int)

    /// The names of the fault actions in JSON.
    private enum Name: String, CaseIterable {
        case respond, close, loseAnswer, truncate, throttle, cutStream, pauseStream, snapshot, newEpoch
        case refuseConnections
    }

    /// Reads a fault's action from JSON: an object with one member, whose name is the action and whose value contains
    /// the action's parameters.
    init(_ text: JSONText, ofRule id: String, at pointer: JSONPointer) throws {
        let object = try BodyReader(text, at: pointer, members: Name.allCases.map(\.rawValue))
        let name: Name = try object.onlyMember("an action is an object with exactly one of")
        let value = try object.required(name.rawValue)
        func parameters(_ members: String...) throws(Refusal) -> BodyReader {
            try BodyReader(value, at: object.place(of: name.rawValue), members: members)
        }
        func withoutParameters(_ action: FaultAction) throws(Refusal) -> FaultAction {
            _ = try parameters()
            return action
        }
        let count = 0...Int.max, time = 1...FaultRule.longestTime
        switch name {
        case .respond:
            self = .respond(
                try ProblemError(injected: parameters("status", "retryAfter", "type"), ofRule: id))
        case .close: self = try withoutParameters(.close)
        case .loseAnswer: self = try withoutParameters(.loseAnswer)
        case .truncate: self = .truncate(bytes: try parameters("bytes").requiredInteger("bytes", in: count))
        case .throttle:
            self = .throttle(
                bytesPerSecond: try parameters("bytesPerSecond").requiredInteger("bytesPerSecond", in: 1...1 << 30))
        case .cutStream:
            let parameters = try parameters("events", "bytes")
            self = .cutStream(
                events: try parameters.requiredInteger("events", in: count),
                bytes: try parameters.integer("bytes", in: count) ?? 0)
        case .pauseStream:
            let parameters = try parameters("events", "milliseconds")
            self = .pauseStream(
                events: try parameters.requiredInteger("events", in: count),
                milliseconds: try parameters.requiredInteger("milliseconds", in: time))
        case .snapshot: self = try withoutParameters(.snapshot)
        case .newEpoch: self = try withoutParameters(.newEpoch)
        case .refuseConnections:
            self = .refuseConnections(
                milliseconds: try parameters("milliseconds").requiredInteger("milliseconds", in: time))
        }
    }

    /// Returns whether the action is possible for a request. For example, `cutStream` is possible only for a request
    /// that opens an event stream.
    func fits(_ request: TestedRequest) -> Bool {
        switch self {
        case .respond, .close, .loseAnswer, .truncate, .throttle, .refuseConnections: true
        case .cutStream, .pauseStream: request.opensStream
        case .snapshot: request.wantsUpdates
        case .newEpoch: request.session != nil
        }
    }

    /// Whether the fault's action changes how the body of an answer is sent.
    var changesBody: Bool {
        switch self {
        case .truncate, .throttle, .cutStream, .pauseStream: true
        case .respond, .close, .loseAnswer, .snapshot, .newEpoch, .refuseConnections: false
        }
    }
}

extension ProblemError {
    /// Creates the answer of a fault from the parameters of its action `respond`.
    fileprivate init(injected object: BodyReader, ofRule id: String) throws {
        var status = try object.integer("status", in: 400...599)
        var problem: Problem?
        if let name = try object.string("type") {
            guard let type = Problem(rawValue: name) else {
                throw object.fault(
                    "type", .unknownName,
                    "the problem \"\(name)\" does not exist; the schema `ProblemName` of /openapi.json lists all")
            }
            guard type == .injectedFault || status == nil || status == type.status else {
                throw object.fault("type", .conflict, "the problem \"\(name)\" has the status \(type.status)")
            }
            status = status ?? type.status
            problem = type
        }
        guard let status else {
            throw Refusal.bad(object.pointer, .missingMember, "the member `status` is missing; it is from 400 to 599")
        }
        let seconds = try object.integer("retryAfter", in: 0...86_400)
        self.init(
            problem ?? Problem(ofStatus: status),
            "The fault \"\(id)\" of /v1/test/faults answers this request. Nothing was done.")
        self.status = status
        if let seconds { headers.append(("Retry-After", "\(seconds)")) }
        if status == 401 { headers.append(Bearer.invalidChallenge) }
    }
}

extension Problem {
    /// Creates the usual problem type of a status: the only type with this status, or the most general type (400, 429,
    /// 503). For any other status, creates `injectedFault`.
    fileprivate init(ofStatus status: Int) {
        let types = Problem.allCases.filter { $0.status == status && $0 != .injectedFault }
        let general = types.first { [.badRequest, .quotaExceeded, .unavailable].contains($0) }
        self = general ?? (types.count == 1 ? types[0] : .injectedFault)
    }
}
