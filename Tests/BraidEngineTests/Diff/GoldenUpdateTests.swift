import Foundation
import TestSupport
import Testing
@testable import BraidEngine

/// Tests/Golden/updates.json, with which the clients test how they apply updates.
///
/// To write it again and review the changes: `BRAID_WRITE_GOLDEN=1 swift test --filter GoldenUpdateTests`.
@Suite(.serialized) struct GoldenUpdateTests {
    private static let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Golden/updates.json")
        .standardized

    @Test("The file of golden updates contains exactly the updates that the engine creates today")
    func theEngineMakesThem() throws {
        let text = try Self.golden()
        if environment("BRAID_WRITE_GOLDEN") != nil { try text.write(to: Self.file, atomically: true, encoding: .utf8) }
        #expect(try text == String(contentsOf: Self.file, encoding: .utf8))
    }

    @Test("Each golden update leads to its snapshot, and each faulty one is refused with its fault")
    func theEngineAppliesThem() throws {
        let golden = try JSONText(parsing: [UInt8](Data(contentsOf: Self.file)))
        let cases = try #require(golden["cases"]?.elements())
        #expect(cases.count > 60)
        for golden in cases {
            let name = golden["name"]?.stringValue ?? ""
            let before = try Snapshot(json: #require(golden["before"])),
                update = try BatchUpdate(json: #require(golden["update"]))
            #expect(try update.applied(to: before).json == golden["after"], "\(name)")
            for wrong in golden["faults"]?.elements() ?? [] {
                let update = try BatchUpdate(json: #require(wrong["update"]))
                #expect(throws: InvalidUpdate.self, "\(name)") { try update.applied(to: before) }
                #expect(Self.fault(of: update, before)?.description == wrong["fault"]?.stringValue, "\(name)")
            }
        }
    }

    private static func fault(of update: BatchUpdate, _ snapshot: Snapshot) -> InvalidUpdate? {
        do throws(InvalidUpdate) {
            _ = try update.applied(to: snapshot)
            return nil
        } catch {
            return error
        }
    }

    /// For the table "A: a b", "B: c": rules that a random change rarely breaks.
    private static let brokenStages = [
        #"{"deleteSections":[0],"deleteRows":[[0,0]]}"#,
        #"{"reloadSections":[{"at":1,"section":{"id":"B","header":null,"footer":null,"rows":[]}}],"updateRows":[{"at":[1,0],"row":{"id":"c","cell":"Cell"}}]}"#,
        #"{"moveSections":[{"from":0,"to":1}],"insertRows":[{"at":[1,0],"row":{"id":"x","cell":"Cell"}}]}"#,
        #"{"insertSections":[{"at":0,"section":{"id":"C","header":null,"footer":null,"rows":[]}}],"moveRows":[{"from":[0,0],"to":[0,0]}]}"#,
        #"{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell"}}],"moveSections":[{"from":1,"to":1}]}"#,
        #"{"reloadSections":[{"at":1,"section":{"id":"B","header":null,"footer":null,"rows":[]}}],"moveRows":[{"from":[0,0],"to":[0,1]}]}"#,
        #"{"updateSections":[{"at":0}]}"#,
        #"{"moveRows":[{"from":[0,0],"to":[0,1],"row":{"cell":"Cell"}}]}"#,
        #"{"insertRows":[{"at":[0,9],"row":{"id":"x","cell":"Cell"}},{"at":[0,7],"row":{"id":"y","cell":"Cell"}}]}"#,
        #"{}"#,
    ]

    /// Lines of JSON: named cases, random ones, faulty stages.
    private static func golden() throws -> String {
        var random = SeededGenerator(seed: 2026)
        var pairs = DiffCaseTests.cases.map { ($0.name, wire($0.old), wire($0.new)) }
        for number in 0..<40 { pairs.append(("random \(number)", wire(random.snapshot()), wire(random.snapshot()))) }
        pairs.append(("rules", .make("A: a b", "B: c"), .make("A: a", "B: c")))
        let lines = try pairs.map { name, old, new in
            let before = old.at(6), after = new.at(7)
            let update = try BatchUpdate(from: before, to: after)
            var members: [(name: String, value: JSONValue)] = [
                ("name", .string(name)), ("before", before.json.value()), ("update", update.json.value()),
                ("after", after.json.value()),
            ]
            var faults: [JSONValue] = [], told: Set<String> = []
            for stage in name == "rules" ? brokenStages : [] {
                let wrong = try JSONText(parsing: #"{"from":6,"to":7,"stages":[\#(stage)],"totalRowCount":2}"#).value()
                guard let fault = fault(wrong, before) else { continue }
                faults.append(.object(JSONObject([("update", wrong), ("fault", .string(fault))])))
            }
            for _ in 0..<24 where faults.count < 4 {
                guard let (wrong, fault) = fault(update.json.value(), before, &random),
                    told.insert(fault.filter { !$0.isNumber }).inserted
                else { continue }
                faults.append(.object(JSONObject([("update", wrong), ("fault", .string(fault))])))
            }
            members.append(("faults", .array(faults)))
            return JSONText(.object(JSONObject(members))).text
        }
        return "{\"cases\":[\n" + lines.joined(separator: ",\n") + "\n]}\n"
    }

    /// With headers as in the API.
    static func wire(_ snapshot: Snapshot) -> Snapshot {
        var snapshot = snapshot
        for index in snapshot.sections.indices {
            let header = snapshot.sections[index].header
            guard let title = header.stringValue ?? header.numberValue?.lexeme else { continue }
            snapshot.sections[index].header = JSONText(.object(JSONObject([("title", .string(title))])))
        }
        return snapshot
    }

    /// With one random change; `nil` if the result can be applied or is no update.
    private static func fault(_ update: JSONValue, _ before: Snapshot, _ random: inout SeededGenerator) -> (
        JSONValue, String
    )? {
        // Places where a value can be changed.
        var left = Int.max
        _ = changed(update, at: &left, 0)
        guard left < .max else { return nil }
        var place = random.below(.max - left)
        let wrong = changed(update, at: &place, random.below(3))
        return fault(wrong, before).map { (wrong, $0) }
    }

    /// `nil` if it can be applied or is no update.
    private static func fault(_ update: JSONValue, _ before: Snapshot) -> String? {
        guard let update = try? BatchUpdate(json: JSONText(update)) else { return nil }
        return fault(of: update, before)?.description
    }

    /// A number by one, a list by an element, a text by a letter.
    private static func changed(_ value: JSONValue, at place: inout Int, _ kind: Int) -> JSONValue {
        func isHere() -> Bool {
            place -= 1
            return place == -1
        }
        switch value {
        case .number(let number):
            guard let digits = Int(number.lexeme), isHere() else { return value }
            return .number(JSONNumber(kind == 0 && digits > 0 ? digits - 1 : digits + 1))
        case .string(let text): return isHere() ? .string(text + "x") : value
        case .array(let elements):
            guard !elements.isEmpty, isHere() else { return .array(elements.map { changed($0, at: &place, kind) }) }
            switch kind {
            case 0: return .array(Array(elements.dropLast()))
            case 1: return .array(elements + elements.prefix(1))
            default: return .array(elements + [.object(JSONObject())])
            }
        case .object(let object):
            // No content makes an update faulty.
            return .object(
                JSONObject(
                    object.members.map { member in
                        ["model", "rows", "rowCount", "header", "footer", "cell", "movesTo", "state", "empty"].contains(
                            member.name)
                            ? (member.name, member.value) : (member.name, changed(member.value, at: &place, kind))
                    }))
        default: return value
        }
    }
}
