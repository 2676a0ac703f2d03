import Testing

@testable import BraidEngine

/// Calls on rows and sections as commands, with indexes in and out of bounds, with and without notification.
@Suite struct DataSourceCommandTests {
    @Test("A data source call has the expected table and notification as its result", arguments: DataSourceCase.all)
    func aCallLeadsTo(_ call: DataSourceCase) throws {
        var session = try Played(sections: DataSourceCase.sections())
        let outcome = try session.perform(call.command())
        #expect(session.stored.brief == call.after ?? DataSourceCase.start)
        #expect(session.snapshot.brief == session.stored.brief)
        #expect(outcome.isIgnored == (call.after == nil))
        #expect(outcome.notification?.json.text == call.notification)
    }

    @Test(
        "A data source call with `notify: false` changes the stored table, but not the snapshot",
        arguments: DataSourceCase.all)
    func withoutNotify(_ call: DataSourceCase) throws {
        var session = try Played(sections: DataSourceCase.sections())
        let outcome = try session.perform(call.command(notify: false)),
            isChange = (call.after ?? DataSourceCase.start) != DataSourceCase.start
        #expect(session.stored.brief == call.after ?? DataSourceCase.start)
        #expect(session.snapshot.brief == DataSourceCase.start)
        #expect(outcome.notification == nil)
        #expect(outcome.update.isEmpty)
        #expect(outcome.snapshot.revision == (isChange ? 1 : 0))
        // The next notifying call that is not ignored publishes earlier changes, even if it changes nothing itself.
        let next = try session.perform(.dataSource(.updateAllSections(session.contents), notify: true))
        #expect(session.snapshot.brief == call.after ?? DataSourceCase.start)
        #expect(next.notification == .dataSource)
        #expect(next.kind == (isChange ? .applied : .unchanged))
        #expect(session.unpublished == nil)
    }

