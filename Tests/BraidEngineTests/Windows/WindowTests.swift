import TestSupport
import Testing
@testable import BraidEngine

@Suite struct WindowTests {
    private let table = WindowSource(.make("A: a b c", "B:", "C: d e f g", "D:"))

    private func shown(_ window: WindowedSnapshot?) -> String? {
        window.map { window in
            window.snapshot.sections.map { section in
                let extent = section.extent ?? .init(offset: -1, rowCount: -1)
                let rows = section.rows.map { $0.id?.text ?? "-" }.joined(separator: " ")
                return "\(section.id)[\(extent.offset)/\(extent.rowCount)]: \(rows)"
            }.joined(separator: "; ") + " @\(window.offset)"
        }
    }

    private func anchor(_ section: SectionID, _ id: String) -> TableWindow.Anchor {
        .init(section: section, id: RowID(id))
    }

    @Test("A window by position contains the rows from its offset on, their sections and adjacent empty sections")
    func byPosition() {
        #expect(shown(table.cut(offset: 0, limit: 2)) == "A[0/3]: a b @0")
        #expect(shown(table.cut(offset: 2, limit: 2)) == "A[2/3]: c; B[0/0]: ; C[0/4]: d @2")
        #expect(shown(table.cut(offset: 3, limit: 1)) == "B[0/0]: ; C[0/4]: d @3")
        #expect(shown(table.cut(offset: 5, limit: 9)) == "C[2/4]: f g; D[0/0]:  @5")
        #expect(shown(table.cut(offset: 0, limit: .max)) == "A[0/3]: a b c; B[0/0]: ; C[0/4]: d e f g; D[0/0]:  @0")
    }

    @Test("A window's negative offset counts from the end of the table")
    func fromTheEnd() {
        #expect(shown(table.cut(offset: -2, limit: 9)) == "C[2/4]: f g; D[0/0]:  @5")
        #expect(shown(table.cut(offset: -2, limit: 1)) == "C[2/4]: f @5")
        #expect(shown(table.cut(offset: -99, limit: 1)) == "A[0/3]: a @0")
        #expect(shown(table.cut(offset: .min, limit: 1)) == "A[0/3]: a @0")
    }

    @Test("A window beyond the table's end, and a window with the limit 0, are empty")
    func empty() {
        #expect(shown(table.cut(offset: 7, limit: 2)) == " @7")
        #expect(shown(table.cut(offset: .max, limit: .max)) == " @7")
        #expect(shown(table.cut(offset: 1, limit: 0)) == " @1")
        #expect(shown(WindowSource(.make("A:", "B:")).cut(offset: 0, limit: 2)) == "A[0/0]: ; B[0/0]:  @0")
        #expect(shown(WindowSource(.make()).cut(offset: 0, limit: 2)) == " @0")
    }

    @Test("The offset of a section's window counts only its rows, and the window is empty for a hidden section")
    func ofASection() {
        #expect(shown(table.cut(section: "C", offset: 1, limit: 2)) == "C[1/4]: e f @1")
        #expect(shown(table.cut(section: "B", offset: 0, limit: 2)) == "B[0/0]:  @0")
        #expect(shown(table.cut(section: "X", offset: 0, limit: 2)) == " @0")
    }

