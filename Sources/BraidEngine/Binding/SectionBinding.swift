/// Everything that is bound to one section, after precedence is resolved.
///
/// Bindings that name the section win over bindings of the scope `allOtherSections`. Bindings of the scope
/// `allOtherSections` win over bindings of the scope `anySection`. If two bindings are equally specific, the later
/// binding wins. There are exceptions for views of headers and footers, tap handlers and functions that fill cells.
///
/// `SectionBinding` is a class, because rendering a snapshot can look up the binding of every section. A copy of a
/// struct would retain each of the many members.
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
    /// The tap handlers and cell-filling functions of the scope `anySection`, which all sections share.
    private let anyOnTap: [Handler], anyOnDequeue: [CellFiller]
    private let onEvent: [[UTF8Key: [UTF8Key: Handler]]]
    let onPrefetch: Handler?
    /// The largest distance from the section's end, in rows, at which a displayed row runs `onPrefetch`.
    let prefetchDistance: Int?
    let updatesManually: Bool
    /// The values that the expressions of the section's rows read.
    let rowReads: Reads
    /// The values that the expressions of the section's header, footer and their heights read.
    let titleReads: Reads

    /// Resolves the bindings that name the section, in the order of their declaration, and the bindings that name no
    /// section.
    ///
    /// - Returns: `nil` if no binding binds the section's cells.
    init?(section: SectionID, named: [ScopeBinding], fallbacks: FallbackBindings) {
        // The scope `allOtherSections` contains the sections whose cells no binding binds by the section's id.
        let other = named.contains { $0.cells != nil } ? nil : fallbacks.other
        // Order the bindings by precedence, the winning binding first.
        let ownByPrecedence = named.reversed() + [other].compactMap { $0 }
        let byPrecedence = ownByPrecedence + [fallbacks.any].compactMap { $0 }
        guard let bound = byPrecedence.first(where: { $0.cells != nil }), let cells = bound.cells else { return nil }

        func first<Value>(_ part: (ScopeBinding) -> Value?) -> Value? {
            for binding in byPrecedence { if let value = part(binding) { return value } }
            return nil
        }
        // A header or footer view wins over the titles of equally specific bindings.
        func title(_ view: (ScopeBinding) -> Computed<SectionInput>?, else title: (ScopeBinding) -> Computed<SectionInput>?)
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
        anyOnTap = fallbacks.onTap
        ownOnDequeue = ownByPrecedence.lazy.compactMap(\.onDequeue).first
        anyOnDequeue = fallbacks.onDequeue
        onEvent = byPrecedence.map(\.onEvent)
        onPrefetch = first(\.onPrefetch)
        prefetchDistance = first(\.prefetchDistance)
        updatesManually = first(\.updatesManually) ?? false
        rowReads = [cells.cell, cells.viewModel, cellHeight, estimatedCellHeight, editing, movable]
            .reduce(into: cells.source.reads) { $0.formUnion($1?.reads ?? []) }
        titleReads = [header, footer, headerHeight, estimatedHeaderHeight, footerHeight, estimatedFooterHeight]
            .reduce(into: Reads()) { $0.formUnion($1?.reads ?? []) }
    }

    /// The section's own tap handler, if the section has one, and the tap handlers of the scope `anySection`. A tap on
    /// a row calls all handlers in this list.
    var onTap: [Handler] { [ownOnTap].compactMap { $0 } + anyOnTap }

    /// The section's own function that fills cells, if the section has one, and the functions of the scope
    /// `anySection`. Filling a cell calls all functions in this list.
    var onDequeue: [CellFiller] { [ownOnDequeue].compactMap { $0 } + anyOnDequeue }

    /// Whether the section's rows may be moved: its rows are stored models, and a move policy is bound.
    var allowsMoving: Bool { moving != nil && cells.source.isStored }

    /// Returns whether rows of a model type may be moved into this section.
    ///
    /// A section of stored rows accepts rows of the model type that is bound to the section. The section also accepts
    /// rows of other types if a program's `onInsert` creates the models itself. A section of derived rows accepts no
    /// rows.
    func takes(rowsOf type: UTF8Key?) -> Bool {
        cells.source.isStored && (modelType.name == type || cells.isProvided && onInsert?.takesModel == false)
    }

    /// The condition that decides to which sections this section's rows may move. `nil` if the move policy has no such
    /// condition. With a condition, the `movesTo` of this section can depend on other sections' facts.
    private var movePolicy: PassingPolicy? {
        if allowsMoving, case .passing(let policy)? = moving?.targets { policy } else { nil }
    }

    var asksMovePolicy: Bool { movePolicy != nil }

    var moveReads: Reads { movePolicy?.reads ?? [] }

    /// Returns the handler of a cell's event from the most specific binding that has a handler for the event.
    func handler(of event: String, from cell: String) -> Handler? {
        for handlers in onEvent { if let handler = handlers[UTF8Key(cell)]?[UTF8Key(event)] { return handler } }
        return nil
    }

    /// Returns whether every row of the section has an id, so that updates can compare the section's rows by id.
    ///
    /// - Complexity: O(1).
    func isDiffable(_ stored: StoredSection) -> Bool {
        if case .counted = cells.source { return false }
        if modelType.isIDOptional, cells.source.isStored { return stored.isWhollyIdentified }
        return modelType.id != nil
    }
}

/// The bindings of the scopes `allOtherSections` and `anySection`, merged once instead of once for each section. A
/// table can have thousands of such bindings and thousands of sections.
struct FallbackBindings {
    /// The merged bindings of the scope `allOtherSections`. If two bindings of this scope bind the same part, the later
    /// binding wins.
    let other: ScopeBinding?
    /// The merged bindings of the scope `anySection`. If two bindings of this scope bind the same part, the later
    /// binding wins.
    let any: ScopeBinding?
    /// The tap handlers of the scope `anySection`, in the order of binding. A tap on a row calls all handlers in this
    /// list.
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