    @Test("An ignored call publishes no earlier change, and neither does `setState` without an effect")
    func ignoredCalls() throws {
        var session = try Played(sections: DataSourceCase.sections())
        try session.perform(.dataSource(.removeRow(at: .init(section: 0, row: 0)), notify: false))
        #expect(try session.perform(.dataSource(.removeRow(at: .init(section: 8, row: 0)), notify: true)).isIgnored)
        #expect(try session.perform(.setState(.emptyObject, merging: true)).kind == .unchanged)
        #expect(session.snapshot.brief == DataSourceCase.start && session.snapshot.revision == 1)
        try session.perform(.setState("{\"x\":1}", merging: true))
        #expect(session.snapshot.brief == "A[b c] B[d] -[]" && session.snapshot.revision == 2)
        #expect(
            try session.perform(.dataSource(.updateRow("\"b\"", at: .init(section: 0, row: 0)), notify: true)).kind
                == .unchanged)
    }

    @Test("A transaction publishes its changes if one of its commands notifies")
    func publishedTransaction() throws {
        let silent = Command.dataSource(.addRow("\"x\"", at: .init(section: 1, row: 0)), notify: false)
        let loud = Command.dataSource(.addRow("\"y\"", at: .init(section: 1, row: 0)), notify: true)
        var session = try Played(sections: DataSourceCase.sections())
        try session.perform(.transaction([silent, silent]))
        #expect(session.snapshot.brief == DataSourceCase.start && session.snapshot.revision == 1)
        try session.perform(.transaction([loud, silent]))
        #expect(session.snapshot.brief == "A[a b c] B[x y x x d] -[]")
    }

    @Test(
        "An ignored command in a transaction publishes nothing",
        arguments: [
            Command.setDisplayedSections(["a"]), .dataSource(.removeRow(at: .init(section: 9, row: 0)), notify: true),
        ])
    func ignoredInTransaction(ignored: Command) throws {
        var session = try Played(
            #"{"table":"t","sections":["a"],"sectionDisplay":{"behavior":"hidesSectionsWithNoCellData"},"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"a"}]}]}"#
        )
        let silent = Command.dataSource(.addRow(#"{"id":"b"}"#, at: .init(section: 0, row: 1)), notify: false)
        try session.perform(.transaction([silent, ignored]))
        #expect(session.snapshot.revision == 1 && session.snapshot.sections[0].rows.count == 1)
        #expect(try session.perform(.transaction([ignored, .setState(.emptyObject, merging: true)])).isIgnored)
        try session.perform(.transaction([ignored, .setState("{\"x\":1}", merging: true)]))
        #expect(session.snapshot.sections[0].rows.count == 2)
    }

    @Test("The engine never generates the same section id twice")
    func uniqueSectionIDs() throws {
        var session = try Played(sections: DataSourceCase.sections())
        #expect(session.ids == ["s1", "s2", "s3"])
        try session.perform(.dataSource(.removeSection(at: .displayed(2)), notify: true))
        try session.perform(.dataSource(.addSection(SectionContent(), at: 1), notify: true))
        #expect(session.ids == ["s1", "s4", "s2"])
        try session.perform(.dataSource(.addSection(SectionContent(id: "s5"), at: nil), notify: true))
        try session.perform(.dataSource(.addRow("1", at: .init(section: 9, row: 0)), notify: true))
        #expect(session.ids == ["s1", "s4", "s2", "s5", "s6"])
    }

    @Test("`updateAllSections` matches sections by id or, without an id, by index")
    func updatedSections() throws {
        var session = try Played(sections: DataSourceCase.sections())
        try session.perform(
            .dataSource(
                .updateAllSections([
                    SectionContent(id: "s3"), SectionContent(id: "x"), SectionContent(), SectionContent(),
                ]), notify: true))
        #expect(session.ids == ["s3", "x", "s5", "s6"], "the third is claimed by id, and the first goes")
        #expect(throws: Refusal.self) {
            try session.perform(
                .dataSource(.updateAllSections([SectionContent(id: "x"), SectionContent(id: "x")]), notify: true))
        }
        var named = try Played(sections: [])
        try named.perform(.dataSource(.updateAllSections([SectionContent(), SectionContent(id: "s1")]), notify: true))
        #expect(named.ids == ["s2", "s1"], "an id that comes later is not given out")
        #expect(throws: Refusal.self) {
            try session.perform(.dataSource(.addSection(SectionContent(id: "x"), at: nil), notify: true))
        }
    }

    @Test("A section can be inserted between sections with adjacent ordinals")
    func adjacentOrdinals() throws {
        var session = try Played(sections: DataSourceCase.sections())
        for _ in 0..<40 { try session.perform(.dataSource(.addSection(SectionContent(), at: 1), notify: true)) }
        #expect(session.table.sections.map(\.summary.ordinal) == session.table.sections.map(\.summary.ordinal).sorted())
        #expect(Set(session.table.sections.map(\.summary.ordinal)).count == 43)
        #expect(session.ids.first == "s1" && session.ids[1] == "s43" && session.ids.last == "s3")
    }

    /// The store has to write the neighbours' new ranks, too.
    @Test("A row can be inserted between rows with adjacent ranks")
    func adjacentRanks() throws {
        var session = try Played(sections: [SectionContent(rows: ["\"a\"", "\"b\""])])
        var placed = 0
        for number in 0..<100 {
            let before = session.table
            let outcome = try session.perform(
                .dataSource(.addRow(.number(number), at: RowReference(path(0, 1))), notify: true))
            try RandomCommandTests.check(outcome, after: before)
            placed += outcome.change.placedRows.count
        }
        #expect(placed > 0)
    }

    @Test("Rows can exchange their ids in one call")
    func exchangedIDs() throws {
        var session = try Played(sections: [SectionContent(rows: ["{\"id\":1}", "{\"id\":2}"])])
        let outcome = try session.perform(
            .dataSource(
                .updateRows([(.init(section: 0, row: 0), "{\"id\":2}"), (.init(section: 0, row: 1), "{\"id\":1}")]),
                notify: true))
        #expect(session.snapshot.sections[0].rows.map { $0.id?.text ?? "" } == ["2", "1"])
        #expect(outcome.update.json.text.contains("moveRows"))
        #expect(throws: Refusal.self) {
            try session.perform(.dataSource(.updateRow("{\"id\":2}", at: .init(section: 0, row: 1)), notify: true))
        }
    }

    /// The delegate would read a displayed row that does not exist.
    @Test("A notification does not name a row that its new model hides")
    func hiddenByNewModel() throws {
        var session = try Played(
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":1,"on":true},{"id":2,"on":true},{"id":3,"on":true}],"shown":"model.on"}]}"#
        )
        func update(_ row: Int, _ model: JSONText) throws -> DataSourceNotification? {
            try session.perform(.dataSource(.updateRow(model, at: .init(section: 0, row: row)), notify: true))
                .notification
        }
        #expect(try update(2, "{\"id\":3,\"on\":false}") == .dataSource)
        #expect(session.snapshot.brief == "-[1 2]")
        #expect(try update(1, "{\"id\":4,\"on\":true}") == .rows([.init(section: 0, row: 1)]))
    }

    @Test("One call can replace the rows of a section where some rows have ids and others have none")
    func rowsWithAndWithoutIDs() throws {
        var session = try Played(sections: [SectionContent(rows: ["{\"id\":1}", "\"x\""])])
        let before = session.table
        let outcome = try session.perform(
            .dataSource(.updateRowsOfSection(["\"y\"", "{\"id\":1}", "\"z\""], at: .displayed(0)), notify: true))
        #expect(session.snapshot.brief == "-[y 1 z]")
        try RandomCommandTests.check(outcome, after: before)
    }

    /// The description's list may name sections that do not exist yet.
    @Test("Data source calls add new dynamic sections to the list of displayed sections, and take removed ones out")
    func dynamicSections() throws {
        var session = try Played(
            #"{"table":"t","sections":"dynamic","sectionDisplay":{"displayed":["b","a"]},"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[]}}]}"#
        )
        for (call, ids) in [
            (.addSection(SectionContent(id: "b"), at: 0), ["b", "a"]),
            (.addSection(SectionContent(id: "n"), at: nil), ["b", "a", "n"]),
            (.removeSection(at: .displayed(0)), ["a", "n"]),
        ] as [(DataSourceCommand, [SectionID])] {
            try session.perform(.dataSource(call, notify: true))
            #expect(session.ids == ids)
        }
        try session.perform(.setModels([("b", [])], merging: true))
        #expect(session.ids == ["a", "n"], "it is a new section, which nothing displays")
    }

    @Test("A snapshot returns the models and titles that the description gives")
    func readBack() throws {
        let session = try Played(
            """
            {"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","viewModels":[{"id":"1"}],
             "header":"H","footer":{"view":"V","viewModel":1},"dimensions":{"headerHeight":1,"footerHeight":2,"estimatedFooterHeight":3}}]}
            """)
        #expect(try session.snapshot.modelObject(at: path(0, 0)).text == #"{"id":"1"}"#)
        let data = try session.snapshot.sectionData(for: .displayed(0))
        #expect(data.header.text == #""H""# && data.footer.text == #"{"view":"V","viewModel":1}"#)
    }

    @Test("A data source's section is diffable while all its models have ids")
    func diffableSections() throws {
        var session = try Played(sections: [SectionContent(rows: ["{\"id\":1}"])])
        #expect(session.snapshot.sections[0].isDiffable)
        try session.perform(.dataSource(.addRow("2", at: .init(section: 0, row: 1)), notify: true))
        #expect(!session.snapshot.sections[0].isDiffable)
        try session.perform(.dataSource(.removeRow(at: .init(section: 0, row: 1)), notify: true))
        #expect(session.snapshot.sections[0].isDiffable)
    }

    @Test("A row shows the cell that is registered for its model's type, or the cell with the type's name")
    func cellsOfModelTypes() throws {
        var session = try Played(sections: [SectionContent(rows: ["1", "{\"type\":\"person\"}", "null"])])
        #expect(session.cells == ["number", "person", "null"])
        let outcome = try session.perform(.dataSource(.registerCell("PersonCell", modelType: "person"), notify: true))
        #expect(session.cells == ["number", "PersonCell", "null"])
        #expect(outcome.notification == nil)
        #expect(outcome.change.cells?.text == #"{"person":"PersonCell"}"#)
        #expect(
            try session.perform(.dataSource(.registerCell("PersonCell", modelType: "person"), notify: true)).kind
                == .unchanged)
        try session.perform(.dataSource(.registerCell("Other", modelType: "person"), notify: true))
        #expect(session.cells == ["number", "Other", "null"], "the last registration wins")
    }
}

extension JSONText: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self = (try? JSONText(parsing: text)) ?? .null }
}
