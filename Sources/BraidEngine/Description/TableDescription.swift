/// Which commands participants may take back.
public enum UndoPolicy: String, CaseIterable, Sendable {
    /// Their own.
    case own
    /// Everybody's.
    case any
}

/// A checked and compiled description of a table: docs/table-description.md. A class, so that sessions share it.
///
/// ```swift
/// let description = try TableDescription(JSONText(parsing: text))
/// let table = try description.openingTable()
/// let snapshot = try description.binder.snapshot(of: table, revision: 0, now: now)
/// ```
public final class TableDescription: Sendable {
    /// The table's name in the document.
    public let name: String
    /// Exactly as given.
    public let text: JSONText
    /// What it was compiled to.
    public let binder: Binder
    /// A new session's, a JSON object.
    public let state: JSONText
    /// A new session's, in declared order or that of the document. `pointer` leads to them.
    public let initialModels: [(section: SectionID, models: [JSONText], pointer: JSONPointer)]
    /// What participants may take back. `nil`: nothing.
    public let undo: UndoPolicy?
    /// Allowed, but probably mistakes. Each access reads the whole document.
    public var warnings: [Refusal.Fault] {
        var compiler = DescriptionCompiler(text, warns: true)
        _ = compiler.compile()
        return compiler.reader.warnings
    }

    /// Throws `descriptionInvalid` with the first faults, about a hundred at most.
    public convenience init(_ text: JSONText) throws(Refusal) {
        try self.init(text, checksIDs: true)
    }

    /// Accepts any ids of sections and models, as an earlier version may have stored them. Throws `descriptionInvalid`.
    public convenience init(stored text: JSONText) throws(Refusal) {
        try self.init(text, checksIDs: false)
    }

    private init(_ text: JSONText, checksIDs: Bool) throws(Refusal) {
        var compiler = DescriptionCompiler(text, warns: false)
        let compiled = compiler.compile(), reader = compiler.reader
        guard let compiled, reader.faults.isEmpty else {
            let count = reader.faultCount
            throw Refusal(
                .descriptionInvalid, "The table description has \(count == 1 ? "a fault" : "\(count) faults").",
                faults: reader.faults)
        }
        name = compiled.name
        self.text = text
        binder = compiled.binder
        state = compiled.state
        initialModels = compiled.models
        undo = compiled.undo
        let idFaults = checksIDs ? sectionIDFaults : []
        if !idFaults.isEmpty {
            throw Refusal(
                .descriptionInvalid, "The table description has sections with ids that no request can name.",
                faults: idFaults)
        }
        let faults = modelFaults(checksIDs: checksIDs)
        if !faults.isEmpty {
            throw Refusal(
                .descriptionInvalid,
                "The models in the table description have \(faults.count == 1 ? "a fault" : "\(faults.count) faults").",
                faults: faults)
        }
    }

    /// Faulty ids of declared sections, or of dynamic ones with models.
    private var sectionIDFaults: [Refusal.Fault] {
        var budget = FaultBudget()
        let sections =
            binder.declaredSections?.enumerated().map { ($1, JSONPointer.root.appending("sections").appending($0)) }
            ?? initialModels.map { ($0.section, $0.pointer) }
        return sections.filter { !IDRule.admits($0.0.text) }.prefix(DescriptionReader.faultLimit)
            .prefix { budget.admit($0.1) }
            .map { .init(pointer: $0.1, code: .invalidValue, detail: "a section's id has \(IDRule.text)") }
    }

