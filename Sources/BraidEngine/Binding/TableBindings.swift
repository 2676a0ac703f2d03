/// Collects what a table's binding chains bind, in the order in which the chains are written, and makes a `Binder` from
/// it.
///
/// A program's chains and a compiled table description both use `TableBindings`, so that a table is bound in one way
/// only.
final class TableBindings<Section: TableSection> {
    /// The ids of the declared sections. `nil` if sections are dynamic and come with the models.
    let declared: [SectionID]?
    /// The Swift program's section values, by their section ids.
    let sections: SectionNames<Section>
    /// The program's Swift models, by the numbers that represent them in the table.
    let values = Values()
    var providers: [any ModelProvider] = []
    /// Closures that read the asynchronous sequences that a program bound. Each closure reads one sequence, and calls
    /// `arrived` after every element.
    var sources: [@Sendable (_ arrived: @Sendable () -> Void) async throws -> Void] = []
    /// Makes the program's binder read its models and rules again. Does nothing while a command is running.
    var refresh: () -> Void = {}
    /// Messages about the program's mistakes in binding the table. `finish()` throws the mistakes made before
    /// `finish()` was called. A mistake made later makes every later command throw.
    var mistakes: [String] = []
    var isFinished = false
    var bindings: [Binding] = []
    private var owners: [SectionID: Int] = [:]
    private(set) var ownerOfOthers: Int?
    /// The cached ids of the declared sections whose cells no binding binds by the section's id. `nil` if the ids must
    /// be computed again.
    private var others: [SectionID]?
    private var agreed: Set<Assumption> = []

    private struct Assumption: Hashable {
        var scope: Scope
        var type: UTF8Key
    }

    /// Creates an empty collection of bindings.
    ///
    /// - Parameter sections: the declared sections, in order. `nil` makes sections dynamic.
    init(sections: [Section]?) {
        declared = sections?.map(\.sectionID)
        self.sections = SectionNames(areDeclared: sections != nil)
        for section in sections ?? [] { mistake { () throws(Refusal) in try self.sections.add(section) } }
    }

    // MARK: Starting chains

    /// Starts a chain for the single section of an unsectioned table.
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

    /// Starts a chain for every section whose cells no chain of `onSection` or `onSections` binds.
    func onAllOtherSections() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.allOtherSections) }

    /// Starts a chain with the same scope as `onAllOtherSections()`, for tables whose chains name no section.
    func onAllSections() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.allOtherSections) }

    /// Starts a chain for every section, including sections that other chains name.
    ///
    /// Heights of such a chain apply to sections that have no own heights. Tap handlers and cell-filling functions of
    /// such a chain run in addition to the section's handlers and functions. The chain's delete, insert and prefetch
    /// handlers run only if no more specific chain binds the same handler for the section. The chain's handler of a
    /// cell event runs only if no more specific chain binds a handler for the same event of the same cell. A chain for
    /// any section binds no cells, titles, editing or moving.
    func onAnySection() -> BindingChain<Section, any ReuseIdentifiable, Never> { on(.anySection) }

    func on(_ scope: Scope) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        noteBinding()
        bindings.append(Binding(scope: scope))
        return BindingChain(bindings: self, index: bindings.count - 1)
    }

    /// Records a mistake if the binder is already made: a later binding would have no effect.
    func noteBinding() {
        if isFinished, mistakes.isEmpty {
            mistakes.append("Something was bound after `finish()`: bind all chains before it.")
        }
    }

    func mistake(_ attempt: () throws(Refusal) -> Void) {
        do throws(Refusal) { try attempt() } catch { mistakes.append(error.detail) }
    }

    // MARK: Whose cells are whose

    /// Records that a binding binds the cells of its sections. Two bindings that name the same section must not both
    /// bind its cells. Two bindings of the scope `allOtherSections` must not both bind cells.
    ///
    /// - Parameter index: the binding's index in `bindings`.
    /// - Returns: the sections whose cells another binding already binds, with that binding. A `nil` section means the
    ///   sections that no binding names.
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

    /// Returns the binding that names the section and binds its cells, or `nil` if there is no such binding.
    func owner(of section: SectionID) -> Binding? { owners[section].map { bindings[$0] } }

    /// Returns those of the given sections whose cells no binding binds.
    func unbound(among sections: [SectionID]) -> [SectionID] {
        ownerOfOthers == nil ? sections.filter { owners[$0] == nil } : []
    }

    /// Returns the ids of the sections to which a binding applies: the sections that its scope names, or the declared
    /// sections that its scope includes.
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

    /// Returns a section whose models are of another type than the binding assumes, or `nil` if there is no such
    /// section.
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
        cells: CellDeclarations = .undeclared
    ) -> Binder {
        Binder(
            sections: declared, display: display(), empty: empty, cells: cells, bindings: bindings, providers: providers
        )
    }
}

extension Scope {
    /// Returns the ids of the sections that the scope names. The scopes `allOtherSections` and `anySection` name no
    /// section.
    func named(in declared: [SectionID]?) -> [SectionID] {
        switch self {
        case .table: declared ?? []
        case .sections(let ids): ids
        case .allOtherSections, .anySection: []
        }
    }
}

/// Maps section ids to a program's section values. The engine uses ids, and the program's closures receive the values.
final class SectionNames<Section: TableSection> {
    private var byID: [SectionID: Section] = [:]
    private let areDeclared: Bool

    init(areDeclared: Bool) { self.areDeclared = areDeclared }

    /// Records a section under its id.
    ///
    /// Of two dynamic sections with the same id, the newer section wins. Throws if two different declared sections
    /// share an id.
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
