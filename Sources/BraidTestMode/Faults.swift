import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer
import Synchronization

struct InjectedFault: Sendable {
    let rule: String
    let delay: Duration?
    let action: FaultAction?
}

/// The rules, and to how many requests each has applied.
final class Faults: JSONWritable, Sendable {
    private struct State {
        var seed = 0
        var rules: [(rule: FaultRule, matched: Int, applied: Int)] = []
    }

    private let state = Mutex(State())

    func reset() { state.withLock { $0 = State() } }

    /// The new rules count from 0.
    func replace(with body: JSONText) throws {
        let body = try BodyReader(body, at: .root, members: ["seed", "faults"])
        let seed = try body.integer("seed", in: Int.min...Int.max) ?? 0
        guard let elements = try body.required("faults").elements() else {
            throw body.fault("faults", .wrongType, "must be an array of rules")
        }
        guard elements.count <= FaultRule.mostRules else {
            throw body.fault("faults", .invalidValue, "there are more than \(FaultRule.mostRules) rules")
        }
        var ids: Set<UTF8Key> = []
        let rules = try elements.enumerated().map { index, element in
            let place = body.place(of: "faults").appending(index)
            let rule = try FaultRule(element, index: index, at: place)
            guard ids.insert(UTF8Key(rule.id)).inserted else {
                throw Refusal.bad(place.appending("id"), .duplicate, "two rules have the id \"\(rule.id)\"")
            }
            return rule
        }
        state.withLock { $0 = State(seed: seed, rules: rules.map { ($0, 0, 0) }) }
    }

    /// The fault of the first rule that matches and that `skip`, `times` and `probability` allow. Counts the request
    /// for every matching rule up to this one.
    func fault(for request: TestedRequest) -> InjectedFault? {
        state.withLock { state in
            for index in state.rules.indices {
                let (rule, matched, applied) = state.rules[index]
                guard rule.matches(request) else { continue }
                state.rules[index].matched += 1
                let draws = Draws(seed: state.seed, rule: index, match: matched)
                guard matched >= rule.skip, applied < rule.times, draws.fraction(0) < rule.probability else { continue }
                state.rules[index].applied += 1
                let delay = rule.delay.map { delay in
                    let deviation = Double(delay.jitter) * (2 * draws.fraction(1) - 1)
                    return Duration.milliseconds(max(0, Double(delay.milliseconds) + deviation))
                }
                return InjectedFault(rule: rule.id, delay: delay, action: rule.action)
            }
            return nil
        }
    }

    public func write(to writer: inout JSONWriter) {
        let state = state.withLock { $0 }
        writer.object {
            $0.member("seed", state.seed)
            $0.array("faults", of: state.rules) { writer, counted in
                writer.object {
                    for (name, value) in counted.rule.json.members { $0.member(name, value) }
                    $0.member("matched", counted.matched)
                    $0.member("applied", counted.applied)
                }
            }
        }
    }
}

/// Random numbers that depend only on seed, rule and number of the match: other rules' requests change nothing.
private struct Draws {
    private let state: UInt64

    init(seed: Int, rule: Int, match: Int) {
        state = [seed, rule, match].reduce(0) { Self.mixed($0 ^ UInt64(bitPattern: Int64($1))) }
    }

    /// 0 to below 1, independent for each `number`.
    func fraction(_ number: UInt64) -> Double { Double(Self.mixed(state ^ number) >> 11) / Double(1 << 53) }

    /// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
    private static func mixed(_ state: UInt64) -> UInt64 {
        var z = state &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

// MARK: - Routes

func faultRoutes(_ faults: Faults) -> [Route] {
    let path = "/v1/test/faults"
    return [
        Route("GET", path) { _ in .json(faults) },
        Route("PUT", path, takesBody: true) { context in
            try faults.replace(with: context.json())
            return .json(faults)
        },
        Route("DELETE", path) { _ in
            faults.reset()
            return HTTPResponse(status: 204)
        },
    ]
}
