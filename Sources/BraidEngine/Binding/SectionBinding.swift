/// All that is bound to one section. Bindings that name it win over `allOtherSections`, which wins over `anySection`;
/// of equals the later wins. Header and footer views, tap handlers and cell fillers have rules of their own.
///
/// A class: rendering looks up every section's, and copying a struct would retain each of its many members.
final class SectionBinding: Sendable {
    let section: SectionID
    let cells: CellRules
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
    private let anyOnTap: [Handler], anyOnDequeue: [CellFiller]
    private let onEvent: [[UTF8Key: [UTF8Key: Handler]]]
    let onPrefetch: Handler?
    /// In rows from the section's end.
    let prefetchDistance: Int?
    let updatesManually: Bool
    /// Parsed once: parsing them for each row takes a tenth of a rendering. `nil` if computed.
    let constantCell: String?, constantEditing: EditingStyle?
    let rowReads: Reads
    /// What the row itself reads: all but its source.
    let renderingReads: Reads
    /// Of the cell's name and the view model.
    let cellReads: Reads
    let titleReads: Reads
    /// A stored row's rendering depends only on its id and model, and shows both. Not a program's: closures may read
    /// anything. Not without a view model: JSON then takes only 12 bytes a row more in memory, and a third of the time
    /// to send.
    let rendersAlone: Bool

    /// `named` in the order of declaration. `nil` if nothing binds the cells.
    init?(section: SectionID, named: [ScopeBinding], fallbacks: FallbackBindings) {
        let other = named.contains { $0.cells != nil } ? nil : fallbacks.other
        // The strongest first.
        let ownByPrecedence = named.reversed() + [other].compactMap { $0 }
        let byPrecedence = ownByPrecedence + [fallbacks.any].compactMap { $0 }
        guard let bound = byPrecedence.first(where: { $0.cells != nil }), let cells = bound.cells else { return nil }

        func first<Value>(_ part: (ScopeBinding) -> Value?) -> Value? {
            for binding in byPrecedence { if let value = part(binding) { return value } }
            return nil
        }
        // A view wins over the titles of equally specific bindings.
        func title(
            _ view: (ScopeBinding) -> Computed<SectionInput>?, else title: (ScopeBinding) -> Computed<SectionInput>?
        ) -> Computed<SectionInput>? {
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
        anyOnTap = fallbacks.onTap
        ownOnDequeue = ownByPrecedence.lazy.compactMap(\.onDequeue).first
        anyOnDequeue = fallbacks.onDequeue
        onEvent = byPrecedence.map(\.onEvent)
        onPrefetch = first(\.onPrefetch)
        prefetchDistance = first(\.prefetchDistance)
        updatesManually = first(\.updatesManually) ?? false
        constantCell = cells.cell.constant?.stringValue
        constantEditing = editing?.constant?.stringValue.flatMap { EditingStyle(rawValue: $0) }
        let rendering = [cells.cell, cells.viewModel, cellHeight, estimatedCellHeight, editing, movable]
            .reduce(into: Reads()) { $0.formUnion($1?.reads ?? []) }
        rowReads = cells.source.reads.union(rendering)
        renderingReads = rendering
        cellReads = cells.cell.reads.union(cells.viewModel?.reads ?? [])
        rendersAlone =
            cells.source.isStored && cells.viewModel != nil && cells.showsModel && cells.instance == nil
            && !cells.isProvided && rendering.isSubset(of: .model)
        titleReads = [header, footer, headerHeight, estimatedHeaderHeight, footerHeight, estimatedFooterHeight]
            .reduce(into: Reads()) { $0.formUnion($1?.reads ?? []) }
    }

    /// All run, the section's own first.
    var onTap: [Handler] { [ownOnTap].compactMap { $0 } + anyOnTap }
    var onDequeue: [CellFiller] { [ownOnDequeue].compactMap { $0 } + anyOnDequeue }

    var allowsMoving: Bool { moving != nil && cells.source.isStored }

    /// Of another type, too, if a program's `onInsert` makes the models itself.
    func takes(rowsOf type: UTF8Key?) -> Bool {
        cells.source.isStored && (modelType.name == type || cells.isProvided && onInsert?.takesModel == false)
    }

    /// With one, `movesTo` can depend on other sections.
    private var movePolicy: PassingPolicy? {
        if allowsMoving, case .passing(let policy)? = moving?.targets { policy } else { nil }
    }

    var asksMovePolicy: Bool { movePolicy != nil }

    var moveReads: Reads { movePolicy?.reads ?? [] }

    func handler(of event: String, from cell: String) -> Handler? {
        for handlers in onEvent { if let handler = handlers[UTF8Key(cell)]?[UTF8Key(event)] { return handler } }
        return nil
    }

    /// Every row has an id, so updates compare by id. O(1).
    func isDiffable(_ stored: StoredSection) -> Bool {
        if case .counted = cells.source { return false }
        if modelType.isIDOptional, cells.source.isStored { return stored.isWhollyIdentified }
        return modelType.id != nil
    }
}

/// The bindings whose scopes name no section, merged once: there can be thousands of bindings and of sections.
struct FallbackBindings {
    let other: ScopeBinding?
    let any: ScopeBinding?
    /// Those of `anySection` all run, in order.
    let onTap: [Handler]
    let onDequeue: [CellFiller]

    init(of bindings: [ScopeBinding]) {
        func folded(_ bindings: [ScopeBinding]) -> ScopeBinding? {
            guard var folded = bindings.last else { return nil }
            for weaker in bindings.dropLast().reversed() { folded.complete(from: weaker) }
            return folded
        }
        let any = bindings.filter { $0.scope == .anySection }
        other = folded(bindings.filter { $0.scope == .allOtherSections })
        self.any = folded(any)
        onTap = any.compactMap(\.onTap)
        onDequeue = any.compactMap(\.onDequeue)
    }
}
