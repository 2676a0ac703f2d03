/// The bindings of one table, in the order in which a description or a program's chains give them, and who binds whose
/// cells. Makes the `Binder`.
class TableBindings {
    /// The ids of the declared sections. `nil` if sections are dynamic and come with the models.
    let declared: [SectionID]?
    var bindings: [ScopeBinding] = []
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

    init(declared: [SectionID]?) { self.declared = declared }

    /// Records that a binding binds the cells of its sections. Two bindings that name the same section must not both
    /// bind its cells. Two bindings of the scope `allOtherSections` must not both bind cells.
    ///
    /// - Parameter index: the binding's index in `bindings`.
    /// - Returns: the sections whose cells another binding already binds, with that binding. A `nil` section means the
    ///   sections that no binding names.
    func claimCells(_ index: Int) -> [(section: SectionID?, owner: ScopeBinding)] {
        let scope = bindings[index].scope
        others = nil
        switch scope {
        case .anySection: return []
        case .allOtherSections:
            defer { ownerOfOthers = ownerOfOthers ?? index }
            return ownerOfOthers.map { [(nil, bindings[$0])] } ?? []
        case .table, .sections:
            var conflicts: [(section: SectionID?, owner: ScopeBinding)] = []
            for id in scope.named(in: declared) {
                if let owner = owners[id] { conflicts.append((id, bindings[owner])) } else { owners[id] = index }
            }
            return conflicts
        }
    }

    /// Returns the binding that names the section and binds its cells, or `nil` if there is no such binding.
    func owner(of section: SectionID) -> ScopeBinding? { owners[section].map { bindings[$0] } }

    /// Returns those of the given sections whose cells no binding binds.
    func unbound(among sections: [SectionID]) -> [SectionID] {
        ownerOfOthers == nil ? sections.filter { owners[$0] == nil } : []
    }

    /// Returns the ids of the sections to which a binding applies: the sections that its scope names, or the declared
    /// sections that its scope includes.
    func sections(of binding: ScopeBinding) -> [SectionID] {
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
    func mismatch(of binding: ScopeBinding, in binder: Binder) -> (section: SectionID, bound: ModelType)? {
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
        cells: CellDeclarations = .undeclared, providers: [any ModelProvider] = []
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
