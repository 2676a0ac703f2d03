/// Everything bound to one section, precedence resolved: named > all other sections > any section; of two equally
/// specific bindings the later one.
///
/// This is where every way to bind a table meets; whatever renders, edits or moves asks here and nowhere else.
/// A class, as it is looked up for every section of every snapshot and has many members to retain.
final class SectionBinding: Sendable {
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
    private let ownOnTap: Handler?, ownOnDequeue: CellFiller?
    /// Shared by all sections.
    private let anyOnTap: [Handler], anyOnDequeue: [CellFiller]
    private let onEvent: [[UTF8Key: [UTF8Key: Handler]]]
    let onPrefetch: Handler?
    /// How near to the section's end a displayed row makes `onPrefetch` run.
    let prefetchDistance: Int?
    let updatesManually: Bool
    /// What any part of a row depends on beside its model.
    let rowReads: Reads
    /// What the header, the footer and their heights depend on beside the section's id.
    let titleReads: Reads

    /// From the bindings that name the section, in the order of their declaration, and those that name none. Nil when
    /// no binding binds the section's cells.
    init?(section: SectionID, named: [Binding], unnamed: UnnamedBindings) {
        // "All other" sections are those whose cells no binding binds by name.
        let other = named.contains { $0.cells != nil } ? nil : unnamed.other
        // The one that wins first.
        let ownByPrecedence = named.reversed() + [other].compactMap { $0 }
        let byPrecedence = ownByPrecedence + [unnamed.any].compactMap { $0 }
        guard let bound = byPrecedence.first(where: { $0.cells != nil }), let cells = bound.cells else { return nil }

        func first<Value>(_ part: (Binding) -> Value?) -> Value? {
            for binding in byPrecedence { if let value = part(binding) { return value } }
            return nil
        }
        // A view stands before the titles of bindings as specific as its own.
        func title(_ view: (Binding) -> Computed<SectionInput>?, else title: (Binding) -> Computed<SectionInput>?)
            -> Computed<SectionInput>?
        {
            for equals in [named.reversed(), [other].compactMap { $0 }] {
                if let view = equals.lazy.compactMap(view).first ?? equals.lazy.compactMap(title).first { return view }
            }
            return nil
        }
        self.section = section
        self.cells = cells
        modelType = bound.modelType ?? ModelType(id: JSONPointer("/id"))
        header = title(\.headerView) { $0.headers[section] ?? $0.header }
        footer = title(\.footerView) { $0.footers[section] ?? $0.footer }
        cellHeight = first(\.cellHeight)
        estimatedCellHeight = first(\.estimatedCellHeight)
        headerHeight = first(\.headerHeight)
        estimatedHeaderHeight = first(\.estimatedHeaderHeight)
        footerHeight = first(\.footerHeight)
        estimatedFooterHeight = first(\.estimatedFooterHeight)
        editing = first(\.editing)
        insertTemplate = first(\.insertTemplate)
        let mover = byPrecedence.first { $0.moving != nil }
        moving = mover?.moving
        movable = mover?.movable
        onDelete = first(\.onDelete)
        onInsert = first(\.onInsert)
        ownOnTap = ownByPrecedence.lazy.compactMap(\.onTap).first
        anyOnTap = unnamed.onTap
        ownOnDequeue = ownByPrecedence.lazy.compactMap(\.onDequeue).first
        anyOnDequeue = unnamed.onDequeue
        onEvent = byPrecedence.map(\.onEvent)
        onPrefetch = first(\.onPrefetch)
        prefetchDistance = first(\.prefetchDistance)
        updatesManually = first(\.updatesManually) ?? false
        rowReads = [cells.cell, cells.viewModel, cellHeight, estimatedCellHeight, editing, movable]
            .reduce(into: cells.source.reads) { $0.formUnion($1?.reads ?? []) }
        titleReads = [header, footer, headerHeight, estimatedHeaderHeight, footerHeight, estimatedFooterHeight]
            .reduce(into: Reads()) { $0.formUnion($1?.reads ?? []) }
    }

    /// The section's own, and those of any section: all of them are called.
    var onTap: [Handler] { [ownOnTap].compactMap { $0 } + anyOnTap }

    /// The section's own, and those of any section: all of them are called.
    var onDequeue: [CellFiller] { [ownOnDequeue].compactMap { $0 } + anyOnDequeue }

    /// Whether the section's rows may be moved at all.
    var allowsMoving: Bool { moving != nil && cells.source.isStored }

    /// Whether rows of a model type may be moved here: those of the section's own type, and all others where a
    /// program's `onInsert` makes the models itself.
    func takes(rowsOf type: UTF8Key?) -> Bool {
        cells.source.isStored && (modelType.name == type || cells.isProvided && onInsert?.takesModel == false)
    }

    /// Asked for where rows may move to: what the section shows can follow from other sections' facts then.
    private var movePolicy: PassingPolicy? {
        if allowsMoving, case .passing(let policy)? = moving?.targets { policy } else { nil }
    }

    var asksMovePolicy: Bool { movePolicy != nil }

    var moveReads: Reads { movePolicy?.reads ?? [] }

    /// The handler of a cell's event, that of the more specific binding.
    func handler(of event: String, from cell: String) -> Handler? {
        for handlers in onEvent { if let handler = handlers[UTF8Key(cell)]?[UTF8Key(event)] { return handler } }
        return nil
    }

    /// Whether every row has an id. O(1).
    func isDiffable(_ stored: StoredSection) -> Bool {
        if case .counted = cells.source { return false }
        if modelType.isIDOptional, cells.source.isStored { return stored.isWhollyIdentified }
        return modelType.id != nil
    }
}
