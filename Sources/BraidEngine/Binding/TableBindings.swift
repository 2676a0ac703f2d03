/// Gathers what binding chains bind, in the order in which they are written, and makes a `Binder` of it.
///
/// The one way to bind a table: a program writes chains, and a table description is compiled by writing the same ones.
final class TableBindings<Section: TableSection> {
    /// The declared sections; nil when sections are dynamic and come with the models.
    let declared: [SectionID]?
    /// The program's sections by their ids.
    let sections: SectionNames<Section>
    /// Swift models, by the numbers that stand for them in the table.
    let values = Values()
    var providers: [any ModelProvider] = []
    /// Sequences that were bound. Each calls the closure whenever it has given something.
    var sources: [@Sendable (_ arrived: @Sendable () -> Void) async throws -> Void] = []
    /// Refreshes the program's binder, unless a command is under way.
    var refresh: () -> Void = {}
    /// Mistakes of a program, for `finish()` to throw, or, of those that are made after it, for any command.
    var mistakes: [String] = []
    var isFinished = false
    var bindings: [Binding] = []
    private var owners: [SectionID: Int] = [:]
    private(set) var ownerOfOthers: Int?
    /// Found out once: `sections(of:)` all others, and what was found not to be a `mismatch(of:in:)`.
    private var others: [SectionID]?
    private var agreed: Set<Assumption> = []

    private struct Assumption: Hashable {
        var scope: Scope
        var type: UTF8Key
    }

    /// `sections`: the declared ones, in order; nil: dynamic.
    init(sections: [Section]?) {
        declared = sections?.map(\.sectionID)
        self.sections = SectionNames(areDeclared: sections != nil)
        for section in sections ?? [] { mistake { () throws(Refusal) in try self.sections.add(section) } }
    }

    // MARK: Starting chains

    /// For the single section of an unsectioned table.
    func onTable() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.table) }

    func onSection(_ section: Section) -> BindingChain<Section, any ReuseIdentifiable, Never> { onSections([section]) }

    func onSections(_ sections: Section...) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        onSections(sections)
    }

    func onSections(_ sections: [Section]) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        if sections.isEmpty { mistakes.append("A chain is about no section: `onSections` was given none.") }
        for section in sections { mistake { () throws(Refusal) in try self.sections.add(section) } }
        return on(.sections(sections.map(\.sectionID)))
    }

    /// For every section whose cells are not bound by name: those that `onSection` and `onSections` leave.
    func onAllOtherSections() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.allOtherSections) }

    /// The same scope as `onAllOtherSections()`, for tables that bind no section by name.
    func onAllSections() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.allOtherSections) }

    /// For any section, bound by name or not: a fallback for dimensions, and handlers called in addition. It binds no
    /// cells, titles, editing or moving.
    func onAnySection() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.anySection) }

    func on(_ scope: Scope) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        noteBinding()
        bindings.append(Binding(scope: scope))
        return BindingChain(bindings: self, index: bindings.count - 1)
    }

    /// What is bound once the binder is made would do nothing.
    func noteBinding() {
        if isFinished, mistakes.isEmpty {
            mistakes.append("Something was bound after `finish()`: bind all chains before it.")
        }
    }

    func mistake(_ attempt: () throws(Refusal) -> Void) {
        do throws(Refusal) { try attempt() } catch { mistakes.append(error.detail) }
    }

    // MARK: Whose cells are whose

    /// A section's cells are bound once. Returns what is bound already, with the binding that did so; a nil section
    /// stands for all other sections.
    func claimCells(_ index: Int) -> [(section: SectionID?, owner: Binding)] {
        let scope = bindings[index].scope
        others = nil
        switch scope {
        case .anySection: return []
        case .allOtherSections:
            defer { ownerOfOthers = ownerOfOthers ?? index }
            return ownerOfOthers.map { [(nil, bindings[$0])] } ?? []
        case .table, .sections:
            var conflicts: [(section: SectionID?, owner: Binding)] = []
            for id in scope.named(in: declared) {
                if let owner = owners[id] { conflicts.append((id, bindings[owner])) } else { owners[id] = index }
            }
            return conflicts
        }
    }

    /// The binding that binds the section's cells by name.
    func owner(of section: SectionID) -> Binding? { owners[section].map { bindings[$0] } }

    /// Those of the sections whose cells nothing binds.
    func unbound(among sections: [SectionID]) -> [SectionID] {
        ownerOfOthers == nil ? sections.filter { owners[$0] == nil } : []
    }

    /// The declared sections that a binding is about.
    func sections(of binding: Binding) -> [SectionID] {
        switch binding.scope {
        case .sections, .table: binding.scope.named(in: declared)
        case .anySection: declared ?? []
        case .allOtherSections: otherSections()
        }
    }

    private func otherSections() -> [SectionID] {
        let sections = others ?? (declared ?? []).filter { owners[$0] == nil }
        others = sections
        return sections
    }

    /// A section whose models are of another type than the binding assumes.
    func mismatch(of binding: Binding, in binder: Binder) -> (section: SectionID, bound: ModelType)? {
        guard let assumed = binding.assumedType, !agreed.contains(Assumption(scope: binding.scope, type: assumed))
        else { return nil }
        for id in sections(of: binding) {
            if let bound = binder.binding(of: id), bound.modelType.name != assumed { return (id, bound.modelType) }
        }
        agreed.insert(Assumption(scope: binding.scope, type: assumed))
        return nil
    }

    func binder(
        display: @autoclosure @escaping @Sendable () -> SectionDisplay, empty: JSONText? = nil,
        cells: CellDeclarations = .ofProgram
    ) -> Binder {
        Binder(
            sections: declared, display: display(), empty: empty, cells: cells, bindings: bindings, providers: providers
        )
    }
}

extension Scope {
    /// The sections that are bound by name.
    func named(in declared: [SectionID]?) -> [SectionID] {
        switch self {
        case .table: declared ?? []
        case .sections(let ids): ids
        case .allOtherSections, .anySection: []
        }
    }
}

/// A program's sections by their ids: what its closures are given.
final class SectionNames<Section: TableSection> {
    private var byID: [SectionID: Section] = [:]
    private let areDeclared: Bool

    init(areDeclared: Bool) { self.areDeclared = areDeclared }

    /// Of dynamic sections the newest is the one that is meant by its id. Throws for declared ones that share an id.
    func add(_ section: Section) throws(Refusal) {
        let known = byID.updateValue(section, forKey: section.sectionID)
        guard !areDeclared || known == nil || known == section else {
            throw Refusal(.descriptionInvalid, "Two sections have the id \"\(section.sectionID)\".")
        }
    }

    func section(_ id: SectionID) throws(Refusal) -> Section {
        guard let section = byID[id] else { throw .noSection(id, among: byID.keys.sorted()) }
        return section
    }
}
