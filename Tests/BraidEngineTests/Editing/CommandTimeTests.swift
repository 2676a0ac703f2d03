import Testing

@testable import BraidEngine

/// The time is over from the start, so each loop must notice.
@Suite struct CommandTimeTests {
    private static let text = """
        {"table":"t","sections":["a","hidden","derived","counted"],"cells":{"C":{}},"modelTypes":{"M":{"id":null}},
         "bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"},{"id":"2"}],"prefetch":{"cellsFromEnd":9},"onPrefetch":[{"setState":{"n":1}}]},
          {"on":{"section":"hidden"},"cell":"C","models":[{"id":"3"}],"shown":"true"},
          {"on":{"section":"derived"},"cell":"C","modelsFrom":[{"id":"4"}]},
          {"on":{"section":"counted"},"cell":"C","numberOfCells":"1"}]}
        """

    /// Must be refused and change nothing.
    private static func work(_ body: (inout CommandInProgress, TableModel) throws -> Void) throws {
        let session = try Played(text)
        var binder = session.binder
        binder.limits.commandTime = .seconds(-1)
        var work = CommandInProgress(binder: binder, table: session.table, shown: session.snapshot, now: "")
        let refusal = #expect(throws: Refusal.self) { try body(&work, session.table) }
        #expect(refusal?.code == .commandTimeout)
        #expect(work.editor.change.isEmpty)
    }

    @Test("The refusal of a slow command says how much time it had, also for times below a second")
    func messages() throws {
        for (limit, text) in [(Duration.seconds(-2), "-2 seconds"), (.milliseconds(-500), "-500 milliseconds")] {
            var limits = TableLimits()
            limits.commandTime = limit
            let refusal = #expect(throws: Refusal.self) { try CommandMeter(rows: 0, limits).checkTime() }
            #expect(refusal?.detail.contains("the \(text) that") == true, "\(refusal?.detail ?? "")")
        }
    }

    @Test(
        "Finding a row by its id or its index path ends when the command's time is up",
        arguments: [
            RowReference.id(RowID("1"), in: nil), .id(RowID("1"), in: .id("a")), .id(RowID("4"), in: nil),
            .at(.displayed(0), row: 0),
        ])
    func resolving(reference: RowReference) throws {
        try Self.work { work, _ in _ = try work.resolve(reference) }
    }

    @Test("Processing the rows that a client reports as displayed ends when the command's time is up")
    func displayedRows() throws {
        try Self.work { work, _ in try work.noteDisplayed([.at(.displayed(0), row: 0)]) }
    }

    @Test("Setting the models of many sections ends when the command's time is up", arguments: [true, false])
    func models(merging: Bool) throws {
        try Self.work { work, _ in try work.setModels([("a", [])], merging: merging) }
    }

    @Test("A handler ends at its next step when the command's time is up")
    func handler() throws {
        let setState = try HandlerStep.action(.setState(JSONeTemplate(JSONText(parsing: #"{"n":1}"#).value())))
        try Self.work { work, table in
            let context = HandlerContext(
                binder: work.binder, now: "", meter: work.meter, ids: work.ids, user: work.user)
            var runner = StepRunner(
                call: HandlerCall(section: "a", row: 0, model: .emptyObject), table: table, context: context)
            try runner.run([setState], on: &work.editor)
        }
    }

    @Test("A reset ends when the command's time is up")
    func reset() throws {
        try Self.work { work, table in try work.reset(to: table) }
    }

    @Test("A data source call for many rows or sections ends when the command's time is up")
    func dataSource() throws {
        try Self.work { work, _ in
            _ = try work.carryOut(.updateRows([(RowReference(section: 0, row: 0), .emptyObject)]), notify: true)
        }
        let same = try Played(Self.text).ids.map { SectionContent(id: $0, header: nil, footer: nil, rows: []) }
        try Self.work { work, _ in _ = try work.carryOut(.updateAllSections(same), notify: true) }
    }

    @Test(
        "Rendering the rows of one section ends when the command's time is up",
        arguments: ["a", "hidden", "derived", "counted"])
    func rows(section: SectionID) throws {
        let session = try Played(Self.text)
        var limits = TableLimits()
        limits.commandTime = .seconds(-1)
        let stored = try #require(session.table[section]), binding = try session.binder.requiredBinding(of: section)
        let evaluation = Evaluation(table: session.table, now: "", meter: CommandMeter(rows: 9, limits))
        let maker = RowMaker(
            binding: binding, section: section, count: stored.rows.count, room: 9, binder: session.binder,
            evaluation: evaluation)
        var touched = TouchedRows()
        #expect(throws: Refusal.self) {
            if case .selected(let selection) = binding.cells.source {
                _ = try maker.selectedRows(of: stored, selection, nil)
            } else {
                _ = try maker.rows(of: stored)
            }
        }
        guard section == "a" else { return }
        touched.replace(in: section, at: 0)
        #expect(throws: Refusal.self) {
            try maker.rows(of: stored, after: stored, shown: session.snapshot.sections[0].rows, touched: touched)
        }
    }

    @Test("Rebasing a row reference through many updates ends when the command's time is up")
    func history() throws {
        var session = try Played(Self.text), limits = TableLimits()
        limits.commandTime = .seconds(-1)
        let update = try session.perform(.setModels([("a", [])], merging: true)).update.json
        let refusal = #expect(throws: Refusal.self) {
            try RowHistory([(update, nil)], now: session.snapshot, limits: limits)
        }
        #expect(refusal?.code == .commandTimeout)
        // Following must notice, too: finds a limit long enough for `RowHistory.init`, then waits until it is over.
        var long: RowHistory?, limit = Duration.milliseconds(1)
        while long == nil {
            limit *= 2
            limits.commandTime = limit
            long = try? RowHistory([(update, nil)], now: session.snapshot, limits: limits)
        }
        let made = ContinuousClock.now
        while ContinuousClock.now - made <= limit {}
        for command in [
            Command.delete(.at(.displayed(1), row: 0)),
            .move(.id(RowID("3"), in: nil), to: .at(.displayed(1), row: 0)),
        ] {
            let refusal = #expect(throws: Refusal.self) { try long?.rebased(command) }
            #expect(refusal?.code == .commandTimeout)
        }
        limits.commandTime = .seconds(-1)
        let history = try RowHistory([], now: session.snapshot, limits: limits)
        let call = DataSourceCommand.updateRows([(RowReference(section: 0, row: 0), .emptyObject)])
        #expect(throws: Refusal.self) { try history.rebased(.dataSource(call, notify: true)) }
    }
}
