import TestSupport
import Testing

@testable import BraidEngine

/// Commands of clients that have not seen the latest revisions are rebased.
@Suite struct RowHistoryTests {
    struct Revision {
        var table: TableModel
        var snapshot: Snapshot
        var update: JSONText = .null
        var hidden: JSONText?
    }

    /// A row of a random earlier revision is found, or gone, but never mistaken for another. Rows are told apart by
    /// their stored keys.
    @Test("Every row of an earlier revision is found or reported as gone", arguments: 0..<8)
    func everyRow(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) &+ 77)
        var found = 0, gone = 0, left = 0
        for _ in 0..<TestEffort.cases(40) {
            let (binder, table) = try RandomTable.make(&random)
            var revisions = [
                Revision(table: table, snapshot: try binder.snapshot(of: table, revision: 0, now: Self.now))
            ]
            for _ in 0..<25 {
                let last = revisions[revisions.count - 1]
                let command = RandomTable.command(for: last.snapshot, binder: binder, &random)
                guard
                    let outcome = try? binder.applying(
                        command, to: last.table, shown: last.snapshot, unpublished: nil, now: Self.now),
                    outcome.kind == .applied, outcome.unpublished == nil
                else { continue }
                Self.checkHidden(by: outcome.update, last.snapshot, outcome.snapshot)
                revisions.append(
                    Revision(
                        table: outcome.table, snapshot: outcome.snapshot, update: outcome.update.json,
                        hidden: outcome.update.hidden(in: last.snapshot)))
                let base = Int.random(in: 0..<revisions.count, using: &random)
                try Self.check(revisions, base: base, binder, &found, &gone, &left)
            }
        }
        #expect(found > TestEffort.cases(500) && gone > TestEffort.cases(50))
        // Rare: a tenth of the cases can lack it.
        #expect(left > 0 || TestEffort.cases(10) < 10)
    }

    @Test("A history whose updates do not lead to the table is refused")
    func foreignHistory() throws {
        let now = Snapshot(revision: 1, sections: [Section(id: "a", rows: [])])
        let update = try JSONText(
            parsing: #"{"from":0,"to":1,"totalRowCount":1,"stages":[{"insertRows":[{"at":[0,0],"row":{"cell":"C"}}]}]}"#
        )
        #expect {
            _ = try RowHistory([(update, nil)], now: now)
        } throws: {
            ($0 as? Refusal)?.code == .rowGone
        }
    }

    static let now = "2026-01-01T00:00:00.000Z"

    /// Of rows without ids, the journal has exactly those in whose place another model is displayed afterwards.
    static func checkHidden(by update: BatchUpdate, _ before: Snapshot, _ after: Snapshot) {
        let hidden = update.hidden(in: before).map { HiddenRows($0) } ?? HiddenRows()
        for (number, section) in before.sections.enumerated() {
            for (index, row) in section.rows.enumerated() where row.id == nil {
                let path = RowPath(section: number, row: index)
                guard let place = update.following(path) else { continue }
                let shown = after.sections[place.section].rows[place.row]
                let isSame = row.model == shown.model && (row.model != nil || row.looksSame(as: shown))
                #expect(hidden.rows.keys.contains(path) == !isSame, "\(before.json)\n\(update.json)")
            }
        }
    }

    /// Where a tap finds it, or it is refused.
    static func expect(_ history: RowHistory, callFor row: RowReference, at: RowPath?) {
        #expect((try? history.rebased(.dataSource(.updateRow(.number(1), at: row), notify: true)).at) == at)
        let call = try? history.rebased(.dataSource(.updateRows([(at: row, model: .number(1))]), notify: true)).command
        guard case .dataSource(.updateRows(let rows), _) = call else { return #expect(at == nil) }
        #expect(rows.map(\.at) == at.map { [RowReference($0)] })
    }

    static func check(
        _ revisions: [Revision], base: Int, _ binder: Binder, _ found: inout Int, _ gone: inout Int,
        _ left: inout Int
    ) throws {
        let then = revisions[base], present = revisions[revisions.count - 1]
        let history = try RowHistory(revisions[(base + 1)...].map { ($0.update, $0.hidden) }, now: present.snapshot)
        for (sectionIndex, section) in then.snapshot.sections.enumerated() {
            for (rowIndex, row) in section.rows.enumerated() {
                let byName = RowReference.at(.id(section.id), row: rowIndex),
                    byIndex = RowReference(RowPath(section: sectionIndex, row: rowIndex))
                let at = try? history.rebased(.tap(byIndex)).at
                #expect((try? history.rebased(.tap(byName)).at) == at)
                let place = keyed(row, rowIndex, section, then, present, binder)
                for reference in [byName, byIndex] { expect(history, callFor: reference, at: at) }
                let isAmbiguous = revisions[base...].contains { revision in
                    revision.snapshot.sections.count { $0.rows.contains { $0.id == row.id } } > 1
                }
                if at != nil, let id = row.id, !isAmbiguous,
                    !present.snapshot.sections.contains(where: { $0.id == section.id })
                {
                    // With a section that has vanished, it names no row.
                    for section in [SectionReference.id(section.id), .displayed(sectionIndex)] {
                        let call = DataSourceCommand.updateRow(.number(1), at: .id(id, in: section))
                        #expect(code(history, .tap(.id(id, in: section))) == .rowGone)
                        #expect(code(history, .dataSource(call, notify: true)) == .rowGone)
                    }
                    left += 1
                }
                if let at { try checkTargets(history, byIndex, isAmbiguous ? nil : row.id, at: at, sectionIndex, then) }
                if let at {
                    found += 1
                    let landed = present.snapshot.sections[at.section].rows[at.row]
                    #expect(landed.id == row.id, "another row was taken for it: revision \(base) of \(revisions.count)")
                } else {
                    gone += 1
                    // Several sections displayed the id: the history cannot know which row is meant.
                    if isAmbiguous { continue }
                    #expect(
                        place == nil,
                        "\(row.json.text), \(byIndex) of revision \(base), is still there: \(then.snapshot.ids) \(revisions[(base + 1)...].map { "\($0.update.text) \($0.hidden?.text ?? "-")" })"
                    )
                }
            }
        }
    }

    /// No valid target is refused with `rowNotFound`; indexes out of bounds are, even the largest integer.
    static func checkTargets(
        _ history: RowHistory, _ row: RowReference, _ id: RowID?, at: RowPath, _ section: Int, _ then: Revision
    ) throws {
        func describe(_ command: Command) -> String {
            if case .move(_, let target) = command { "\(target)" } else { "" }
        }
        for (target, place) in then.snapshot.sections.enumerated() {
            let last = place.rows.count - (target == section ? 1 : 0)
            for index in 0...last {
                #expect(
                    code(history, .move(row, to: .at(.displayed(target), row: index))) != .rowNotFound,
                    "\(index) of \(last)"
                )
                // By id it is the same, unless several rows have the id.
                if let id,
                    let byID = try? history.rebased(.move(.id(id, in: nil), to: .at(.displayed(target), row: index))),
                    byID.at == at
                {
                    #expect(
                        try describe(byID.command)
                            == describe(history.rebased(.move(row, to: .at(.displayed(target), row: index))).command),
                        "\(row) to \(target), \(index)")
                }
            }
            for index in [-1, 1 << 31, Int.max - 1, Int.max] {
                let code = code(history, .move(row, to: .at(.displayed(target), row: index)))
                #expect(code == .rowNotFound || code == .rowGone, "\(index): \(String(describing: code))")
            }
        }
    }

    static func code(_ history: RowHistory, _ command: Command) -> Refusal.Code? {
        do { _ = try history.rebased(command) } catch { return error.code }
        return nil
    }

    /// It must not become the section's end.
    @Test("A move to a target that did not exist at the base is refused")
    func missingTarget() throws {
        func code(_ row: Int, to section: Int, after commands: [Command] = []) -> Refusal.Code? {
            do {
                _ = try Self.asking(
                    commands, then: .move(RowReference(path(0, 0)), to: .at(.displayed(section), row: row)))
            } catch { return (error as? Refusal)?.code }
            return nil
        }
        let inserted: [Command] = [
            .setModels(
                [
                    (
                        .init("b"),
                        try ["4", "5", "6", "7"].map { try JSONText(parsing: Array(#"{"id":"\#($0)"}"#.utf8)) }
                    )
                ], merging: true)
        ]
        #expect(
            code(2, to: 0) == nil && code(3, to: 0) == .rowNotFound && code(2, to: 1) == nil
                && code(3, to: 1) == .rowNotFound && code(99, to: 1) == .rowNotFound)
        #expect(
            code(2, to: 1, after: inserted) == nil && code(3, to: 1, after: inserted) == .rowNotFound
                && code(99, to: 1, after: inserted) == .rowNotFound)
    }

    /// By its stored key; `nil` if it is hidden or cannot be identified.
    static func keyed(
        _ row: Row, _ index: Int, _ section: Section, _ then: Revision, _ present: Revision, _ binder: Binder
    ) -> RowPath? {
        guard let id = row.id, let stored = then.table[section.id], let at = stored.index(of: id) else { return nil }
        let key = stored.rows[at].key
        for (number, section) in present.snapshot.sections.enumerated() {
            guard let now = present.table[section.id]?.rows.first(where: { $0.key == key }), now.id == id else {
                continue
            }
            return section.rows.firstIndex { $0.id == id }.map { RowPath(section: number, row: $0) }
        }
        return nil
    }

    /// Index paths of `command`, which is rebased, count in the table before `commands`.
    static func asking(_ commands: [Command], then command: Command) throws -> (
        command: Command, at: RowPath?, after: Snapshot
    ) {
        let description = try TableDescription(
            JSONText(
                parsing: """
                    {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","editing":"delete","moving":{"to":"anySection"},
                     "models":{"a":[{"id":"1"},{"id":"2"},{"id":"3"}],"b":[{"id":"4"},{"id":"5"}]}}]}
                    """))
        var table = try description.openingTable(), updates: [(JSONText, JSONText?)] = []
        var shown = try description.binder.snapshot(of: table, revision: 0, now: now)
        for command in commands {
            let outcome = try description.binder.applying(command, to: table, shown: shown, unpublished: nil, now: now)
            let update = outcome.update.json, hidden = outcome.update.hidden(in: shown)
            #expect(outcome.estimatedSize(after: shown) >= update.count + (hidden?.count ?? 0), "\(update)")
            updates.append((update, hidden))
            (table, shown) = (outcome.table, outcome.snapshot)
        }
        let (rebased, at) = try RowHistory(updates, now: shown).rebased(command)
        return (
            rebased, at,
            try description.binder.applying(rebased, to: table, shown: shown, unpublished: nil, now: now).snapshot
        )
    }

    @Test("A row is followed even if its section was hidden in between and is displayed again")
    func hiddenSection() throws {
        let hidden: [Command] = [.setDisplayedSections(["a"]), .setDisplayedSections(["b", "a"])]
        #expect(try Self.asking(hidden, then: .delete(RowReference(path(1, 1)))).at == path(0, 1))
        #expect(
            try Self.asking(hidden + [.delete(RowReference(path(0, 0)))], then: .delete(.at(.id("b"), row: 1))).at
                == path(0, 0))
        let refusal = try #require(throws: Refusal.self) {
            try Self.asking([hidden[0]], then: .delete(RowReference(path(1, 1))))
        }
        #expect(refusal.code == .rowGone)
    }

    @Test("A row without an id is gone once its model has changed, even if only this row was reloaded")
    func changedRowWithoutID() throws {
        var session = try Played(
            #"{"table":"t","sections":["a"],"cells":{"C":{}},"modelTypes":{"N":{"id":null}},"bindings":[{"on":{"section":"a"},"cell":"C","modelType":"N","models":[{"v":1},{"v":2}],"onTap":[{"update":{"merge":{"v":5}}}]}]}"#
        )
        let before = session.snapshot
        let update = try session.perform(.tap(RowReference(path(0, 1)))).update
        #expect(update.stages.flatMap(\.reloadRows).map(\.at) == [path(0, 1)])
        let history = try RowHistory([(update.json, update.hidden(in: before))], now: session.snapshot)
        #expect(try history.rebased(.tap(RowReference(path(0, 0)))).at == path(0, 0))
        let refusal = try #require(throws: Refusal.self) { try history.rebased(.tap(RowReference(path(0, 1)))) }
        #expect(refusal.code == .rowGone)
    }

    @Test("A rebased move puts the row between the rows that the client saw at the target")
    func rebasedMove() throws {
        // Before row 5; meanwhile another row has moved to the front.
        let commands: [Command] = [.move(RowReference(path(0, 2)), to: .at(.displayed(1), row: 0))]
        #expect(
            try Self.asking(commands, then: .move(RowReference(path(0, 0)), to: .at(.id("b"), row: 1))).after.ids == [
                ["2"], ["3", "4", "1", "5"],
            ])
        // Between 4 and 5; meanwhile 5 was deleted, so after 4.
        #expect(
            try Self.asking(
                [.delete(RowReference(path(1, 1)))], then: .move(RowReference(path(0, 0)), to: .at(.id("b"), row: 1))
            ).after.ids == [["2", "3"], ["4", "1"]])
        // To its section's end, where a row was deleted.
        #expect(
            try Self.asking(
                [.delete(RowReference(path(0, 1)))], then: .move(RowReference(path(0, 0)), to: .at(.id("a"), row: 2))
            ).after.ids == [["3", "1"], ["4", "5"]])
        // In a section that was hidden and is displayed again.
        #expect(
            try Self.asking(
                [.setDisplayedSections(["b"]), .setDisplayedSections(["b", "a"])],
                then: .move(RowReference(path(0, 0)), to: .at(.displayed(0), row: 2))
            ).after.ids == [["4", "5"], ["2", "3", "1"]])
        // Into a section whose rows were all replaced.
        let others: Command = .setModels([("a", [#"{"id":"8"}"#, #"{"id":"9"}"#])], merging: true)
        #expect(
            try Self.asking([others], then: .move(RowReference(path(1, 0)), to: .at(.id("a"), row: 0))).after.ids == [
                ["4", "8", "9"], ["5"],
            ])
    }

    @Test("A rebased move to a section's end puts the row at the end, even if the section was hidden and has changed")
    func endOfHiddenSection() throws {
        let longer: [JSONText] = [#"{"id":"1"}"#, #"{"id":"6"}"#, #"{"id":"7"}"#, #"{"id":"8"}"#]
        let commands: [Command] = [
            .setDisplayedSections(["b"]), .setModels([(SectionID("a"), longer)], merging: true),
            .setDisplayedSections(["a", "b"]),
        ]
        for (row, ids) in [
            (3, [["1", "6", "7", "8", "4"], ["5"]]), (1, [["1", "4", "6", "7", "8"], ["5"]]),
            (0, [["4", "1", "6", "7", "8"], ["5"]]),
        ] {
            #expect(
                try Self.asking(commands, then: .move(RowReference(path(1, 0)), to: .at(.displayed(0), row: row))).after
                    .ids
                    == ids)
        }
    }

    /// Dropped where it was: if it or its neighbours have moved, it goes back between them.
    @Test("A rebased move to the row's own place brings the row back between its old neighbours")
    func moveToOwnPlace() throws {
        let third = Command.delete(.id(RowID("3"), in: nil))
        for (commands, after) in [
            ([.move(RowReference(path(0, 1)), to: .at(.displayed(0), row: 2))], ["1", "2", "3"]),
            ([third], ["1", "2"]),
            ([third, .move(RowReference(path(0, 1)), to: .at(.displayed(0), row: 0))], ["1", "2"]),
        ] as [([Command], [String])] {
            #expect(
                try Self.asking(commands, then: .move(RowReference(path(0, 1)), to: .at(.displayed(0), row: 1))).after
                    .ids[0]
                    == after)
        }
    }

    /// The index must not mean a section that the client has not seen.
    @Test("A data source call to a section that did not exist at the base is ignored")
    func missingSection() throws {
        var session = try Played(sections: [SectionContent(rows: ["1"])])
        let before = session.snapshot,
            update = try session.perform(.dataSource(.addSection(SectionContent(rows: ["2"]), at: nil), notify: true))
                .update
        let history = try RowHistory([(update.json, update.hidden(in: before))], now: session.snapshot)
        for call: DataSourceCommand in [
            .removeSection(at: .displayed(1)), .removeRow(at: RowReference(path(1, 0))),
            .updateSectionData(header: "H", footer: nil, at: .displayed(1)),
        ] {
            #expect(try session.perform(history.rebased(.dataSource(call, notify: true)).command).isIgnored)
        }
    }

    /// By id, it must not end one place too far up.
    @Test("A rebased move has the same target whether its row is named by id or by index path")
    func moveByIDOrPath() throws {
        let histories: [[Command]] = [
            [], [.delete(RowReference(path(0, 0)))], [.move(RowReference(path(0, 0)), to: .at(.displayed(0), row: 2))],
            [.move(RowReference(path(1, 0)), to: .at(.displayed(0), row: 1))], [.setDisplayedSections(["b", "a"])],
            [.setDisplayedSections(["b"]), .setDisplayedSections(["b", "a"])],
        ]
        for commands in histories {
            for (row, target) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
                func ids(_ reference: RowReference) throws -> [[String]]? {
                    try? Self.asking(commands, then: .move(reference, to: .at(.id("a"), row: target))).after.ids
                }
                #expect(
                    try ids(.id(RowID("\(row + 1)"), in: nil)) == ids(RowReference(path(0, row))),
                    "\(row) to \(target) after \(commands)")
            }
        }
    }

    @Test("The index path of an insert may be one after the last row")
    func insertAfterLastRow() throws {
        let snapshot = Snapshot.make("a: x y")
        let (command, at) = try RowHistory([], now: snapshot).rebased(.insert(.at(.displayed(0), row: 2), model: nil))
        guard case .insert(.at(.displayed(0), row: 2), model: nil) = command else {
            return #expect(Bool(false), "\(command)")
        }
        #expect(at == path(0, 2))
        #expect(Self.code(try RowHistory([], now: snapshot), .delete(.at(.displayed(0), row: 2))) == .rowNotFound)
    }

    @Test("An id that is in several sections is ambiguous unless the command also names the section")
    func ambiguousID() throws {
        let history = try RowHistory([], now: Snapshot.make("a: x", "b: y x"))
        #expect(Self.code(history, .tap(.id(RowID("x"), in: nil))) == .ambiguousRow)
        #expect(try history.rebased(.tap(.id(RowID("x"), in: .id("b")))).at == path(1, 1))
    }

    @Test("An id refers to its row, wherever the row has moved since the base")
    func movedRowByID() throws {
        let commands: [Command] = [.move(RowReference(path(0, 0)), to: .at(.displayed(1), row: 2))]
        #expect(try Self.asking(commands, then: .delete(.id(RowID("1"), in: nil))).at == path(1, 2))
        #expect(throws: Refusal.self) {
            try Self.asking([.delete(RowReference(path(0, 0)))], then: .delete(.id(RowID("1"), in: nil)))
        }
    }
}
