/// Collects a table's bindings, and notes which of them binds each section's cells.
class TableBindings {
    /// `nil` if sections come with the models.
    let declared: [SectionID]?
    var bindings: [ScopeBinding] = []
    /// By section, the index of the binding of its cells.
    private var owners: [SectionID: Int] = [:]
    private(set) var ownerOfOthers: Int?
    /// Declared sections whose cells no binding binds by id; `nil` until computed.
    private var others: [SectionID]?
    private var agreed: Set<Assumption> = []

    private struct Assumption: Hashable {
        var scope: Scope
        var type: UTF8Key
    }

    init(declared: [SectionID]?) { self.declared = declared }

    /// Notes that the binding at this index binds its scope's cells. Returns the sections that another binding binds
    /// already; `nil` stands for all that no binding names.
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

    func owner(of section: SectionID) -> ScopeBinding? { owners[section].map { bindings[$0] } }

    func unbound(among sections: [SectionID]) -> [SectionID] {
        ownerOfOthers == nil ? sections.filter { owners[$0] == nil } : []
    }

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

    /// A section whose model type is not the one that the binding assumes.
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
        cells: CellDeclarations = .undeclared, providers: [any ModelProvider] = [],
        viewers: ViewerParts = ViewerParts()
    ) -> Binder {
        Binder(
            sections: declared, display: display(), empty: empty, cells: cells, bindings: bindings,
            providers: providers, viewers: viewers)
    }
}

extension Scope {
    /// Empty for `allOtherSections` and `anySection`.
    func named(in declared: [SectionID]?) -> [SectionID] {
        switch self {
        case .table: declared ?? []
        case .sections(let ids): ids
        case .allOtherSections, .anySection: []
        }
    }
}
