import TestSupport
import Testing
@testable import BraidEngine

@Suite struct FollowingTests {
    private func update(_ old: Snapshot, _ new: Snapshot) throws -> BatchUpdate { try BatchUpdate(from: old, to: new) }

    private func at(_ section: Int, _ row: Int) -> RowPath { RowPath(section: section, row: row) }

    @Test("Following a row or section through an update returns its new place")
    func aRowIsFollowed() throws {
        let old = Snapshot.make("A: a b c", "B: d e", "C: f"), new = Snapshot.make("C: f", "A: x c b1", "B: a d")
        let update = try update(old, new)
        #expect(update.following(.init(section: 0, row: 0)) == at(2, 0))
        #expect(update.following(.init(section: 0, row: 1)) == at(1, 2))
        #expect(update.following(.init(section: 0, row: 2)) == at(1, 1))
        #expect(update.following(.init(section: 1, row: 0)) == at(2, 1))
        #expect(update.following(.init(section: 1, row: 1)) == nil)
        #expect(update.following(.init(section: 2, row: 0)) == at(0, 0))
        #expect((0..<3).map { RowFollower(update).followingSection($0) } == [1, 2, 0])
    }

    @Test("A row that an update deletes and inserts again is found by its id")
    func insertedAgain() throws {
        let old = Snapshot.make("A: a b", "B: c"), new = Snapshot.make("B: c b", "C: a")
        let update = try update(old, new)
        #expect(update.following(.init(section: 0, row: 0)) == nil)
        #expect(update.arrivals(of: RowID("a")) == [at(1, 0)])
        #expect(update.arrivals(of: RowID("b")) == [at(0, 1)])
        #expect(update.arrivals(of: RowID("x")) == [])
        #expect(RowFollower(update).followingSection(0) == nil)
        let twice = try self.update(old, Snapshot.make("C: a b", "D: a"))
        #expect(twice.arrivals(of: RowID("a")) == [at(0, 0), at(1, 0)])
        #expect(twice.arrivals(of: RowID("b")) == [at(0, 1)])
    }

    @Test("Every row of random tables is followed correctly", arguments: 0..<4)
    func everyRowOfAnyTable(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(500 + seed) << 32)
        for _ in 0..<DiffRuns.count / 50 {
            let tables = (0..<3).map { random.snapshot().at($0) }
            let updates = try zip(tables, tables.dropFirst()).map { try update($0, $1) }
            for (update, (old, new)) in zip(updates, zip(tables, tables.dropFirst())) {
                checkFollowing(update, old, new)
            }
            checkFollowing(try .composing(updates), tables[0], tables[2], isComposed: true)
        }
    }

    @Test("Every row is followed correctly through random edits", arguments: 0..<4)
    func everyRowThroughEdits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(600 + seed) << 32)
        for _ in 0..<DiffRuns.count / 50 {
            var table = EditedTable(&random)
            let old = table.snapshot
            for _ in 0..<random.below(10) { table.edit(&random) }
            let middle = table.snapshot.at(1)
            for _ in 0..<random.below(10) { table.edit(&random) }
            let new = table.snapshot.at(2)
            checkFollowing(try update(old, middle), old, middle)
            checkFollowing(try .composing([update(old, middle), update(middle, new)]), old, new, isComposed: true)
        }
    }

    @Test("Following an impossible index path does not crash")
    func impossiblePaths() throws {
        let update = try update(Snapshot.make("A: a b", "B: c"), Snapshot.make("B: c a", "C: x"))
        for index in [-1, .min, .max, .max / 4, 7] {
            _ = update.following(RowPath(section: index, row: 0))
            _ = update.following(RowPath(section: 0, row: index))
            _ = RowFollower(update).followingSection(index)
        }
        #expect(update.following(RowPath(section: -1, row: 0)) == nil)
        #expect(RowFollower(update).followingSection(-1) == nil)
    }

    /// The search must stop after the last delete.
    @Test("A row that an update deletes, inserts again and deletes again is not found")
    func deletedAgain() throws {
        let update = try BatchUpdate(
            json: JSONText(
                parsing: """
                    {"from":0,"to":1,"stages":[{"deleteRows":[[0,0]]},{"insertRows":[{"at":[0,0],"row":{"id":"a","cell":"C"}}]},{"deleteRows":[[0,0]]}],"totalRowCount":0}
                    """))
        #expect(update.following(at(0, 0)) == nil && update.arrivals(of: RowID("a")) == [])
    }

    @Test("A changed row without an id is found behind the stages before")
    func changedInALaterStage() throws {
        let old = Snapshot.make("A~: -1 -2 -3", "B: x y")
        let update = try BatchUpdate(
            json: JSONText(
                parsing: """
                    {"from":0,"to":1,"totalRowCount":6,"stages":[
                      {"insertRows":[{"at":[1,0],"row":{"cell":"Cell","model":9}}],"moveSections":[{"from":1,"to":0}]},
                      {"reloadRows":[{"at":[1,2],"row":{"cell":"Cell","model":5}}]}]}
                    """))
        let hidden = try HiddenRows(#require(update.hidden(in: old)))
        #expect(Set(hidden.rows.keys) == [at(0, 1)] && hidden.sections.isEmpty)
    }

    /// In its own section, in the only other one with the id, or nowhere.
    private func checkFollowing(_ update: BatchUpdate, _ old: Snapshot, _ new: Snapshot, isComposed: Bool = false) {
        func about() -> Comment { "\(old.json)\n\(new.json)\n\(update.json)" }
        let hidden = update.hidden(in: old).map { HiddenRows($0) } ?? HiddenRows()
        for (number, section) in old.sections.enumerated() {
            let after = new.sections.firstIndex { $0.id == section.id }
            if let followed = RowFollower(update).followingSection(number) {
                #expect(followed == after, about())
            } else if !isComposed {
                #expect(after == nil, about())
            }
            for (index, row) in section.rows.enumerated() {
                guard let id = row.id else { continue }
                let places = new.sections.indices.flatMap { place in
                    new.sections[place].rows.indices.filter { new.sections[place].rows[$0].id == id }.map {
                        RowPath(section: place, row: $0)
                    }
                }
                let isUnique = places.count <= 1 && old.sections.reduce(0) { $0 + $1.rows.count { $0.id == id } } == 1
                let blind = update.following(RowPath(section: number, row: index)), arrivals = update.arrivals(of: id)
                let trace = blind ?? arrivals.first { $0.section == after } ?? (arrivals.count == 1 ? arrivals[0] : nil)
                if let trace {
                    #expect(places.contains(trace), about())
                    if let own = places.first(where: { $0.section == after }), !isComposed {
                        #expect(trace == own, about())
                    }
                } else {
                    #expect(!isUnique || places.isEmpty, about())
                }
                // The journal needs exactly the ids of rows that the update alone cannot follow.
                if !isComposed {
                    #expect(hidden.id(at: RowPath(section: number, row: index)) == (blind == nil ? id : nil), about())
                }
            }
        }
    }
}
