import Testing

@testable import BraidEngine

/// Every move, tap and insert in a table that has changed up to three times since the person saw it. The expected place
/// comes from the table then and now, without the engine's updates.
@Suite struct MoveTargetTests {
    /// A small table, and commands that change it: tries every sequence of up to three.
    struct World: CustomTestStringConvertible {
        let name: String
        /// Without its models.
        let binding: String
        let models: (a: String, b: String)
        var sections: [(a: String, b: String)] = []
        var displayed: [[SectionID]] = []
        var hidden: [String] = []
        var others: [Command] = []
        var hasIDs = true
        /// Across sections.
        var sharesIDs = false

        var testDescription: String { name }

        var commands: [Command] {
            get throws {
                var commands = others + displayed.map { Command.setDisplayedSections($0) }
                for (a, b) in sections {
                    commands.append(
                        .setModels(
                            [(SectionID("a"), try Self.rows(a)), (SectionID("b"), try Self.rows(b))], merging: true))
                }
                for name in hidden {
                    commands.append(.setState(try JSONText(parsing: "{\"hide\":\"\(name)\"}"), merging: true))
                }
                return commands
            }
        }

        static func rows(_ names: String) throws -> [JSONText] {
            try names.map { try JSONText(parsing: #"{"id":"\#($0)"}"#) }
        }

        func description() throws -> TableDescription {
            func text(_ names: String) throws -> String {
                "[\(try Self.rows(names).map(\.text).joined(separator: ","))]"
            }
            return try TableDescription(
                JSONText(
                    parsing: """
                        {"table":"t","sections":["a","b"],"cells":{"C":{}},"modelTypes":{"M":{"id":\(hasIDs ? #""/id""# : "null")}},"state":{"hide":"-"},"bindings":[{"on":"allOtherSections","cell":"C","modelType":"M","editing":"insert",
                         "insert":{"template":{"id":"new"}},"moving":{"to":"anySection"},"models":{"a":\(try text(models.a)),"b":\(try text(models.b))},\(binding)}]}
                        """))
        }
    }

    static let filter = #""shown":"state.hide != model.id""#

    static let worlds = [
        World(
            name: "rows with ids", binding: #""updates":"byReloading""#, models: ("12", "3"),
            sections: [("21", "3"), ("192", "3"), ("", "312"), ("34", "")],
            displayed: [["a", "b"], ["b"], ["b", "a"]],
            others: [
                .delete(RowReference(path(0, 0))), .move(RowReference(path(0, 0)), to: .at(.displayed(1), row: 0)),
            ]),
        World(
            name: "many rows with ids", binding: #""updates":"byReloading""#, models: ("12345", ""),
            sections: [("512", "4"), ("67", ""), ("8145", "2"), ("5", "")], displayed: [["a", "b"], ["b"]]),
        World(
            name: "rows with ids that are filtered", binding: filter, models: ("123", "4"),
            sections: [("132", "4"), ("1923", "4"), ("13", "42")],
            displayed: [["a", "b"], ["b", "a"], ["a"]], hidden: ["1", "2", "-"]),
        World(
            name: "an id in both sections", binding: #""updates":"byReloading""#, models: ("12", "13"),
            sections: [("21", "13"), ("1", "513")],
            displayed: [["a", "b"], ["b"], ["a"], []], sharesIDs: true),
        World(
            name: "rows without ids", binding: #""updates":"byReloading""#, models: ("12", "3"),
            sections: [("13", "2"), ("124", "3"), ("2", "31")],
            displayed: [["a", "b"], ["b", "a"], ["b"]],
            others: [
                .delete(RowReference(path(0, 0))), .move(RowReference(path(0, 0)), to: .at(.displayed(1), row: 0)),
            ],
            hasIDs: false),
        World(
            name: "rows without ids that are updated manually", binding: #""updates":"manually""#, models: ("12", "3"),
            sections: [("13", "2"), ("124", "3"), ("2", "31"), ("", "")], displayed: [["a", "b"], ["b", "a"]],
            others: [
                .delete(RowReference(path(0, 0))), .move(RowReference(path(0, 0)), to: .at(.displayed(1), row: 0)),
            ],
            hasIDs: false),
        World(
            name: "rows without ids that are filtered", binding: #"\#(filter),"updates":"manually""#,
            models: ("123", "4"), sections: [("132", "4"), ("1923", "4")],
            displayed: [["a", "b"], ["a"]], hidden: ["1", "2", "-"], hasIDs: false),
    ]

    struct Revision {
        var table: TableModel
        var snapshot: Snapshot
        var update: JSONText = .null
        var hidden: JSONText?
    }

    @Test("A move with a base puts the row at the place that the person meant, or is refused", arguments: worlds)
    func moves(world: World)
        throws
    {
        let description = try world.description(), commands = try world.commands
        var count = (placed: 0, refused: 0)
        func extend(_ revisions: [Revision]) throws {
            // The base is the opening table or, after three changes, also that after the first.
            for base in revisions.count == 4 ? [0, 1] : [0] { try check(revisions[base...], world, &count) }
            guard revisions.count < 4, let last = revisions.last else { return }
            for command in commands {
                guard
                    let outcome = try? description.binder.applying(
                        command, to: last.table, shown: last.snapshot, unpublished: nil, now: Self.now),
                    outcome.kind == .applied
                else { continue }
                try extend(
                    revisions + [
                        Revision(
                            table: outcome.table, snapshot: outcome.snapshot, update: outcome.update.json,
                            hidden: outcome.update.hidden(in: last.snapshot))
                    ])
            }
        }
        let table = try description.openingTable()
        try extend([
            Revision(table: table, snapshot: try description.binder.snapshot(of: table, revision: 0, now: Self.now))
        ])
        #expect(count.placed > 1_000 && count.refused > 100, "\(count)")
    }

    static let now = "2026-01-01T00:00:00.000Z"

    private func check(_ revisions: ArraySlice<Revision>, _ world: World, _ count: inout (placed: Int, refused: Int))
        throws
    {
        guard let first = revisions.first, let last = revisions.last else { return }
        let history = try RowHistory(revisions.dropFirst().map { ($0.update, $0.hidden) }, now: last.snapshot)
        let seen = Seen(first.snapshot), present = Seen(last.snapshot),
            isUnchanged = revisions.allSatisfy { Seen($0.snapshot) == seen }
        /// `others` are acceptable places, too. Unless it `mustLand`, a command on rows without ids may be refused if
        /// the table has changed.
        @discardableResult func compare(
            _ command: Command, _ expected: RowPath?, or others: [RowPath] = [], mustLand: Bool = false
        ) -> Bool {
            var landed: RowPath?, code: Refusal.Code?
            do throws(Refusal) {
                switch try history.rebased(command).command {
                case .move(_, to: .at(.displayed(let section), row: let row)):
                    landed = RowPath(section: section, row: row)
                case .tap(.at(.displayed(let section), let row)), .insert(.at(.displayed(let section), let row), _):
                    landed = RowPath(section: section, row: row)
                default: break
                }
            } catch { code = error.code }
            let isRight: Bool
            if let landed {
                count.placed += 1
                isRight = landed == expected || others.contains(landed)
            } else {
                count.refused += 1
                isRight = code == .rowGone && (expected == nil || !mustLand && !world.hasIDs && !isUnchanged)
            }
            if !isRight {
                Issue.record(
                    "\(command): \(landed.map { "\($0)" } ?? "\(String(describing: code))"), not \(expected.map { "\($0)" } ?? "gone"), through \(revisions.map { Seen($0.snapshot).sections })"
                )
            }
            return landed != nil
        }
        for (section, (id, rows)) in seen.sections.enumerated() {
            for row in rows.indices {
                let name = rows[row]
                // A row with the id in another section may or may not be the person's.
                let twin = present.row(name, isIn: id) || !world.sharesIDs ? nil : present.place(of: name, in: id)
                let moved = twin == nil ? present.place(of: name, in: id) : nil
                let isFollowed = compare(.tap(RowReference(path(section, row))), moved, or: twin.map { [$0] } ?? [])
                compare(.insert(.at(.id(id), row: row), model: nil), moved, or: twin.map { [$0] } ?? [])
                guard twin == nil else { continue }
                for (target, (targetID, targetRows)) in seen.sections.enumerated() {
                    let last = targetRows.count - (section == target ? 1 : 0)
                    for index in 0...last {
                        let places =
                            moved.map {
                                present.places(index, in: targetID, of: seen, moving: (name, section), now: $0)
                            } ?? []
                        // Whatever happened to the other rows.
                        compare(
                            .move(RowReference(path(section, row)), to: .at(.id(targetID), row: index)), places.first,
                            or: world.hasIDs ? [] : places,
                            mustLand: isFollowed && index == last)
                        guard world.hasIDs else { continue }
                        compare(
                            .move(.id(RowID(name), in: .id(id)), to: .at(.displayed(target), row: index)),
                            present.row(name, isIn: id) ? places.first : nil)
                    }
                }
            }
            compare(.insert(RowReference(path(section, rows.count)), model: nil), present.end(of: id), mustLand: true)
        }
    }

    /// Names of rows by section.
    struct Seen: Equatable {
        var sections: [(id: SectionID, rows: [String])]

        init(_ snapshot: Snapshot) {
            sections = snapshot.sections.map { ($0.id, $0.rows.map { $0.model?["id"]?.stringValue ?? "" }) }
        }

        static func == (left: Seen, right: Seen) -> Bool {
            left.sections.map(\.id) == right.sections.map(\.id)
                && left.sections.map(\.rows) == right.sections.map(\.rows)
        }

        private func index(of section: SectionID) -> Int? { sections.firstIndex { $0.id == section } }

        func end(of section: SectionID) -> RowPath? { index(of: section).map { path($0, sections[$0].rows.count) } }

        func row(_ name: String, isIn section: SectionID) -> Bool {
            index(of: section).map { sections[$0].rows.contains(name) } ?? false
        }

        /// In this section if it is there, else in another.
        func place(of row: String, in section: SectionID) -> RowPath? {
            for isOwn in [true, false] {
                for (index, (id, rows)) in sections.enumerated() where (id == section) == isOwn {
                    if let place = rows.firstIndex(of: row) { return path(index, place) }
                }
            }
            return nil
        }

        /// Where a row may land that a person, seeing `seen`, moved to `index`: first the expected place, then others
        /// between the same neighbours, but not directly before the second.
        func places(
            _ index: Int, in section: SectionID, of seen: Seen, moving row: (name: String, section: Int), now: RowPath
        ) -> [RowPath] {
            guard let target = self.index(of: section), let then = seen.index(of: section) else { return [] }
            var rowsThen = seen.sections[then].rows, rows = sections[target].rows
            if then == row.section { rowsThen.removeAll { $0 == row.name } }
            if now.section == target { rows.remove(at: now.row) }
            if index == rowsThen.count { return [path(target, rows.count)] }
            let previous = rowsThen[..<index].reversed().lazy.compactMap { rows.firstIndex(of: $0) }.first.map {
                path(target, $0 + 1)
            }
            if let next = rows.firstIndex(of: rowsThen[index]) {
                return [path(target, next)] + (previous.map { [$0] } ?? [])
            }
            if let previous { return [previous] }
            if index == 0 { return [path(target, 0)] }
            return rowsThen[index...].lazy.compactMap { rows.firstIndex(of: $0) }.prefix(1).map { path(target, $0) }
        }
    }
}
