import TestSupport
import Testing

@testable import BraidEngine

/// An index path means the row that the client sees there, or none.
@Suite struct UnpublishedTests {
    private static let letters =
        #"{"table":"t","sections":"dynamic","cells":{"C":{}},"modelTypes":{"M":{"id":"/id"},"N":{"id":null}},"bindings":[{"on":"allOtherSections","cell":"C","modelType":"TYPE","models":{"a":[{"id":"a"},{"id":"b"},{"id":"c"}],"b":[{"id":"x"}]},"editing":"EDITING","moving":{"to":"anySection"}}]}"#

    private static func session(identified: Bool = true, editing: String = "delete") throws -> Played {
        try Played(letters.replacing("TYPE", with: identified ? "M" : "N").replacing("EDITING", with: editing))
    }

    private func row(_ id: String) -> JSONText { (try? JSONText(parsing: #"{"id":"\#(id)"}"#)) ?? .null }
    private func at(_ section: Int, _ row: Int) -> RowReference { .at(.displayed(section), row: row) }
    private func silently(_ call: DataSourceCommand) -> Command { .dataSource(call, notify: false) }

    /// By their models' `id`, which need not be the rows' id.
    private func rows(_ snapshot: Snapshot) -> String {
        snapshot.sections.map { section in
            "\(section.id)[\(section.rows.map { ($0.model ?? .null)["id"]?.stringValue ?? "" }.joined(separator: " "))]"
        }.joined(separator: " ")
    }

    @Test("A reset shows the session's opening table, even if the stored table already equals it")
    func resets() throws {
        var session = try Played(sections: [])
        try session.perform(.dataSource(.addRow(row("a"), at: .init(section: 0, row: 0)), notify: true))
        try session.perform(silently(.removeAllSections))
        try session.perform(.reset(to: Binder.dataSource.openingTable([])))
        #expect(session.snapshot.sections.isEmpty && session.unpublished == nil)
    }

    @Test(
        "A command of a transaction that changes nothing publishes nothing",
        arguments: [
            #"{"patchState":{}}"#, #"{"patchModels":{"b":[{"id":"x"}]}}"#, #"{"patchHeaders":{"a":null}}"#,
            #"{"moves":{"from":{"id":"x"},"to":{"id":"x"}}}"#, #"{"displayedRows":{"rows":[]}}"#,
            #"{"dataSource":{"registerCell":{"modelType":"M","cell":"C"}}}"#,
        ])
    func nothingIsPublished(unchanging: String) throws {
        let command = try Command(json: JSONText(parsing: unchanging))
        let call = silently(.addRow(row("new"), at: .init(section: 0, row: 0)))
        for isBefore in [true, false] {
            var session = try Self.session()
            // The first registration of a cell is a change.
            try session.perform(command)
            if isBefore { try session.perform(call) }
            let alone = try session.perform(command)
            #expect(alone.kind == .unchanged && (session.unpublished != nil) == isBefore)
            try session.perform(
                .transaction([
                    command, silently(.addRow(row("newer"), at: .init(section: 0, row: 0))), command,
                ]))
            #expect(rows(session.snapshot) == "a[a b c] b[x]" && session.unpublished != nil)
            try session.perform(.transaction([command, .setState(#"{"n":1}"#, merging: true)]))
            #expect(session.unpublished == nil)
        }
    }

    /// Clients see a[a b c]; stored is a[new a b c].
    @Test("While a change is unpublished, policies are evaluated, and refusals counted, for the table that clients see")
    func policies() throws {
        let text = Self.letters.replacing("TYPE", with: "M")
            .replacing(
                #""editing":"EDITING""#,
                with: #""editing":{"$if":"row == 1 && count == 3","then":"delete","else":"none"}"#
            )
            .replacing(
                #""moving":{"to":"anySection"}"#, with: #""moving":{"to":{"passing":"count < 4"},"movable":"row == 0"}"#
            )
        for isTransaction in [false, true] {
            func perform(_ command: Command) throws -> String {
                var session = try Played(text)
                try session.perform(silently(.addRow(row("new"), at: .init(section: 0, row: 0))))
                try session.perform(isTransaction ? .transaction([command]) : command)
                return rows(session.snapshot)
            }
            func id(_ id: String) -> RowReference { .id(RowID(id), in: nil) }
            #expect(try perform(.delete(id("b"))) == "a[new a c] b[x]")
            #expect(try perform(.move(id("a"), to: id("x"))) == "a[new b c] b[a x]")
            #expect(try perform(.move(id("x"), to: id("c"))) == "a[new a b x c] b[]")
            for (command, detail) in [
                (Command.delete(id("a")), "Row 0 of the section \"a\" does not allow delete"),
                (.delete(id("c")), "Row 2 of the section \"a\" does not allow delete"),
                (.move(id("b"), to: id("x")), "Row 1 of the section \"a\" cannot be moved"),
            ] {
                let refusal = #expect(throws: Refusal.self) { try perform(command) }
                #expect(refusal?.detail.hasPrefix(detail) == true, "\(refusal?.detail ?? "")")
            }
        }
    }

    @Test("While a change is unpublished, a delete removes the row that the client sees", arguments: [true, false])
    func deleteOfSeenRow(identified: Bool) throws {
        var session = try Self.session(identified: identified)
        try session.perform(silently(.addRow(row("new"), at: .init(section: 0, row: 0))))
        try session.perform(silently(.addRow(row("newer"), at: .init(section: 0, row: 0))))
        try session.perform(silently(.addSection(SectionContent(id: "front"), at: 0)))
        try session.perform(.delete(at(0, 1)))
        #expect(rows(session.snapshot) == "front[] a[newer new a c] b[x]")
    }

    @Test(
        "A client's command is refused if an unpublished change has removed or replaced its row",
        arguments: [true, false])
    func missingRow(identified: Bool) throws {
        for change in [
            silently(.removeRow(at: .init(section: 0, row: 1))),
            silently(.updateRow(row("other"), at: .init(section: 0, row: 1))),
            silently(.removeSection(at: .displayed(0))), silently(.removeAllSections),
            silently(.updateAllSections([SectionContent(id: "b")])),
        ] {
            var session = try Self.session(identified: identified)
            try session.perform(change)
            let before = session
            #expect(throws: Refusal.self) { try session.perform(.delete(at(0, 1))) }
            if identified { #expect(throws: Refusal.self) { try session.perform(.delete(.id(RowID("b"), in: nil))) } }
            #expect(throws: Refusal.self) { try session.perform(.delete(at(0, 3))) }
            #expect(session.snapshot.text == before.snapshot.text && session.stored.text == before.stored.text)
        }
    }

    @Test(
        "While a change is unpublished, a new row is inserted before the row that the client sees",
        arguments: [true, false])
    func insertBeforeSeenRow(identified: Bool) throws {
        for (place, after) in [(0, "a[new i a b c] b[x]"), (2, "a[new a b i c] b[x]"), (3, "a[new a b c i] b[x]")] {
            var session = try Self.session(identified: identified, editing: "insert")
            try session.perform(silently(.addRow(row("new"), at: .init(section: 0, row: 0))))
            try session.perform(.insert(at(0, place), model: row("i")))
            #expect(rows(session.snapshot) == after)
        }
    }

    @Test(
        "While a change is unpublished, a move puts the row between the rows that the client sees",
        arguments: [true, false])
    func moveBetweenSeenRows(identified: Bool) throws {
        // Clients see a[a b c] b[x]; stored is a[new a b end c] b[y x].
        for (from, section, row, after) in [
            (at(0, 0), 0, 1, "a[new b end a c] b[y x]"), (at(0, 0), 0, 2, "a[new b end c a] b[y x]"),
            (at(0, 2), 0, 0, "a[new c a b end] b[y x]"),
            (at(0, 2), 0, 1, "a[new a c b end] b[y x]"), (at(0, 1), 1, 0, "a[new a end c] b[y b x]"),
            (at(0, 1), 1, 1, "a[new a end c] b[y x b]"),
            (at(1, 0), 0, 3, "a[new a b end c x] b[y]"), (at(1, 0), 0, 2, "a[new a b end x c] b[y]"),
        ] {
            var session = try Self.session(identified: identified)
            try session.perform(silently(.addRow(self.row("new"), at: .init(section: 0, row: 0))))
            try session.perform(silently(.addRow(self.row("end"), at: .init(section: 0, row: 3))))
            try session.perform(silently(.addRow(self.row("y"), at: .init(section: 1, row: 0))))
            try session.perform(.move(from, to: .at(.displayed(section), row: row)))
            #expect(rows(session.snapshot) == after, "\(from) to \(section), \(row)")
        }
        var session = try Self.session(identified: identified)
        try session.perform(silently(.removeRow(at: .init(section: 0, row: 2))))
        #expect(throws: Refusal.self, "the row that it was to stand before is gone") {
            try session.perform(.move(at(1, 0), to: .at(.displayed(0), row: 2)))
        }
        #expect(throws: Refusal.self, "no such place") {
            try session.perform(.move(at(1, 0), to: .at(.displayed(0), row: 4)))
        }
        if !identified { return }
        // To its own place, while an unpublished change has reordered the neighbours.
        session = try Self.session()
        try session.perform(silently(.updateRowsOfSection(["b", "a", "c"].map { row($0) }, at: .displayed(0))))
        try session.perform(.move(at(0, 0), to: .at(.displayed(0), row: 0)))
        #expect(rows(session.stored) == "a[a b c] b[x]")
    }

    @Test(
        "While a change is unpublished, a command affects only the row that the client sees",
        arguments: 0..<4, [true, false])
    func randomCommands(seed: Int, identified: Bool) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var taken = 0
        for _ in 0..<300 {
            var session = try Self.session(identified: identified)
            for step in 0..<Int.random(in: 1..<5, using: &random) {
                let path = RowPath(
                    section: Int.random(in: 0..<2, using: &random), row: Int.random(in: 0..<4, using: &random))
                let calls: [DataSourceCommand] = [
                    .addRow(row("n\(step)"), at: RowReference(path)), .removeRow(at: RowReference(path)),
                    .updateRow(row("u\(step)"), at: RowReference(path)),
                    .updateRowsOfSection(
                        ["c", "x", "a"].shuffled(using: &random).map { row($0) }, at: .displayed(path.section)),
                    .addSection(SectionContent(rows: [row("s\(step)")]), at: path.section),
                    .removeSection(at: .displayed(path.section)),
                ]
                try session.perform(silently(calls.randomElement(using: &random) ?? .removeAllSections))
            }
            let section = session.snapshot.sections[0]
            let index = Int.random(in: 0..<3, using: &random), seen = section.rows[index].model
            var stored = session.table[section.id].map { $0.rows.map(\.model) } ?? []
            do {
                try session.perform(.delete(at(0, index)))
                taken += 1
                #expect(seen.flatMap { stored.firstIndex(of: $0) }.map { stored.remove(at: $0) } != nil)
                #expect(session.table[section.id].map { $0.rows.map(\.model) } == stored)
            } catch is Refusal {
                #expect(!identified || !stored.contains { $0 == seen }, "a row that is there is found")
            }
        }
        #expect(taken > 100)
    }

    /// They would count in a table that no client has seen.
    @Test("While a change is unpublished, edits and moves of a transaction must name rows by their ids")
    func transactionsByID() throws {
        var session = try Self.session()
        try session.perform(silently(.addRow(row("new"), at: .init(section: 0, row: 0))))
        #expect(throws: Refusal.self) { try session.perform(.transaction([.delete(at(0, 0))])) }
        #expect(throws: Refusal.self) {
            try session.perform(.transaction([.delete(.id(RowID("a"), in: .displayed(0)))]))
        }
        #expect(throws: Refusal.self) {
            try session.perform(.transaction([.move(.id(RowID("a"), in: nil), to: .at(.displayed(1), row: 0))]))
        }
        try session.perform(.transaction([.delete(.id(RowID("a"), in: nil)), .delete(.id(RowID("b"), in: .id("a")))]))
        #expect(rows(session.snapshot) == "a[new c] b[x]")
        // With nothing unpublished before, index paths count in the table after the preceding commands.
        try session.perform(
            .transaction([silently(.addRow(row("z"), at: .init(section: 0, row: 0))), .delete(at(0, 1))]))
        #expect(rows(session.snapshot) == "a[z c] b[x]")
    }

    @Test("Taps, events and edits of a transaction find only rows that clients see or that the transaction inserted")
    func unseenRowsInTransactions() throws {
        var session = try Self.session(editing: "insert")
        try session.perform(silently(.addRow(row("new"), at: .init(section: 0, row: 0))))
        try session.perform(silently(.addRow(row("x"), at: .init(section: 0, row: 0))))
        let before = session
        for reference: RowReference in [.id("new", in: nil), .id("new", in: .id("a")), .id("x", in: .id("a"))] {
            for command: Command in [
                .insert(reference, model: row("i")), .tap(reference), .displayedRows([reference]),
                .event(reference, name: "e", parameters: .null),
            ] {
                #expect { try session.perform(.transaction([command])) } throws: {
                    ($0 as? Refusal)?.code == .rowNotFound
                }
                #expect { try session.perform(command) } throws: { ($0 as? Refusal)?.code == .rowNotFound }
            }
        }
        #expect(session.snapshot.text == before.snapshot.text && session.stored.text == before.stored.text)
        // Clients see only one x, in b. The transaction inserts rows before it.
        try session.perform(
            .transaction([
                .insert(.id("x", in: nil), model: row("i")), .insert(.id("i", in: nil), model: row("j")),
                .insert(.id("j", in: .id("b")), model: row("k")),
            ]))
        #expect(rows(session.snapshot) == "a[x new a b c] b[k j i x]")
    }

    @Test("Unpublished changes of stored rows reach derived rows when they are published")
    func derivedRows() throws {
        var session = try Played(
            #"{"table":"t","sections":["a","d","n"],"cells":{"C":{}},"modelTypes":{"N":{"id":null}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"},{"id":"2"}]},{"on":{"section":"d"},"cell":"C","modelType":"N","modelsFrom":{"$eval":"models.a"},"onTap":[{"setState":{"tapped":{"$eval":"model.id"}}}]},{"on":{"section":"n"},"cell":"C","numberOfCells":"len(models.a)"}]}"#
        )
        try session.perform(silently(.updateRow(#"{"id":"9"}"#, at: .init(section: 0, row: 0))))
        #expect(rows(session.snapshot) == "a[1 2] d[1 2] n[ ]")
        #expect(throws: Refusal.self, "it shows something else") { try session.perform(.tap(at(1, 0))) }
        try session.perform(.tap(at(1, 1)))
        #expect(session.snapshot.state.text == #"{"tapped":"2"}"#)
        #expect(rows(session.snapshot) == "a[9 2] d[9 2] n[ ]")
        for call: DataSourceCommand in [
            .updateRow("1", at: .init(section: 1, row: 0)), .addRow("1", at: .init(section: 1, row: 0)),
            .removeRow(at: .init(section: 2, row: 0)), .updateRowsOfSection([], at: .displayed(1)),
            .updateSection(SectionContent(), at: .displayed(1)),
        ] {
            #expect { try session.perform(.dataSource(call, notify: true)) } throws: {
                ($0 as? Refusal)?.code == .editingNotAllowed
            }
        }
    }

    @Test("While a change is unpublished, events and reports of displayed rows refer to rows that the client sees")
    func eventsAndDisplayedRows() throws {
        var session = try Played(
            """
            {"table":"t","cells":{"C":{"events":{"e":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"},{"id":"3"}],
             "onEvent":{"C":{"e":[{"setState":{"said":{"$eval":"model.id"}}}]}},"prefetch":{"cellsFromEnd":1},"onPrefetch":[{"setState":{"asked":{"$eval":"model.id"}}}]}]}
            """)
        let add = silently(.addRow(row("0"), at: .init(section: 0, row: 0)))
        try session.perform(add)
        let outcome = try session.perform(.event(at(0, 0), name: "e", parameters: .null))
        #expect(
            outcome.controllerEvents.map { $0.json()["id"]?.stringValue } == ["1"]
                && session.table.state.text == #"{"said":"1"}"#)
        try session.perform(silently(.removeRow(at: .init(section: 0, row: 0))))
        try session.perform(.displayedRows([at(0, 2)]))
        #expect(session.table.state.text == #"{"said":"1","asked":"2"}"#)
    }

    /// The largest integer must not overflow.
    @Test("A move out of bounds is refused while a change is unpublished")
    func moveOutOfBounds() throws {
        var session = try Played(
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"},{"id":"2"}]},"moving":{"to":"anySection"}}]}"#
        )
        try session.perform(silently(.addRow(#"{"id":"0"}"#, at: .init(section: 0, row: 0))))
        for (section, row) in [(0, 2), (0, 3), (0, 99), (0, Int.max), (0, -1), (1, 1), (1, Int.max)] {
            #expect { try session.perform(.move(at(0, 0), to: .at(.displayed(section), row: row))) } throws: {
                ($0 as? Refusal)?.code == .rowNotFound
            }
        }
        try session.perform(.move(at(0, 0), to: .at(.displayed(0), row: 1)))
        #expect(rows(session.snapshot).hasPrefix("a[0 2 1]"))
    }

    @Test("Data source calls cannot add or remove declared sections")
    func declaredSectionsStay() throws {
        var session = try Played(
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"}]},"headers":{"a":"A"}}]}"#
        )
        for call: DataSourceCommand in [
            .addRow(row("2"), at: .init(section: 2, row: 0)), .addSection(SectionContent(), at: 0),
            .removeSection(at: .displayed(0)), .removeAllSections,
            .updateAllSections([SectionContent()]),
            .updateAllSections([SectionContent(id: "b"), SectionContent(id: "a")]),
        ] {
            #expect { try session.perform(.dataSource(call, notify: true)) } throws: {
                ($0 as? Refusal)?.code == .sectionsAreDeclared
            }
        }
        #expect(try session.perform(.dataSource(.removeSection(at: .displayed(2)), notify: true)).isIgnored)
        try session.perform(.dataSource(.removeRow(at: .init(section: 0, row: 0)), notify: true))
        #expect(session.snapshot.brief == "A[] -[]", "left empty, and left there")
        try session.perform(
            .dataSource(
                .updateAllSections([
                    SectionContent(header: .null, rows: [row("1")]), SectionContent(id: "b", rows: [row("2")]),
                ]), notify: true))
        #expect(rows(session.snapshot) == "a[1] b[2]")
        #expect(session.snapshot.sections[0].header.isNull, "null is none, whatever is bound")
        try session.perform(.dataSource(.updateSectionData(header: nil, footer: nil, at: .displayed(0)), notify: true))
        #expect(
            session.snapshot.sections[0].header["title"]?.stringValue == "A", "without one of its own, what is bound")
    }

    @Test("The index paths of data source calls skip hidden rows and sections")
    func hiddenRowsAndSections() throws {
        var session = try Played(
            #"{"table":"t","sections":"dynamic","sectionDisplay":{"behavior":"hidesSectionsWithNoCellData"},"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","shown":"model.id != 'h'","models":{"e":[],"a":[{"id":"h"},{"id":"1"},{"id":"2"}],"b":[{"id":"h"}]}}]}"#
        )
        #expect(rows(session.snapshot) == "a[1 2]")
        try session.perform(.dataSource(.addRow(row("3"), at: .init(section: 0, row: 1)), notify: true))
        #expect(session.table["a"]?.rows.map { $0.id?.text } == ["h", "1", "3", "2"])
        let outcome = try session.perform(
            .dataSource(.updateRow(row("h2"), at: .init(section: 0, row: 0)), notify: true))
        #expect(outcome.notification == .rows([.init(section: 0, row: 0)]))
        #expect(session.table["a"]?.rows.map { $0.id?.text } == ["h", "h2", "3", "2"])
        let emptied = try session.perform(
            .dataSource(.updateRowsOfSection([row("h")], at: .displayed(0)), notify: true))
        #expect(
            emptied.notification == .dataSource, "the section is no longer displayed: more than its rows has changed")
        #expect(
            try session.perform(.dataSource(.addRow(row("4"), at: .init(section: 0, row: 0)), notify: true))
                .notification == .dataSource)
        #expect(rows(session.snapshot) == "s4[4]")
    }

    @Test(
        "If rows without ids were hidden or removed, a command affects the row that the client sees or none",
        arguments: [(0, nil), (1, "h h c"), (2, "h h b")] as [(Int, String?)])
    func hiddenRowsWithoutIDs(row: Int, left: String?) throws {
        var session = try Played(
            #"{"table":"t","sections":["a"],"cells":{"C":{}},"modelTypes":{"N":{"id":null}},"bindings":[{"on":{"section":"a"},"cell":"C","modelType":"N","shown":"model.id != 'h'","models":[{"id":"h"},{"id":"b"},{"id":"h"},{"id":"b"},{"id":"c"}],"editing":"delete"}]}"#
        )
        try session.perform(silently(.removeRow(at: .init(section: 0, row: 0))))
        #expect(rows(session.snapshot) == "a[b b c]")
        guard let left else {
            #expect(throws: Refusal.self) { try session.perform(.delete(at(0, row))) }
            return
        }
        try session.perform(.delete(at(0, row)))
        #expect(session.table["a"]?.rows.compactMap { $0.model["id"]?.stringValue }.joined(separator: " ") == left)
    }

    @Test("If a list of displayed sections is set, data source calls add new sections to that list")
    func newDisplayedSections() throws {
        var session = try Self.session()
        try session.perform(.setDisplayedSections(["b", "a"]))
        try session.perform(.dataSource(.addSection(SectionContent(id: "m"), at: 1), notify: true))
        #expect(session.ids == ["b", "m", "a"])
        try session.perform(silently(.removeSection(at: .displayed(0))))
        #expect(session.ids == ["b", "m", "a"])
        try session.perform(
            .dataSource(
                .updateAllSections([SectionContent(id: "a"), SectionContent(), SectionContent(id: "new")]), notify: true
            ))
        #expect(session.ids == ["a", "s4", "new"])
    }
}
