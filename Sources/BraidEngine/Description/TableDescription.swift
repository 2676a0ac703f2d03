/// A table description: the JSON document that describes a table, checked and compiled.
/// Source: the project's docs, "The table description".
public struct TableDescription: Sendable {
    public let name: String
    /// The document as it was given.
    public let text: JSONText
    public let binder: Binder
    /// The session's initial state.
    public let state: JSONText
    /// The initial stored models, in declared order, or in order of first appearance.
    public let initialModels: [(section: SectionID, models: [JSONText], pointer: JSONPointer)]
    /// What is allowed, but surely not meant: names that nothing gives, members that say nothing. Each with its pointer.
    public let warnings: [Refusal.Fault]

    /// Throws `descriptionInvalid` with the document's faults, of many the first hundred, each with its pointer.
    public init(_ text: JSONText) throws(Refusal) {
        var reader = DescriptionReader(text)
        let compiled = DescriptionCompiler.compile(&reader)
        guard let compiled, reader.faults.isEmpty else {
            let count = reader.faultCount
            throw Refusal(.descriptionInvalid, "The table description has \(count == 1 ? "a fault" : "\(count) faults").", faults: reader.faults)
        }
        name = compiled.name
        self.text = text
        binder = compiled.binder
        state = compiled.state
        initialModels = compiled.models
        warnings = reader.warnings
        let faults = modelFaults
        if !faults.isEmpty { throw Refusal(.descriptionInvalid, "The models of the table description are not as they should be.", faults: faults) }
    }

    /// Why the description's own models could not open a session.
    private var modelFaults: [Refusal.Fault] {
        var faults: [Refusal.Fault] = []
        for (section, models, pointer) in initialModels {
            var seen: Set<RowID> = []
            for (index, model) in models.enumerated() where faults.count < DescriptionReader.faultLimit {
                do throws(Refusal) {
                    let id = try binder.requiredBinding(of: section).modelType.identify(model)
                    if let id, !seen.insert(id).inserted {
                        faults.append(.init(pointer: pointer.appending(index), detail: "the section has a model with the id \"\(id)\" already"))
                    }
                } catch {
                    faults += error.faults.isEmpty ? [.init(pointer: pointer.appending(index), detail: error.detail)] : error.placed(at: pointer.appending(index)).faults
                }
            }
        }
        return faults
    }

    /// Names of tables, and of sessions: `[A-Za-z0-9._-]{1,64}`, but for `.` and `..`, which no URL can name (RFC 3986, 5.2.4).
    public static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name != "." && name != ".." && name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
    }

    public static let nameRule = "1 to 64 of the characters A-Z, a-z, 0-9, \".\", \"_\", \"-\", and is not \".\" or \"..\""

    /// The table of a new session: the description's models, with those given in their place, section by section.
    public func openingTable(models given: [(section: SectionID, models: [JSONText])] = [], state givenState: JSONText? = nil) throws(Refusal) -> TableModel {
        var editor = TableEditor(TableModel(state: state))
        for id in binder.declaredSections ?? [] { editor.ensureSection(id) }
        let replaced = Set(given.map(\.section))
        for (section, models, pointer) in initialModels where !replaced.contains(section) {
            try fill(section, models, pointer, &editor)
        }
        for (section, models) in given { try fill(section, models, JSONPointer.root.appending("models").appending(section.text), &editor) }
        if let givenState { editor.setState(JSONText(state.value().merging(patch: givenState.value()))) }
        return editor.table
    }

    /// The fault that no session can be opened with the description's own models and state. `nil` if one can be opened.
    public func openingFault(within limits: TableLimits = TableLimits(), now: String) -> Refusal.Fault? {
        var binder = binder
        binder.limits = limits
        do {
            _ = try binder.snapshot(of: openingTable(), revision: 0, now: now)
            return nil
        } catch {
            guard let refusal = error as? Refusal else { return nil }
            return .init(pointer: .root, detail: "no session can be opened with the description's own models and state: \(refusal.detail)")
        }
    }

    private func fill(_ section: SectionID, _ models: [JSONText], _ pointer: JSONPointer, _ editor: inout TableEditor) throws(Refusal) {
        if binder.declaredSections == nil { editor.ensureSection(section) }
        guard editor.table.position(of: section) != nil else { throw .noSection(section) }
        try editor.setModels(try binder.identified(models, in: section, at: pointer), in: section)
    }
}
