import BraidEngine

/// A claim: exactly, at least or at most so many recorded requests meet conditions.
struct RequestVerification: Sendable {
    private var match: RequestMatch
    private var answer: AnswerMatch
    private var bound: Bound
    private var count: Int

    private enum Bound: String, CaseIterable {
        case exactly, atLeast, atMost

        var text: String {
            switch self {
            case .exactly: "exactly"
            case .atLeast: "at least"
            case .atMost: "at most"
            }
        }
    }

    init(json: JSONText) throws {
        let body = try BodyReader(json, at: .root, members: ["match"] + Bound.allCases.map(\.rawValue))
        bound = try body.onlyMember("must have exactly one of the members")
        count = try body.requiredInteger(bound.rawValue, in: 0...Int.max)
        let conditions = try BodyReader(
            body["match"] ?? .emptyObject, at: body.place(of: "match"),
            members: RequestMatch.members + AnswerMatch.members)
        match = try RequestMatch(conditions)
        answer = try AnswerMatch(conditions)
    }

    func result(for requests: [RecordedRequest]) -> Result {
        var result = Result(isMet: false, detail: "", matches: [], nearestMisses: [])
        var misses: [Result.Miss] = []
        for request in requests {
            let mismatches = match.mismatches(of: request.request) + answer.mismatches(of: request)
            if mismatches.isEmpty {
                result.matches.append(request.id)
            } else {
                misses.append((request, mismatches))
            }
        }
        let found = result.matches.count
        result.isMet =
            switch bound {
            case .exactly: found == count
            case .atLeast: found >= count
            case .atMost: found <= count
            }
        result.detail =
            "\(found) of \(requests.count) recorded requests \(found == 1 ? "matches" : "match"), but \(bound.text) \(count) should."
        // If too many matched, near ones explain nothing.
        if found < count {
            misses.sort { $0.mismatches.count < $1.mismatches.count }
            result.nearestMisses = Array(misses.prefix(Self.mostMisses))
        }
        return result
    }

    private static let mostMisses = 3

    struct Result {
        typealias Miss = (request: RecordedRequest, mismatches: [RequestMatch.Mismatch])

        var isMet: Bool
        /// For people.
        var detail: String
        var matches: [String]
        /// Those that miss the fewest conditions, if too few match.
        var nearestMisses: [Miss]
    }
}

private struct AnswerMatch {
    static let members = ["status", "problem", "replayed", "fault"]

    private let status: Int?
    private let problem: String?
    private let isReplayed: Bool?
    private let fault: String?

    init(_ object: BodyReader) throws {
        status = try object.integer("status", in: 100...599)
        problem = try object.string("problem")
        isReplayed = try object.flag("replayed")
        fault = try object.string("fault")
    }

    func mismatches(of request: RecordedRequest) -> [RequestMatch.Mismatch] {
        var found: [RequestMatch.Mismatch] = []
        func check(_ name: String, _ expected: JSONText?, _ actual: JSONText?) {
            guard let expected, expected != actual else { return }
            found.append(.init(member: JSONPointer.root.appending(name), expected: expected, actual: actual))
        }
        let answer = request.answer
        check("status", status.map(JSONText.number), answer.map { .number($0.status) })
        check("problem", problem.map(JSONText.string), answer?.problem.map(JSONText.string))
        check("replayed", isReplayed.map(JSONText.bool), .bool(answer?.isReplayed ?? false))
        check("fault", fault.map(JSONText.string), request.fault.map(JSONText.string))
        return found
    }
}

extension BodyReader {
    fileprivate func flag(_ name: String) throws(Refusal) -> Bool? {
        guard let value = self[name] else { return nil }
        guard value == .true || value == .false else { throw fault(name, .wrongType, "must be true or false") }
        return value == .true
    }
}

// MARK: - As JSON

extension RequestVerification.Result {
    func writeMatches(to writer: inout JSONWriter) {
        writer.member("count", matches.count)
        writer.member("requests", matches)
    }

    func writeNearestMisses(to writer: inout JSONWriter) {
        writer.array("nearestMisses", of: nearestMisses) { writer, miss in
            writer.object {
                $0.member("request", miss.request)
                $0.array("differences", of: miss.mismatches) { writer, mismatch in
                    writer.object {
                        $0.member("member", mismatch.member.description)
                        $0.member("expected", mismatch.expected)
                        $0.member("actual", mismatch.actual)
                    }
                }
            }
        }
    }
}
