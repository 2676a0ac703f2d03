import TestSupport
import Testing

@testable import BraidEngine

/// Five people look at one table, each at their own.
@Suite struct OwnTableTests {
    private struct Person {
        var user: User
        var view: JSONText?
        /// `nil` for who sees the session's own table.
        var own: OwnTable?
    }

    private static let now = RandomCommandTests.now

    @Test(
        "Every update of somebody's own table is legal, minimal, and leads to what they would see anew",
        arguments: 0..<8)
    func updates(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var cases = 0, changes = 0, hidden = 0
        while cases < TestEffort.cases(1_250) {
            let description = try TableDescription(RandomTable.description(&random, forViewers: true))
            let binder = description.binder
            var table = try description.openingTable()
            var snapshot = try binder.snapshot(of: table, revision: 0, now: Self.now)
            var unpublished: Unpublished?
            var people = try (0..<5).map { try Self.person($0, binder, table, snapshot, &random) }
            for _ in 0..<12 {
                let sender = Int.random(in: 0..<5, using: &random)
                let published = unpublished?.published ?? table
                let command = RandomTable.command(
                    for: people[sender].own?.snapshot ?? snapshot, binder: binder, &random)
                let outcome: Outcome
                do {
                    outcome = try binder.applying(
                        command, to: table, shown: snapshot, unpublished: unpublished, now: Self.now,
                        by: people[sender].user, seeing: people[sender].own)
                } catch is Refusal {
                    continue
                }
                let seen = outcome.unpublished?.published ?? outcome.table
                let expected = try binder.snapshot(of: seen, revision: outcome.snapshot.revision, now: Self.now)
                #expect(outcome.snapshot.text == expected.text, "\(description.text.text)")
                #expect(try outcome.update.applied(to: snapshot).text == outcome.snapshot.text)
                #expect((outcome.own == nil) == (people[sender].own == nil))
                for index in people.indices {
                    guard var own = people[index].own else { continue }
                    let mine = binder.seen(by: own.viewer), old = (published, own.snapshot)
                    let after: Snapshot
                    if outcome.kind != .applied {
                        after = own.snapshot
                    } else if let step = outcome.step {
                        after = try mine.ownSnapshot(of: seen, sharing: outcome.snapshot, after: old, step)
                    } else {
                        after = try mine.ownSnapshot(of: seen, sharing: outcome.snapshot)
                    }
                    let update = try mine.ownUpdate(from: old, to: (seen, after))
                    try Self.check(update, from: own.snapshot, to: after, of: seen, mine, description)
                    if index == sender {
                        #expect(outcome.own?.snapshot.text == after.text, "the sender's answer")
                        #expect(outcome.own?.update.json == update.json)
                    }
                    cases += 1
                    if !update.isEmpty { changes += 1 }
                    if after.totalRowCount < outcome.snapshot.totalRowCount { hidden += 1 }
                    own.snapshot = after
                    people[index].own = own
                }
                (table, snapshot, unpublished) = (outcome.table, outcome.snapshot, outcome.unpublished)
                // Somebody chooses another view.
                let index = Int.random(in: 0..<5, using: &random)
                let other = try Self.person(index, binder, seen, snapshot, &random)
                if let old = people[index].own, let new = other.own {
                    let update = try binder.ownUpdate(from: (seen, old.snapshot), to: (seen, new.snapshot))
                    try Self.check(
                        update, from: old.snapshot, to: new.snapshot, of: seen, binder.seen(by: new.viewer), description
                    )
                    cases += 1
                }
                people[index] = other
            }
        }
        #expect(changes > cases / 4)
        #expect(hidden > cases / 20)
    }

    private static func check(
        _ update: BatchUpdate, from old: Snapshot, to new: Snapshot, of table: TableModel, _ binder: Binder,
        _ description: TableDescription
    ) throws {
        // Shares nothing.
        var lent = Snapshot(revision: new.revision)
        lent.now = now
        let expected = try binder.ownSnapshot(of: table, sharing: lent)
        #expect(new.text == expected.text, "\(description.text.text)")
        #expect(try update.applied(to: old).text == new.text, "\(update.json.text)")
        #expect(RandomCommandTests.replaying(update, on: old) == new.text)
        guard new.sections.allSatisfy(\.isDiffable) else { return }
        let full = try BatchUpdate(from: old, to: new)
        #expect(update.rowOperationCount == full.rowOperationCount, "\(update.json.text) \(full.json.text)")
    }

    private static func person(
        _ index: Int, _ binder: Binder, _ table: TableModel, _ snapshot: Snapshot, _ random: inout SeededGenerator
    ) throws -> Person {
        let claims = index == 0 ? "{}" : #"{"no":\#(Int.random(in: 0..<10, using: &random))}"#
        let user = User(
            id: "u\(index)", role: index < 2 ? .participant : .controller, claims: try JSONText(parsing: claims))
        let views = [
            "{}", #"{"hideOdd":true}"#, #"{"max":4}"#, #"{"max":2,"sort":"-v"}"#, #"{"sort":["v","id"]}"#,
            #"{"sort":[0]}"#,
        ]
        let view = try JSONText(parsing: views.randomElement(using: &random) ?? "{}")
        let viewer = try binder.viewer(user.json, view: view)
        return Person(
            user: user, view: view,
            own: try viewer.map {
                OwnTable(viewer: $0, snapshot: try binder.seen(by: $0).ownSnapshot(of: table, sharing: snapshot))
            })
    }
}
