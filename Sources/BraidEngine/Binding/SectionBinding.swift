/// Everything bound to one section, precedence resolved: named > all other sections > any section; of two equally
/// specific bindings the later one.
///
/// This is where every way to bind a table meets; whatever renders, edits or moves asks here and nowhere else.
struct SectionBinding: Sendable {
    let section: SectionID
    let cells: CellBinding
    let modelType: ModelType
    let header: Computed<SectionInput>?
    let footer: Computed<SectionInput>?
    let cellHeight: Computed<RowInput>?
    let estimatedCellHeight: Computed<RowInput>?
    let headerHeight: Computed<SectionInput>?
    let estimatedHeaderHeight: Computed<SectionInput>?
    let footerHeight: Computed<SectionInput>?
    let estimatedFooterHeight: Computed<SectionInput>?
    let editing: Computed<RowInput>?
    let insertTemplate: (@Sendable (SectionID, Evaluation) throws -> JSONText?)?
    let moving: MovePolicy?
    let movable: Computed<RowInput>?
    let onDelete: Handler?
    let onInsert: Handler?
    let updatesManually: Bool
    /// What any part of a row depends on beside its model.
    let rowReads: Reads
    /// What the header, the footer and their heights depend on beside the section's id.
    let titleReads: Reads

    /// Nil when no binding binds the section's cells.
    init?(section: SectionID, bindings: [Binding]) {
        let byPrecedence = Self.applicable(bindings, to: section)
        guard let bound = byPrecedence.first(where: { $0.cells != nil }), let cells = bound.cells else { return nil }

        func first<Value>(_ part: (Binding) -> Value?) -> Value? {
            for binding in byPrecedence { if let value = part(binding) { return value } }
            return nil
        }
        self.section = section
        self.cells = cells
        modelType = bound.modelType ?? ModelType(id: JSONPointer("/id"))
        header = first { $0.headers[section] ?? $0.header }
        footer = first { $0.footers[section] ?? $0.footer }
        cellHeight = first(\.cellHeight)
        estimatedCellHeight = first(\.estimatedCellHeight)
        headerHeight = first(\.headerHeight)
        estimatedHeaderHeight = first(\.estimatedHeaderHeight)
        footerHeight = first(\.footerHeight)
        estimatedFooterHeight = first(\.estimatedFooterHeight)
        editing = first(\.editing)
        insertTemplate = first(\.insertTemplate)
        moving = first(\.moving)
        movable = first(\.movable)
        onDelete = first(\.onDelete)
        onInsert = first(\.onInsert)
        updatesManually = first(\.updatesManually) ?? false
        rowReads = [cells.cell, cells.viewModel, cellHeight, estimatedCellHeight, editing, movable]
            .reduce(into: Reads()) { $0.formUnion($1?.reads ?? []) }
        titleReads = [header, footer, headerHeight, estimatedHeaderHeight, footerHeight, estimatedFooterHeight]
            .reduce(into: Reads()) { $0.formUnion($1?.reads ?? []) }
    }

    /// The bindings that are about the section, the one that wins first.
    private static func applicable(_ bindings: [Binding], to section: SectionID) -> [Binding] {
        var named: [Binding] = [], other: [Binding] = [], any: [Binding] = []
        // The later of two equally specific bindings wins, hence from the end.
        for binding in bindings.reversed() {
            switch binding.scope {
            case .table: named.append(binding)
            case .sections(let ids): if ids.contains(section) { named.append(binding) }
            case .allOtherSections: other.append(binding)
            case .anySection: any.append(binding)
            }
        }
        // "All other" sections are those whose cells no binding binds by name.
        return named + (named.contains { $0.cells != nil } ? [] : other) + any
    }

    /// Whether the section's rows may be moved at all.
    var allowsMoving: Bool { moving != nil }
}
