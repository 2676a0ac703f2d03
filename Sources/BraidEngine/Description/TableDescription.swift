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
    public let initialModels: [(section: SectionID, models: [JSONText])]

    /// Throws `descriptionInvalid` with every fault of the document, each with its pointer.
    public init(_ text: JSONText) throws(Refusal) {
        var reader = DescriptionReader(text)
        let compiled = DescriptionCompiler.compile(&reader)
        guard let compiled, reader.faults.isEmpty else {
            let count = reader.faults.count
            throw Refusal(.descriptionInvalid, "The table description has \(count == 1 ? "a fault" : "\(count) faults").", faults: reader.faults)
        }
        name = compiled.name
        self.text = text
        binder = compiled.binder
        state = compiled.state
        initialModels = compiled.models
    }

    /// Names of tables, and of sessions: `[A-Za-z0-9._-]{1,64}`.
    public static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
    }

    /// The table of a new session: the description's models, with those given in their place, section by section.
    public func openingTable(models given: [(section: SectionID, models: [JSONText])] = [], state givenState: JSONText? = nil) throws(Refusal) -> TableModel {
        var editor = TableEditor(TableModel(state: state))
        for id in binder.declaredSections ?? [] { editor.ensureSection(id) }
        let replaced = Set(given.map(\.section))
        for (section, models) in initialModels where !replaced.contains(section) {
            try fill(section, models, "description", &editor)
        }
        for (section, models) in given { try fill(section, models, "models", &editor) }
        if let givenState { editor.setState(JSONText(state.value().merging(patch: givenState.value()))) }
        return editor.table
    }

    private func fill(_ section: SectionID, _ models: [JSONText], _ source: String, _ editor: inout TableEditor) throws(Refusal) {
        if binder.declaredSections == nil { editor.ensureSection(section) }
        guard editor.table.position(of: section) != nil else { throw .noSection(section) }
        let type = try binder.requiredBinding(of: section).modelType
        var identified: [(id: RowID?, model: JSONText)] = []
        identified.reserveCapacity(models.count)
        for (index, model) in models.enumerated() {
            do throws(Refusal) {
                identified.append((try type.identify(model), model.detached))
            } catch {
                throw error.placed(at: JSONPointer.root.appending(source).appending(section.text).appending(index))
            }
        }
        try editor.setModels(identified, in: section)
    }
}
