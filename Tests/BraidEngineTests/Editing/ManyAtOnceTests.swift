import TestSupport
import Testing
@testable import BraidEngine

/// Many rows, sections, faults or bindings, and the limits of such work.
@Suite struct ManyAtOnceTests {
    /// The first rows are found section by section, later ones by an index: names 200 rows in 40 sections 100 times
    /// each.
    @Test(
        "A row is found by its id, however many rows a command names",
        arguments: [#""models":{}"#, #""models":{},"shown":"true""#])
    func rowsByID(rows: String) throws {
        var table = try HandlerTests.Table(
            """
            {"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C",\(rows),
             "prefetch":{"cellsFromEnd":9},"onPrefetch":[{"setState":{"at":{"$eval":"row"}}}]}]}
            """)
        let models = try (0..<40).map { section in
            (
                SectionID("s\(section)"),
                try (0..<5).map { try JSONText(parsing: #"{"id":"\#(section)-\#($0)"}"#) } + [
                    try JSONText(parsing: #"{"id":"all"}"#)
                ]
            )
        }
        _ = try table.perform(.setModels(models, merging: false))
        let all = (0..<20_000).map { RowReference.id(RowID("\($0 % 40)-\($0 / 40 % 5)"), in: nil) }
        for references in [[], all] {
            let last = RowReference.id(RowID("39-4"), in: nil)
            #expect(try table.perform(.displayedRows(references + [last])).kind != .ignored(reason: ""))
            #expect(throws: Refusal.self) {
                try table.perform(.displayedRows(references + [.id(RowID("all"), in: nil)]))
            }
            #expect(throws: Refusal.self) {
                try table.perform(.displayedRows(references + [.id(RowID("none"), in: nil)]))
            }
            #expect(throws: Refusal.self) {
                try table.perform(.displayedRows(references + [.id(RowID("1-1"), in: .id("s2"))]))
            }
            _ = try table.perform(.displayedRows(references + [.id(RowID("all"), in: .id("s7"))]))
        }
    }

    /// In one pass.
    @Test("A merge patch can remove many members at once")
    func manyRemovedMembers() throws {
        var random = SeededGenerator(seed: 7)
        for count in [1, 5, 40] {
            let names = (0..<count).map { "k\($0)" }
            var target = JSONObject(), patch = JSONObject(), expected = JSONObject()
            for name in names {
                target[name] = .string(name)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: patch[name] = .null
                case 1:
                    patch[name] = .bool(true)
                    expected[name] = .bool(true)
                default: expected[name] = .string(name)
                }
            }
            patch["new"] = .bool(false)
            expected["new"] = .bool(false)
            let result = JSONValue.object(target).merging(patch: .object(patch))
            #expect(JSONText(result) == JSONText(.object(expected)))
            for name in names { #expect(result.objectValue?[name] == expected[name]) }
        }
    }

    /// 8,000 faults below a name of 40,000 characters would make an answer of 321 MB.
    @Test("Of many faults, a refusal lists only the first hundred")
    func manyFaults() throws {
        let members = (0..<300).map { #""u\#($0)":1"# }.joined(separator: ",")
        let text = try JSONText(parsing: #"{"table":"t","cells":{"C":{\#(members)}},"bindings":[]}"#)
        let refusal = #expect(throws: Refusal.self) { try TableDescription(text) }
        #expect(refusal?.faults.count == 100)
        #expect(refusal?.detail.contains("300 faults") == true, "\(refusal?.detail ?? "")")
    }

    /// Adding the rows again may cost as many steps as the opening, even if the table was empty in between.
    @Test("The number of template steps that a command may use grows with the rows that it adds")
    func stepsPerRow() throws {
        let models = (0..<200).map { #"{"id":\#($0)}"# }.joined(separator: ","),
            title = Array(repeating: "row", count: 50).joined(separator: "+")
        let description = try TableDescription(
            JSONText(
                parsing:
                    #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)],"viewModel":{"$eval":"\#(title)"}}]}"#
            ))
        var binder = description.binder
        binder.limits.templateSteps = 1_000
        binder.limits.renderedBytes = 1_000
        var session = try Played(binder: binder, table: description.openingTable())
        let opening = session.table, before = session.snapshot.brief
        try session.perform(.setModels([("table", [])], merging: false))
        try session.perform(.reset(to: opening))
        #expect(session.snapshot.brief == before)
    }

    @Test(
        "What a description repeats in many rows or sections counts towards the limit of rendered bytes",
        arguments: ["stored", "counted", "derived", "header", "movesTo"])
    func repeatedBytesAreCharged(what: String) throws {
        let text = String(repeating: "x", count: 20_000), constant = #""viewModel":{"t":"\#(text)"}"#
        let models = (0..<100).map { #"{"id":\#($0)}"# }.joined(separator: ",")
        let ids = (0..<200).map { "\"\($0)\(String(repeating: "x", count: 60))\"" }.joined(separator: ",")
        let (sections, binding) =
            switch what {
            case "stored": ("", #""models":[\#(models)],\#(constant)"#)
            case "counted": ("", #""numberOfCells":"100",\#(constant)"#)
            case "derived":
                ("", #""modelsFrom":{"$map":{"$eval":"range(0,100)"},"each(n)":{"id":"${n}"}},\#(constant)"#)
            case "header": (#""sections":[\#(ids)],"#, #""on":"allOtherSections","header":"\#(text)""#)
            default: (#""sections":[\#(ids)],"#, #""on":"allOtherSections","moving":{"to":[\#(ids)]}"#)
            }
        let described = try TableDescription(
            JSONText(parsing: #"{"table":"t",\#(sections)"cells":{"C":{}},"bindings":[{"cell":"C",\#(binding)}]}"#))
        var binder = described.binder
        let table = try described.openingTable()
        let snapshot = try binder.snapshot(of: table, revision: 0, now: "")
        #expect(snapshot.isLarger(than: 1_500_000) && snapshot.encoded().count > 1_500_000)
        binder.limits.renderedBytes = 1_000_000
        let refusal = #expect(throws: Refusal.self) { try binder.snapshot(of: table, revision: 0, now: "") }
        #expect(refusal?.code == .templateFailed)
    }

    /// Lowered after the opening.
    @Test("A table over its limits may shrink but not grow")
    func tableOverLimits() throws {
        func check(
            _ description: String, _ limit: (inout TableLimits) -> Void, shrinking: [Command], growing: Command,
            _ code: Refusal.Code
        ) throws {
            let described = try TableDescription(JSONText(parsing: description))
            var binder = described.binder
            let table = try described.openingTable(), shown = try binder.snapshot(of: table, revision: 0, now: "")
            limit(&binder.limits)
            for command in shrinking {
                #expect(
                    try binder.applying(command, to: table, shown: shown, unpublished: nil, now: "").kind == .applied)
            }
            #expect { try binder.applying(growing, to: table, shown: shown, unpublished: nil, now: "") } throws: {
                ($0 as? Refusal)?.code == code
            }
        }
        for source in [
            #""modelsFrom":{"$map":{"$eval":"range(0, state.n)"},"each(i)":{"id":"${i}"}}"#,
            #""numberOfCells":"state.n""#,
        ] {
            try check(
                #"{"table":"t","cells":{"C":{}},"state":{"n":6},"bindings":[{"cell":"C",\#(source)}]}"#,
                { $0.rows = 3 },
                shrinking: [.setState(#"{"n":5}"#, merging: true), .setState(#"{"other":1}"#, merging: true)],
                growing: .setState(#"{"n":7}"#, merging: true),
                .tooManyRows)
        }
        try check(
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[],"b":[],"c":[]}}]}"#,
            { $0.sections = 1 },
            shrinking: [
                .dataSource(.removeSection(at: .displayed(0)), notify: true), .setState(#"{"other":1}"#, merging: true),
            ],
            growing: .dataSource(.addSection(SectionContent(), at: nil), notify: true), .tooManySections)
    }

    /// Each use reads all digits.
    @Test("Each use of a long number in a template costs steps for its digits")
    func longNumbers() throws {
        let digits = "1." + String(repeating: "3", count: 20_000)
        let context = try JSONValue(parsing: #"{"x":\#(digits)}"#)
        let uses = Array(repeating: #"{"$eval":"x < 1"}"#, count: 1_000).joined(separator: ",")
        let template = try JSONValue(parsing: "[\(uses)]")
        #expect(throws: JSONeError.self) { try rendered(template, context) }
    }

    /// Their positions have changed.
    @Test("A table finds each section by its id after other sections were inserted before it")
    func insertedSections() throws {
        var table = TableModel()
        for number in 0..<200 {
            _ = table.insertSection(SectionID("s\(number)"), at: number % 3 == 0 ? 0 : table.sections.count / 2)
        }
        for (position, section) in table.sections.enumerated() { #expect(table.position(of: section.id) == position) }
        #expect(table.sections.map(\.summary.ordinal) == table.sections.map(\.summary.ordinal).sorted())
    }

    /// Bindings that name no section are merged by scope.
    @Test("Bindings that the engine has merged have the same effect as the separate ones")
    func mergedBindings() {
        var random = SeededGenerator(seed: 11)
        func maybe<Value>(_ value: Value) -> Value? { Int.random(in: 0..<4, using: &random) == 0 ? value : nil }
        let ids = (0..<4).map { SectionID("s\($0)") }
        for round in 0..<500 {
            let bindings = (0..<Int.random(in: 1..<9, using: &random)).map { number in
                let name = JSONText.string("\(round) \(number)")
                let scope = [Scope.allOtherSections, .anySection, .sections([ids[0]]), .sections([ids[1], ids[2]])]
                    .randomElement(using: &random)!
                var binding = ScopeBinding(scope: scope)
                if scope != .anySection {
                    binding.cells = maybe(CellRules(cell: Computed(constant: name)))
                    binding.header = maybe(Computed(constant: name))
                    for id in ids { binding.headers[id] = maybe(Computed(constant: name)) }
                    binding.footer = maybe(Computed(constant: name))
                    binding.headerView = maybe(Computed(constant: name))
                    binding.footerView = maybe(Computed(constant: name))
                }
                if scope != .anySection, Bool.random(using: &random) {
                    (binding.moving, binding.movable) = (.anySection, maybe(Computed(constant: name)))
                }
                binding.cellHeight = maybe(Computed(constant: name))
                binding.onTap = maybe(Handler { _, _, _ in throw Refusal(.rejected, "tap \(number)") })
                binding.onEvent =
                    maybe([
                        UTF8Key("C"): [UTF8Key("a"): Handler { _, _, _ in throw Refusal(.rejected, "event \(number)") }]
                    ]) ?? [:]
                return binding
            }
            let unnamed = FallbackBindings(of: bindings)
            for id in ids {
                let named = bindings.filter { $0.scope.named(in: ids).contains(id) }
                let isBound = named.contains { $0.cells != nil }
                let own =
                    named.reversed() + (isBound ? [] : bindings.filter { $0.scope == .allOtherSections }.reversed())
                let any = bindings.filter { $0.scope == .anySection }
                let all = own + any.reversed()
                let section = SectionBinding(section: id, named: named, fallbacks: unnamed)
                #expect((section != nil) == all.contains { $0.cells != nil })
                guard let bound = section else { continue }
                #expect(bound.cells.cell.constant == all.lazy.compactMap(\.cells).first?.cell.constant)
                let other = isBound ? [] : bindings.filter { $0.scope == .allOtherSections }.reversed()
                let headers = [named.reversed(), other].flatMap { equals in
                    equals.compactMap(\.headerView) + equals.compactMap { $0.headers[id] ?? $0.header }
                }
                let footers = [named.reversed(), other].flatMap { equals in
                    equals.compactMap(\.footerView) + equals.compactMap { $0.footers[id] ?? $0.footer }
                }
                #expect(
                    bound.header?.constant == headers.first?.constant
                        && bound.footer?.constant == footers.first?.constant)
                let mover = all.first { $0.moving != nil }
                #expect((bound.moving != nil) == (mover != nil) && bound.movable?.constant == mover?.movable?.constant)
                #expect(bound.cellHeight?.constant == all.lazy.compactMap(\.cellHeight).first?.constant)
                let taps = [own.lazy.compactMap(\.onTap).first].compactMap { $0 } + any.compactMap(\.onTap)
                #expect(bound.onTap.map(said) == taps.map(said))
                #expect(
                    bound.handler(of: "a", from: "C").map(said)
                        == all.lazy.compactMap { $0.onEvent[UTF8Key("C")]?[UTF8Key("a")] }.first.map(said))
            }
        }
    }

    /// The message with which it refuses, which tells handlers apart.
    private func said(_ handler: Handler) -> String? {
        var editor = TableEditor(TableModel())
        let binder = Binder(
            sections: [], display: SectionDisplay(), empty: nil, cells: .undeclared, bindings: [], providers: [])
        var context = HandlerContext(
            binder: binder, now: "", meter: CommandMeter(rows: 0, TableLimits()), ids: .random, user: .null)
        let call = HandlerCall(section: SectionID(""), row: 0, model: .null)
        return (#expect(throws: Refusal.self) { try handler.run(call, &editor, &context) })?.detail
    }
}