    @Test("A window around an anchor row contains the rows before and after that row")
    func aroundAnAnchor() {
        #expect(
            shown(table.cut(around: anchor("C", "e"), before: 2, after: 1)) == "A[2/3]: c; B[0/0]: ; C[0/4]: d e f @2")
        #expect(shown(table.cut(around: anchor("A", "a"), before: 9, after: 0)) == "A[0/3]: a @0")
        #expect(shown(table.cut(around: anchor("C", "g"), before: 0, after: .max)) == "C[3/4]: g; D[0/0]:  @6")
        #expect(shown(table.cut(section: "C", around: anchor("C", "d"), before: 9, after: 1)) == "C[0/4]: d e @0")
        #expect(table.cut(around: anchor("A", "d"), before: 1, after: 1) == nil)
        #expect(table.cut(section: "A", around: anchor("C", "d"), before: 1, after: 1) == nil)
    }

    private func step(_ window: WindowedSnapshot?, _ old: Snapshot, _ new: Snapshot) throws -> WindowedSnapshot {
        let update = try BatchUpdate(from: old, to: new)
        return try #require(window).following(RowFollower(update), to: WindowSource(new))
    }

    @Test("Inserting a row above an anchored window moves no row of the window")
    func anchoredWindowStays() throws {
        let new = Snapshot.make("A: x a b c", "B:", "C: d e f g", "D:", revision: 1)
        let old = try #require(table.cut(around: anchor("C", "e"), before: 1, after: 1))
        let window = try step(old, table.snapshot, new)
        #expect(shown(window) == "B[0/0]: ; C[0/4]: d e f @4")
        let update = try WindowUpdate(from: old, to: window)
        #expect(update.update.stages.isEmpty && update.extents.isEmpty && !update.isEmpty)
        #expect(
            update.json.text
                == #"{"from":0,"to":1,"stages":[],"totalRowCount":8,"window":{"offset":4,"anchor":{"section":"C","id":"e"}}}"#
        )
    }

    @Test("A change that shifts no row of a window sends only changed row counts, and nothing if no count changed")
    func outsideTheWindow() throws {
        let old = table.cut(section: "C", offset: 0, limit: 2)
        let longer = Snapshot.make("A: a b c", "B:", "C: d e f g h", "D:", revision: 1)
        let window = try step(old, table.snapshot, longer)
        #expect(
            try WindowUpdate(from: old, to: window).json.text
                == #"{"from":0,"to":1,"stages":[],"totalRowCount":8,"extents":[{"section":0,"offset":0,"rowCount":5}]}"#
        )
        let changed = Snapshot.make("A: a1 b c", "B:", "C: d e f g", "D:", revision: 1)
        #expect(try WindowUpdate(from: old, to: step(old, table.snapshot, changed)).isEmpty)
    }

    @Test(
        "If a window's anchor is deleted, the nearest remaining row, or the later of two such rows, becomes the anchor")
    func lostAnchor() throws {
        let window = table.cut(around: anchor("C", "e"), before: 1, after: 1)
        func next(_ sections: String...) throws -> TableWindow.Anchor? {
            try step(window, table.snapshot, Snapshot(revision: 1, sections: sections.map(Section.make))).anchor
        }
        #expect(try next("A: a b c", "C: d f g") == anchor("C", "f"))
        #expect(try next("A: a b c", "C: d g") == anchor("C", "d"))
        #expect(try next("A: a b c") == anchor("A", "c"))
        #expect(try next("A: x y z u v w t") == anchor("A", "v"))
        #expect(try next("A: x") == anchor("A", "x"))
        #expect(try next("A:") == nil)
        #expect(try next("D~: -1 -2") == nil)
    }

    @Test("A window keeps its anchor while the row is displayed, also if the update replaces the row")
    func replacedAnchor() throws {
        let window = table.cut(around: anchor("C", "e"), before: 1, after: 1)
        func next(_ sections: String...) throws -> TableWindow.Anchor? {
            try step(window, table.snapshot, Snapshot(revision: 1, sections: sections.map(Section.make))).anchor
        }
        #expect(try next("A: a b c", "C~: d f -1 e") == anchor("C", "e"), "the section is reloaded")
        #expect(try next("A: a b c", "C: d f g", "E: x e") == anchor("E", "e"), "into an inserted section")
        #expect(try next("A: a b c", "E: x e") == anchor("E", "e"), "from a deleted section")
        #expect(try next("A: a b c", "E: e", "F: e") == anchor("A", "c"), "two sections have such a row")
        let inside = table.cut(section: "C", around: anchor("C", "e"), before: 1, after: 1)
        let new = Snapshot.make("A: a e", "C~: d -1", revision: 1)
        #expect(try step(inside, table.snapshot, new).anchor == anchor("C", "d"), "the window shows C only")
    }

    @Test("If the table was empty, the first row of the next table becomes the window's anchor")
    func anchorAfterAnEmptyTable() throws {
        let old = table.cut(around: anchor("C", "e"), before: 1, after: 1)
        let nothing = Snapshot.make("A:", revision: 1), some = Snapshot.make("A: x y z", revision: 2)
        let empty = try step(old, table.snapshot, nothing)
        #expect(empty.anchor == nil)
        let window = try step(empty, nothing, some)
        #expect(shown(window) == "A[0/3]: x y @0" && window.anchor == anchor("A", "x"))
    }

    @Test("A window follows its anchor to another section, unless it is a window of one section")
    func movedAnchor() throws {
        let new = Snapshot.make("A: a b c e", "B:", "C: d f g", "D:", revision: 1)
        let across = table.cut(around: anchor("C", "e"), before: 1, after: 0)
        #expect(shown(try step(across, table.snapshot, new)) == "A[2/4]: c e @2")
        let inside = table.cut(section: "C", around: anchor("C", "e"), before: 1, after: 0)
        #expect(shown(try step(inside, table.snapshot, new)) == "C[0/3]: d f @0")
    }

    @Test("Without the table's updates, a window stays at its anchor, or at its position if the anchor is gone")
    func unknownUpdates() throws {
        let old = try #require(table.cut(around: anchor("C", "e"), before: 1, after: 0))
        let moved = WindowSource(.make("A: a", "C: e d f g"))
        #expect(moved.cut(following: old.place).anchor == anchor("C", "e"))
        #expect(WindowSource(.make("A: e", "C: d")).cut(following: old.place).anchor == anchor("A", "e"))
        #expect(WindowSource(.make("A: a b c", "C: d f g")).cut(following: old.place).anchor == anchor("C", "f"))
        #expect(WindowSource(.make("A: a")).cut(following: old.place).anchor == anchor("A", "a"))
    }
}

