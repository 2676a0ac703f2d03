import BraidEngine
import BraidRuntime
import BraidServer

/// `/v1/test/faults`: which requests meet a fault, and which fault.
struct FaultRule: Sendable {
    let id: String
    /// As sent, with the ID.
    let json: JSONObject
    private let match: RequestMatch
    /// Matching requests that pass first.
    let skip: Int
    /// Applies at most this often.
    let times: Int
    /// From 0 to 1, for those after `skip`.
    let probability: Double
    let delay: Delay?
    let action: FaultAction?

    /// Random from `milliseconds - jitter` to `+ jitter`, never negative.
    struct Delay: Sendable {
        let milliseconds: Int
        let jitter: Int
    }

    /// Milliseconds: an hour.
    static let longestTime = 3_600_000
    /// In one list.
    static let mostRules = 1_000

    /// Without an ID, the rule is `fault-<index + 1>`. `pointer` is its place in the body.
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

    func matches(_ request: TestedRequest) -> Bool { (action?.fits(request) ?? true) && match.matches(request) }
}

enum FaultAction: Sendable {
    /// A problem document; not executed.
    case respond(ProblemError)
    /// Closes the connection; not executed.
    case close
    /// Executed, then the connection closes without an answer.
    case loseAnswer
    /// Sends the head and at most so much of the body, then closes.
    case truncate(bytes: Int)
    case throttle(bytesPerSecond: Int)
    /// Closes after so many events and some bytes of the next.
    case cutStream(events: Int, bytes: Int)
    /// Pauses after so many events, then goes on.
    case pauseStream(events: Int, milliseconds: Int)
    /// A snapshot in place of updates, as if the journal did not reach back.
    case snapshot
    /// Before the request is executed.
    case newEpoch
    /// Closes all connections and refuses new ones for some time; not executed.
    case refuseConnections(milliseconds: Int)

    private enum Name: String, CaseIterable {
        case respond, close, loseAnswer, truncate, throttle, cutStream, pauseStream, snapshot, newEpoch
        case refuseConnections
    }

    /// An object whose only member is the action, with its parameters.
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

    /// `cutStream` needs an event stream, for example.
    func fits(_ request: TestedRequest) -> Bool {
        switch self {
        case .respond, .close, .loseAnswer, .truncate, .throttle, .refuseConnections: true
        case .cutStream, .pauseStream: request.opensStream
        case .snapshot: request.wantsUpdates
        case .newEpoch: request.session != nil
        }
    }

    var changesBody: Bool {
        switch self {
        case .truncate, .throttle, .cutStream, .pauseStream: true
        case .respond, .close, .loseAnswer, .snapshot, .newEpoch, .refuseConnections: false
        }
    }
}

extension ProblemError {
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
    /// The only type with this status, or its most general (400, 429, 503), or `injectedFault`.
    fileprivate init(ofStatus status: Int) {
        let types = Problem.allCases.filter { $0.status == status && $0 != .injectedFault }
        let general = types.first { [.badRequest, .quotaExceeded, .unavailable].contains($0) }
        self = general ?? (types.count == 1 ? types[0] : .injectedFault)
    }
}
