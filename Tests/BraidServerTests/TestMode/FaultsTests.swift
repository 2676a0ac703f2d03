import BraidEngine
import BraidHTTP
import BraidSessions
import Testing

@testable import BraidServer
@testable import BraidTestMode

@Suite struct FaultsTests {
    private static func request(_ target: String = "/v1/sessions/party/updates", _ fields: [(String, String)] = [])
        -> TestedRequest
    {
        let route = Route("GET", "/v1/sessions/{id}/updates", endsAtStop: target.hasSuffix("updates")) { _ in
            HTTPResponse(status: 200)
        }
        return TestedRequest(
            parsedHead("GET", target, [("Host", "a")] + fields), [],
            target.hasPrefix("/v1/sessions/") ? route : nil, .controller)
    }

    private static func faults(_ rules: String, seed: Int = 0) throws -> Faults {
        let faults = Faults()
        try faults.replace(with: JSONText(parsing: #"{"seed":\#(seed),"faults":[\#(rules)]}"#))
        return faults
    }

    private func met(_ faults: Faults, _ count: Int, _ request: TestedRequest = request()) -> [String?] {
        (0..<count).map { _ in faults.fault(for: request)?.rule }
    }

    private func counters(_ faults: Faults) throws -> [[Int?]] {
        var writer = JSONWriter()
        faults.write(to: &writer)
        return try JSONText(parsing: writer.bytes)["faults"]?.elements()?.map {
            [$0["matched"]?.intValue, $0["applied"]?.intValue]
        } ?? []
    }

    @Test("`skip` leaves the first matching requests alone, and `times` limits the number of requests after them")
    func skipAndTimes() throws {
        let faults = try Self.faults(#"{"skip":2,"times":1,"action":{"close":{}}}"#)
        #expect(met(faults, 5) == [nil, nil, "fault-1", nil, nil])
        #expect(try counters(faults) == [[5, 1]])
    }

    @Test("Only the first rule that matches and is due applies, and the rules after it do not count the request")
    func order() throws {
        let faults = try Self.faults(
            #"{"id":"a","times":1,"action":{"close":{}}},{"action":{"loseAnswer":{}}},{"action":{"close":{}}}"#)
        #expect(met(faults, 3) == ["a", "fault-2", "fault-2"])
        #expect(try counters(faults) == [[3, 1], [2, 2], [0, 0]])
    }

    @Test("A seed makes the choices of `probability` reproducible, and their share is about the probability")
    func probability() throws {
        let rule = #"{"probability":0.25,"action":{"close":{}}}"#
        let first = try met(Self.faults(rule, seed: 42), 4_000)
        #expect(try met(Self.faults(rule, seed: 42), 4_000) == first)
        #expect(try met(Self.faults(rule, seed: 43), 4_000) != first)
        // The seed is fixed, so the number is always the same. Over all seeds, its standard deviation is 27.
        #expect((900...1_100).contains(first.count { $0 != nil }))
        for (probability, share) in [("0", 0), ("1", 100)] {
            let all = try met(Self.faults(#"{"probability":\#(probability),"action":{"close":{}}}"#), 100)
            #expect(all.count { $0 != nil } == share)
        }
    }

    @Test("The random choices of one rule do not depend on the requests that other rules match")
    func independence() throws {
        let rules =
            #"{"match":{"path":"/v1/tables"},"probability":0.5,"action":{"close":{}}},{"id":"b","match":{"session":"party"},"probability":0.5,"action":{"close":{}}}"#
        let alone = try met(Self.faults(rules), 200), faults = try Self.faults(rules)
        let mixed = (0..<200).map { _ in
            _ = faults.fault(for: Self.request("/v1/tables"))
            return faults.fault(for: Self.request())?.rule
        }
        #expect(mixed == alone)
    }

    @Test("A delay varies by at most its jitter, and depends on the seed")
    func delays() throws {
        func delays(_ delay: String) throws -> [Duration?] {
            let faults = try Self.faults(#"{"delay":\#(delay)}"#)
            return (0..<500).map { _ in faults.fault(for: Self.request())?.delay }
        }
        #expect(try delays(#"{"milliseconds":200}"#).allSatisfy { $0 == .milliseconds(200) })
        let drawn = try delays(#"{"milliseconds":200,"jitter":50}"#).compactMap { $0 }
        #expect(drawn.allSatisfy { $0 >= .milliseconds(150) && $0 <= .milliseconds(250) })
        #expect(drawn.contains { $0 < .milliseconds(160) } && drawn.contains { $0 > .milliseconds(240) })
        #expect(try drawn == delays(#"{"milliseconds":200,"jitter":50}"#))
        #expect(try delays(#"{"milliseconds":1,"jitter":50}"#).allSatisfy { $0.map { $0 >= .zero } ?? false })
    }

    @Test("A rule matches only requests to which its action can apply")
    func fitting() throws {
        let stream = Self.request("/v1/sessions/party/updates", [("Accept", "text/event-stream")])
        let updates = Self.request(), session = Self.request("/v1/sessions/party"), tables = Self.request("/v1/tables")
        for (action, fitting) in [
            (#""cutStream":{"events":1}"#, [true, false, false, false]),
            (#""pauseStream":{"events":1,"milliseconds":1}"#, [true, false, false, false]),
            (#""snapshot":{}"#, [true, true, false, false]), (#""newEpoch":{}"#, [true, true, true, false]),
            (#""close":{}"#, [true, true, true, true]),
        ] {
            let faults = try Self.faults(#"{"action":{\#(action)}}"#)
            #expect([stream, updates, session, tables].map { faults.fault(for: $0) != nil } == fitting, "\(action)")
            #expect(try counters(faults) == [[fitting.count { $0 }, fitting.count { $0 }]])
        }
    }

    @Test("A rule with only a status gets its usual problem type, and a rule with only a type gets its usual status")
    func types() throws {
        for (respond, status, problem) in [
            (#"{"status":503}"#, 503, .unavailable), (#"{"status":429}"#, 429, .quotaExceeded),
            (#"{"status":400}"#, 400, .badRequest), (#"{"status":401}"#, 401, .unauthorized),
            (#"{"status":500}"#, 500, .internalError), (#"{"status":507}"#, 507, .storageFull),
            (#"{"status":409}"#, 409, .injectedFault), (#"{"status":418}"#, 418, .injectedFault),
            (#"{"type":"row-gone"}"#, 409, .rowGone), (#"{"status":409,"type":"row-gone"}"#, 409, .rowGone),
            (#"{"status":503,"type":"injected-fault"}"#, 503, .injectedFault),
        ] as [(String, Int, Problem)] {
            let faults = try Self.faults(#"{"action":{"respond":\#(respond)}}"#)
            guard case .respond(let error)? = faults.fault(for: Self.request())?.action else {
                Issue.record("\(respond)")
                continue
            }
            #expect(error.status == status && error.problem == problem, "\(respond)")
        }
    }

    @Test(
        "A faulty rule is refused with the place and the code of its fault, and the old rules stay",
        arguments: [
            (#"{}"#, "", .missingMember), (#"[]"#, "", .wrongType), (#"{"faults":{}}"#, "/faults", .wrongType),
            (#"{"faults":[],"x":1}"#, "/x", .unknownMember), (#"{"faults":[],"seed":0.5}"#, "/seed", .outOfRange),
            (#"{"faults":[],"seed":"a"}"#, "/seed", .wrongType), (#"{"faults":[{}]}"#, "/faults/0", .missingMember),
            (#"{"faults":[1]}"#, "/faults/0", .wrongType),
            (#"{"faults":[{"acton":{}}]}"#, "/faults/0/acton", .unknownMember),
            (#"{"faults":[{"action":{}}]}"#, "/faults/0/action", .missingMember),
            (#"{"faults":[{"action":{"close":{},"snapshot":{}}}]}"#, "/faults/0/action", .conflict),
            (#"{"faults":[{"action":{"explode":{}}}]}"#, "/faults/0/action/explode", .unknownMember),
            (#"{"faults":[{"action":{"close":true}}]}"#, "/faults/0/action/close", .wrongType),
            (#"{"faults":[{"action":{"close":{"x":1}}}]}"#, "/faults/0/action/close/x", .unknownMember),
            (#"{"faults":[{"action":{"truncate":{}}}]}"#, "/faults/0/action/truncate", .missingMember),
            (#"{"faults":[{"action":{"truncate":{"bytes":-1}}}]}"#, "/faults/0/action/truncate/bytes", .outOfRange),
            (
                #"{"faults":[{"action":{"throttle":{"bytesPerSecond":0}}}]}"#,
                "/faults/0/action/throttle/bytesPerSecond", .outOfRange
            ),
            (#"{"faults":[{"action":{"cutStream":{"bytes":1}}}]}"#, "/faults/0/action/cutStream", .missingMember),
            (
                #"{"faults":[{"action":{"pauseStream":{"events":1,"milliseconds":3600001}}}]}"#,
                "/faults/0/action/pauseStream/milliseconds", .outOfRange
            ),
            (
                #"{"faults":[{"action":{"refuseConnections":{"milliseconds":"1"}}}]}"#,
                "/faults/0/action/refuseConnections/milliseconds", .wrongType
            ),
            (#"{"faults":[{"action":{"respond":{}}}]}"#, "/faults/0/action/respond", .missingMember),
            (#"{"faults":[{"action":{"respond":{"status":200}}}]}"#, "/faults/0/action/respond/status", .outOfRange),
            (#"{"faults":[{"action":{"respond":{"type":"no"}}}]}"#, "/faults/0/action/respond/type", .unknownName),
            (
                #"{"faults":[{"action":{"respond":{"status":500,"type":"unavailable"}}}]}"#,
                "/faults/0/action/respond/type", .conflict
            ),
            (#"{"faults":[{"delay":{}}]}"#, "/faults/0/delay", .missingMember),
            (#"{"faults":[{"delay":{"milliseconds":1,"jitter":-1}}]}"#, "/faults/0/delay/jitter", .outOfRange),
            (#"{"faults":[{"skip":-1,"action":{"close":{}}}]}"#, "/faults/0/skip", .outOfRange),
            (#"{"faults":[{"times":0,"action":{"close":{}}}]}"#, "/faults/0/times", .outOfRange),
            (#"{"faults":[{"probability":1.5,"action":{"close":{}}}]}"#, "/faults/0/probability", .outOfRange),
            (#"{"faults":[{"probability":"1","action":{"close":{}}}]}"#, "/faults/0/probability", .wrongType),
            (
                #"{"faults":[{"match":{"method":"post"},"action":{"close":{}}}]}"#, "/faults/0/match/method",
                .invalidValue
            ),
            (#"{"faults":[{"match":{"path":"v1"},"action":{"close":{}}}]}"#, "/faults/0/match/path", .invalidValue),
            (#"{"faults":[{"match":{"path":"/**/x"},"action":{"close":{}}}]}"#, "/faults/0/match/path", .invalidValue),
            (#"{"faults":[{"match":{"role":"king"},"action":{"close":{}}}]}"#, "/faults/0/match/role", .invalidValue),
            (
                #"{"faults":[{"match":{"headers":{"a":1}},"action":{"close":{}}}]}"#, "/faults/0/match/headers/a",
                .wrongType
            ),
            (#"{"faults":[{"match":{"query":[]},"action":{"close":{}}}]}"#, "/faults/0/match/query", .wrongType),
            (#"{"faults":[{"match":{"status":1},"action":{"close":{}}}]}"#, "/faults/0/match/status", .unknownMember),
            (
                #"{"faults":[{"id":"a","action":{"close":{}}},{"id":"a","action":{"close":{}}}]}"#, "/faults/1/id",
                .duplicate
            ),
            (
                #"{"faults":[{"id":"fault-2","action":{"close":{}}},{"action":{"close":{}}}]}"#, "/faults/1/id",
                .duplicate
            ),
        ] as [(String, String, FaultCode)])
    func faultyRules(_ body: String, pointer: String, code: FaultCode) throws {
        let faults = try Self.faults(#"{"id":"before","action":{"close":{}}}"#)
        let refusal = #expect(throws: Refusal.self) { try faults.replace(with: JSONText(parsing: body)) }
        #expect(refusal?.faults.map(\.pointer.description) == [pointer])
        #expect(refusal?.faults.map(\.code) == [code])
        #expect(met(faults, 1) == ["before"])
    }

    @Test("A request may set as many rules as the limit says, and no more")
    func tooManyRules() throws {
        let rules = [String](repeating: #"{"action":{"close":{}}}"#, count: FaultRule.mostRules)
        #expect(try counters(Self.faults(rules.joined(separator: ","))).count == FaultRule.mostRules)
        #expect(throws: Refusal.self) { try Self.faults((rules + rules.prefix(1)).joined(separator: ",")) }
    }
}