/// Random windows of tables that change.
@Suite struct WindowRandomTests {
    @Test(
        "A window's update leads from the old window to the new one with the fewest possible operations",
        arguments: 0..<4)
    func windowsFollowEdits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(900 + seed) << 32)
        for _ in 0..<TestEffort.cases(10_000) / 4 {
            var table = EditedTable(&random)
            let old = table.snapshot
            for _ in 0..<random.below(8) { table.edit(&random) }
            let new = table.snapshot.at(1)
            let update = try BatchUpdate(from: old, to: new)
            let window = random.window(of: old), source = WindowSource(new)
            checkCut(window, of: old)
            #expect(WindowSource(old).cut(window.place).snapshot.json == window.snapshot.json)
            let next = window.following(RowFollower(update), to: source)
            checkCut(next, of: new)
            #expect(next.anchor == expectedAnchor(window, update, old, new))
            try checkUpdate(window, next)
            // Also to any other window of the old or new table.
            try checkUpdate(window, random.window(of: new))
            try checkUpdate(window, random.window(of: old))
            #expect(try WindowUpdate(from: window, to: window).isEmpty)
        }
    }

    @Test("If a window shows the whole table, its update is the table's update", arguments: 0..<2)
    func wholeTable(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(950 + seed) << 32)
        for _ in 0..<TestEffort.cases(2_000) / 2 {
            let old = random.snapshot(), new = random.snapshot().at(1)
            let update = try BatchUpdate(from: old, to: new)
            let window = WindowSource(old).cut(offset: 0, limit: .max)
            let next = window.following(RowFollower(update), to: WindowSource(new))
            #expect(try plain(WindowUpdate(from: window, to: next).update) == plain(update))
        }
    }

    /// Against a list of all rows.
    private func checkCut(_ window: WindowedSnapshot, of table: Snapshot) {
        var all: [(section: Int, row: Int, text: String)] = []
        for (index, section) in table.sections.enumerated()
        where window.window.section == nil || window.window.section == section.id {
            for (row, content) in section.rows.enumerated() { all.append((index, row, content.json.text)) }
        }
        let run: Range<Int>
        switch window.window.run {
        case .rows(let offset, let limit):
            let start = offset < 0 ? max(0, all.count + offset) : min(offset, all.count)
            run = start..<min(all.count, start + limit)
        case .around(let anchor, let before, let after):
            let place = anchor.flatMap { anchor in
                all.firstIndex {
                    table.sections[$0.section].id == anchor.section
                        && table.sections[$0.section].rows[$0.row].id == anchor.id
                }
            }
            #expect(place != nil || anchor == nil)
            let index = place ?? 0
            run = max(0, index - before)..<min(all.count, index + 1 + after)
        }
        #expect(window.offset == run.lowerBound || all.isEmpty)
        #expect(window.snapshot.totalRowCount == table.totalRowCount)
        var rows: [(section: Int, row: Int, text: String)] = []
        for section in window.snapshot.sections {
            let index = table.sections.firstIndex { $0.id == section.id } ?? -1
            let extent = section.extent ?? .init(offset: -1, rowCount: -1)
            #expect(extent.rowCount == table.sections[index].rows.count)
            for (offset, row) in section.rows.enumerated() {
                rows.append((index, extent.offset + offset, row.json.text))
            }
        }
        #expect(rows.map(\.text) == all[run].map(\.text))
        #expect(rows.map(\.section) == all[run].map(\.section) && rows.map(\.row) == all[run].map(\.row))
    }

    private func expectedAnchor(_ window: WindowedSnapshot, _ update: BatchUpdate, _ old: Snapshot, _ new: Snapshot)
        -> TableWindow.Anchor?
    {
        guard case .around(let anchor, _, _) = window.window.run else { return nil }
        let only = window.window.section
        func name(_ path: RowPath) -> TableWindow.Anchor? {
            let section = new.sections[path.section]
            guard only == nil || only == section.id else { return nil }
            return section.rows[path.row].id.map { .init(section: section.id, id: $0) }
        }
        func paths(_ table: Snapshot) -> [RowPath] {
            table.sections.enumerated().filter { only == nil || $0.element.id == only }.flatMap { index, section in
                section.rows.indices.map { RowPath(section: index, row: $0) }
            }
        }
        let before = paths(old), after = paths(new)
        guard let anchor,
            let index = before.firstIndex(where: {
                old.sections[$0.section].id == anchor.section && old.sections[$0.section].rows[$0.row].id == anchor.id
            })
        else { return after.first.flatMap(name) }
        let same = after.filter { name($0)?.id == anchor.id }
        if update.following(before[index]).flatMap(name) == nil,
            let stays = same.first(where: { name($0) == anchor }) ?? (same.count == 1 ? same[0] : nil)
        {
            return name(stays)
        }
        for distance in 0..<before.count {
            for candidate in [index + distance, index - distance] where before.indices.contains(candidate) {
                if let found = update.following(before[candidate]).flatMap(name) { return found }
            }
        }
        return after.isEmpty ? nil : name(after[min(index, after.count - 1)]) ?? name(after[0])
    }

    private func plain(_ update: BatchUpdate) -> String {
        var update = update
        for stage in update.stages.indices {
            for index in update.stages[stage].insertSections.indices {
                update.stages[stage].insertSections[index].section.extent = nil
            }
            for index in update.stages[stage].reloadSections.indices {
                update.stages[stage].reloadSections[index].section.extent = nil
            }
        }
        return update.json.text
    }

    /// By the rules of table views, and against the update between tables of only the windows' rows.
    private func checkUpdate(_ old: WindowedSnapshot, _ new: WindowedSnapshot) throws {
        let update = try WindowUpdate(from: old, to: new)
        var sections = try update.update.steps(from: old.snapshot).last?.after ?? Array(old.snapshot.sections)
        for (section, extent) in update.extents { sections[section].extent = extent }
        var result = new.snapshot
        result.sections = PersistentList(sections)
        #expect(result.json.text == new.snapshot.json.text)
        func table(_ window: WindowedSnapshot) -> Snapshot {
            Snapshot(
                revision: window.snapshot.revision,
                sections: window.snapshot.sections.map {
                    var section = $0
                    section.extent = nil
                    return section
                }, state: window.snapshot.state, empty: window.snapshot.empty)
        }
        let bare = try BatchUpdate(from: table(old), to: table(new))
        #expect(try JSONText(parsing: plain(bare))["stages"] == JSONText(parsing: plain(update.update))["stages"])
        try check(bare, table(old), table(new))
    }
}