    /// What keeps a session from opening.
    private func modelFaults(checksIDs: Bool) -> [Refusal.Fault] {
        var faults: [Refusal.Fault] = [], budget = FaultBudget()
        func add(_ found: [Refusal.Fault]) { faults += found.prefix { budget.admit($0.pointer) } }
        for (section, models, pointer) in initialModels {
            var seen: Set<RowID> = []
            for (index, model) in models.enumerated()
            where faults.count < DescriptionReader.faultLimit && !budget.isExhausted {
                do throws(Refusal) {
                    let id = try binder.requiredBinding(of: section).modelType.identify(model)
                    if checksIDs, let id, !IDRule.admits(id.text) {
                        let refusal = Refusal.idInvalid(id, in: section)
                        add([.init(pointer: pointer.appending(index), code: .invalidValue, detail: refusal.detail)])
                    } else if let id, !seen.insert(id).inserted {
                        add([
                            .init(
                                pointer: pointer.appending(index), code: .duplicate,
                                detail: "the section has a model with the id \"\(id)\" already")
                        ])
                    }
                } catch {
                    add(
                        error.faults.isEmpty
                            ? [.init(pointer: pointer.appending(index), code: .unknownName, detail: error.detail)]
                            : error.placed(at: pointer.appending(index)).faults)
                }
            }
        }
        return faults
    }

    /// Whether it may name a table or session: `[A-Za-z0-9._-]{1,64}`, but not `.` or `..`, which clients remove from
    /// paths (RFC 3986, section 5.2.4).
    public static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// ``isName(_:)`` as part of a sentence.
    public static let nameRule =
        "1 to 64 of the characters A-Z, a-z, 0-9, \".\", \"_\", \"-\", and is not \".\" or \"..\""

    /// A new session's table. `given` models replace the description's; `givenState` is a merge patch (RFC 7396); of
    /// `displayed`, `nil` takes the description's choice and missing ones are left out. Throws ``Refusal``. O(models).
    public func openingTable(
        models given: [(section: SectionID, models: [JSONText])] = [], state givenState: JSONText? = nil,
        displayed: [SectionID]? = nil, within limits: TableLimits = TableLimits()
    ) throws(Refusal) -> TableModel {
        var editor = TableEditor(TableModel(state: state), checksIDs: limits.checksIDs)
        for id in binder.declaredSections ?? [] { try editor.ensureSection(id) }
        let replaced = Set(given.map(\.section))
        for (section, models, pointer) in initialModels where !replaced.contains(section) {
            try fill(section, models, pointer, &editor)
        }
        for (section, models) in given {
            try fill(section, models, JSONPointer.root.appending("models").appending(section.text), &editor)
        }
        editor.setDisplayedSections(displayed?.filter { editor.table.position(of: $0) != nil })
        if let givenState { editor.setState(JSONText(state.value().merging(patch: givenState.value()))) }
        return editor.table
    }

    /// Models that fit; of several with one id, the first. For the reset of a session that was bound to another
    /// version.
    public func fitting(_ given: [(section: SectionID, models: [JSONText])]) -> [(
        section: SectionID, models: [JSONText]
    )] {
        let declared = binder.declaredSections.map { Set($0) }
        return given.filter { declared?.contains($0.section) ?? (binder.binding(of: $0.section) != nil) }
            .map { ($0.section, binder.fitting($0.models, in: $0.section).models.map(\.model)) }
    }

    /// Why no session could be opened with the description's own models and state; `nil` if one could. Templates read
    /// `now`.
    public func openingFault(within limits: TableLimits = TableLimits(), now: String) -> Refusal.Fault? {
        var binder = binder
        binder.limits = limits
        do {
            _ = try binder.snapshot(of: openingTable(within: limits), revision: 0, now: now)
            return nil
        } catch {
            guard let refusal = error as? Refusal else { return nil }
            return .init(
                pointer: .root, code: refusal.code == .templateFailed ? .templateFailed : .refused,
                detail:
                    "no session can be opened with the description's own models and state: \(refusal.detailWithPlace)")
        }
    }

    private func fill(_ section: SectionID, _ models: [JSONText], _ pointer: JSONPointer, _ editor: inout TableEditor)
        throws(Refusal)
    {
        if binder.declaredSections == nil { try editor.ensureSection(section) }
        guard editor.table.position(of: section) != nil else {
            throw .noSection(section, among: editor.table.sections.lazy.map(\.id))
        }
        try editor.setModels(try binder.identified(models, in: section, at: pointer), in: section)
    }
}