/// Rows are found through the stored table's index.
@Suite struct WindowLookupTests {
    private static let ids = (0..<12).map { RowID("r\($0)") }

    /// Each kind: all stored rows, some of them, with and without ids, derived from the state, without models.
    private static func table() throws -> Played {
        func models(_ start: Int) -> String {
            (start..<start + 6).map { #"{"id":"r\#($0)","n":\#($0)}"# }.joined(separator: ",")
        }
        return try Played(
            """
            {"table":"t","sections":["all","some","nameless","made","counted"],"cells":{"C":{}},
             "modelTypes":{"N":{"id":null}},"state":{"off":[],"made":[{"id":"r1"},{"id":"r7"}]},
             "bindings":[{"on":{"sections":["all"]},"cell":"C","models":{"all":[\(models(0))]}},
              {"on":{"sections":["some"]},"cell":"C","models":{"some":[\(models(2))]},"shown":"!(model.n in state.off)"},
              {"on":{"sections":["nameless"]},"cell":"C","modelType":"N","models":{"nameless":[\(models(4))]},
               "shown":"!(model.n in state.off)"},
              {"on":{"sections":["made"]},"cell":"C","modelsFrom":{"$eval":"state.made"}},
              {"on":{"sections":["counted"]},"cell":"C","numberOfCells":3}]}
            """)
    }

    @Test("The index finds the same rows as a search", arguments: 0..<4)
    func theSameRows(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var session = try Self.table(), found = 0
        for _ in 0..<60 {
            let off = (0..<12).filter { _ in Bool.random(using: &random) }
            let made = Self.ids.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
            try session.perform(
                .setState(
                    JSONText(
                        parsing:
                            #"{"off":[\#(off.map(String.init).joined(separator: ","))],"made":[\#(made.map { #"{"id":"\#($0)"}"# }.joined(separator: ","))]}"#
                    ), merging: true))
            let indexed = WindowSource(session.snapshot, of: session.table, by: session.binder)
            let searched = WindowSource(session.snapshot)
            for id in Self.ids {
                #expect(indexed.sections(with: id) == searched.sections(with: id))
                for section in session.snapshot.sections.map(\.id) + ["hidden"] {
                    let anchor = TableWindow.Anchor(section: section, id: id)
                    let place = indexed.cut(around: anchor, before: 1, after: 1)?.place
                    #expect(place == searched.cut(around: anchor, before: 1, after: 1)?.place)
                    if place != nil { found += 1 }
                }
            }
        }
        #expect(found > 200)
    }

    @Test("Of the rows of all sections, only those that a template makes are examined")
    func examinedRows() throws {
        let session = try Self.table()
        let source = WindowSource(session.snapshot, of: session.table, by: session.binder)
        for id in ["nobody", "r1", "r4"] {
            #expect(source.examinedRows(for: RowID(id), in: nil) == 2)
            #expect(source.examinedRows(for: RowID(id), in: "some") == 0)
            #expect(WindowSource(session.snapshot).examinedRows(for: RowID(id), in: nil) == 23)
        }
    }
}

extension SeededGenerator {
    mutating func window(of table: Snapshot) -> WindowedSnapshot {
        let source = WindowSource(table)
        let section =
            below(3) == 0 ? table.sections.isEmpty ? nil : table.sections[below(table.sections.count)].id : nil
        if below(2) == 0 {
            return source.cut(section: section, offset: below(14) - 5, limit: below(8))
        }
        let anchors = table.sections.filter { section == nil || $0.id == section }.flatMap { section in
            section.rows.compactMap { row in row.id.map { TableWindow.Anchor(section: section.id, id: $0) } }
        }
        guard !anchors.isEmpty,
            let window = source.cut(
                section: section, around: anchors[below(anchors.count)], before: below(5), after: below(5))
        else { return source.cut(section: section, offset: 0, limit: 3) }
        return window
    }
}
