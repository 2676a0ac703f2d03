/// The sections to which a binding applies.
enum Scope: Sendable, Hashable {
    /// The single section of an unsectioned table.
    case table
    case sections([SectionID])
    /// Every section whose cells are not bound by name.
    case allOtherSections
    /// Any section. A chain in this scope is a fallback for dimensions, and its handlers are called in addition to
    /// others.
    case anySection
}

/// What a client may do to a row by editing, as in `UITableViewCell.EditingStyle`.
public enum EditingStyle: String, Sendable {
    /// No editing, a delete of the row, or an insert before the row.
    case none, delete, insert
}

/// A model type: the place of a model's identity, and the schema of its models.
struct ModelType: Sendable {
    /// The type's name. `nil` for the type of a binding that names none.
    var name: UTF8Key?
    /// The place of the id in a model. `nil` if models of this type are not identifiable.
    var id: JSONPointer?
    /// Whether a model without a usable id is accepted, as a row without identity. If false, such a model is refused.
    var isIDOptional = false
    /// The schema of the models. `nil` accepts any JSON value.
    var schema: JTDSchema?

    init(name: String? = nil, id: JSONPointer?, schema: JTDSchema? = nil) {
        self.name = name.map { UTF8Key($0) }
        self.id = id
        self.schema = schema
    }

    var nameForMessages: String { name.map { "\"\($0.string)\"" } ?? "of no name" }

    /// Checks a model of this type and returns its identity: a string, or an integer converted to a string.
    ///
    /// - Returns: the identity, or `nil` if the type has no identity.
    /// - Throws: ``Refusal`` with `modelInvalid`.
    func identify(_ model: JSONText) throws(Refusal) -> RowID? {
        if let schema {
            let mismatches = schema.mismatches(of: model.value())
            if !mismatches.isEmpty {
                throw Refusal(
                    .modelInvalid, "A model does not match the schema of the model type \"\(name?.string ?? "")\".",
                    faults: mismatches.map(\.fault))
            }
        }
        guard let id else { return nil }
        if isIDOptional { return model[id].flatMap { RowID(json: $0) } }
        let type = name.map { "of the type \"\($0)\" " } ?? ""
        guard let value = model[id] else {
            throw Refusal(
                .modelInvalid, "A model \(type)needs its id, a string or an integer, at \"\(id)\".",
                faults: [
                    .init(
                        pointer: id, code: .missingMember, detail: "the model's id, a string or an integer, is missing")
                ])
        }
        if let id = RowID(json: value) { return id }
        throw Refusal(
            .modelInvalid, "The id of a model \(type)at \"\(id)\" must be a string or an integer.",
            faults: [
                .init(
                    pointer: id, code: .rejecting(value.kind, accepting: .number),
                    detail: "must be a string or an integer")
            ])
    }
}

extension JTDSchema.Mismatch {
    var fault: Refusal.Fault { .init(pointer: instancePath, code: code, detail: detail) }
}

/// The declaration of a cell: the events that it can emit with the schemas of their parameters, and the schema of its
/// view model.
struct CellDeclaration: Sendable {
    var events: [UTF8Key: JTDSchema] = [:]
    /// The schema of the parameters of every undeclared event. `nil` if undeclared events are refused.
    var otherEvents: JTDSchema?
    var viewModel: JTDSchema?
}

/// The cells that a table knows, by name.
struct CellDeclarations: Sendable {
    var named: [UTF8Key: CellDeclaration] = [:]
    /// The declaration of every other cell name. `nil` if only named cells exist.
    var others: CellDeclaration?

    subscript(name: String) -> CellDeclaration? { named[UTF8Key(name)] ?? others }

    /// The declarations for a Swift program. The program's cells are types that the compiler checks, so every name is
    /// accepted.
    static let ofProgram = CellDeclarations(others: CellDeclaration(otherEvents: .any))
}

/// The rule that decides which sections rows may move to. Source: Braid's `allowMoving`.
struct MovePolicy: Sendable {
    enum Targets: Sendable {
        case anySection
        case sections([SectionID])
        case passing(PassingPolicy)
    }

    let targets: Targets

    /// Rows may move to every section that binds models of the same type.
    static let anySection = MovePolicy(targets: .anySection)
    /// Rows may move to the listed sections. The list must contain the row's own section if rows may move inside it.
    static func sections(_ ids: [SectionID]) -> MovePolicy { MovePolicy(targets: .sections(ids)) }
    /// Rows may move to the displayed sections for which the closure returns true. The closure runs once for each
    /// section and snapshot.
    static func passing(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool)
        -> MovePolicy
    {
        MovePolicy(targets: .passing(PassingPolicy(reads: reads, passes)))
    }
}

/// A move policy given as an expression. All sections that share the policy share one object, so that the policy's
/// targets are found once.
final class PassingPolicy: Sendable {
    /// What the policy reads in addition to the sections' own facts.
    let reads: Reads
    let passes: @Sendable (SectionInput, Evaluation) throws -> Bool

    init(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool) {
        self.reads = reads
        self.passes = passes
    }
}

/// The reason why a row is inserted or deleted.
enum HandlerReason: Sendable {
    case editing
    case movedTo(section: SectionID, row: Int)
    case movedFrom(section: SectionID, row: Int)
}

/// The arguments of a row's handler.
struct HandlerCall {
    var section: SectionID
    /// The row's index, from 0. For stored rows it counts the section's stored rows, for derived rows the displayed
    /// rows.
    var row: Int
    var model: JSONText
    /// The number of rows of a derived section. `nil` for stored rows, whose number is read from the table when needed.
    var derivedCount: Int?
    /// The reason, for `onDelete` and `onInsert`.
    var reason: HandlerReason?
    /// A cell event's parameters, for `onEvent`.
    var event: JSONText?
    /// The row's key while the row is in the table.
    var key: Int?
    var id: RowID?
}

/// The reaction to an event of a row: the steps of a description, or the closure of a program.
struct Handler: Sendable {
    /// Whether the handler needs the row's model, which must then be of the handler's type.
    var takesModel = true
    let run: @Sendable (HandlerCall, inout TableEditor, HandlerContext) throws -> Void
}

/// What handlers may use in addition to the table: the binder, the command's time and its meter.
struct HandlerContext: Sendable {
    let binder: Binder
    let now: String
    let meter: CommandMeter
}

/// The source of a section's rows.
enum RowSource: Sendable {
    /// One row for each stored model.
    case stored
    /// One row for each stored model for which the expression is true.
    case shown(Computed<RowInput>)
    /// One row for each model that a template makes from the state and the stored models. The template renders an
    /// array.
    case derived(Computed<SectionInput>)
    /// A number of rows without models. The template renders an integer.
    case counted(Computed<SectionInput>)

    var reads: Reads {
        switch self {
        case .stored: []
        case .shown(let shown): shown.reads
        case .derived(let models): models.reads
        case .counted(let count): count.reads
        }
    }

    /// Whether rows come from stored models, which can be edited and moved.
    var isStored: Bool {
        switch self {
        case .stored, .shown: true
        case .derived, .counted: false
        }
    }
}

/// The rule that chooses a row's cell and the cell's content.
struct CellBinding: Sendable {
    var source = RowSource.stored
    /// Renders the cell's name as a JSON string.
    var cell: Computed<RowInput>
    /// Renders the row's view model. `nil` if the row contains only its model.
    var viewModel: Computed<RowInput>?
    /// Whether rows show their model. False for view-model bindings, which store the view model itself.
    var showsModel = true
    /// Whether the program keeps the models. If the program keeps the models, its handlers insert and remove models,
    /// and the table reads the models again after each command.
    var isProvided = false
    /// Creates the cell object itself. `nil` for descriptions, where clients create the cells.
    var instance: CellMaker?

    init(cell: Computed<RowInput>) { self.cell = cell }
}

typealias CellMaker = @Sendable (RowInput) throws -> any ReuseIdentifiable
typealias CellFiller = @Sendable (RowInput, inout any ReuseIdentifiable) throws -> Void

/// Everything that a description or a program binds to one scope.
///
/// A chain fills one binding. Several bindings can apply to the same section: `SectionBinding` resolves which one wins.
struct Binding: Sendable {
    let scope: Scope
    /// The binding's position in its description, for messages.
    var pointer: JSONPointer = .root
    var cells: CellBinding?
    var modelType: ModelType?
    /// The name of the model type that a chain assumes when another chain binds the section's models.
    var assumedType: UTF8Key?
    var onDequeue: CellFiller?
    var headers: [SectionID: Computed<SectionInput>] = [:]
    var footers: [SectionID: Computed<SectionInput>] = [:]
    /// The header of all sections of the scope that have no entry in `headers`. `footer` is used in the same way.
    var header: Computed<SectionInput>?
    var footer: Computed<SectionInput>?
    /// A view in place of the header title, bound by a program. The view wins over a title that is equally specific.
    /// Source: Braid's rule.
    var headerView: Computed<SectionInput>?
    var footerView: Computed<SectionInput>?
    var cellHeight: Computed<RowInput>?
    var estimatedCellHeight: Computed<RowInput>?
    var headerHeight: Computed<SectionInput>?
    var estimatedHeaderHeight: Computed<SectionInput>?
    var footerHeight: Computed<SectionInput>?
    var estimatedFooterHeight: Computed<SectionInput>?
    /// Renders an `EditingStyle` as a JSON string.
    var editing: Computed<RowInput>?
    var insertTemplate: (@Sendable (SectionID, Evaluation) throws -> JSONText?)?
    var moving: MovePolicy?
    var movable: Computed<RowInput>?
    var onDelete: Handler?
    var onInsert: Handler?
    var onTap: Handler?
    /// The event handlers, by the cell's name and the event's name.
    var onEvent: [UTF8Key: [UTF8Key: Handler]] = [:]
    var onPrefetch: Handler?
    var prefetchDistance: Int?
    var updatesManually: Bool?

    init(scope: Scope) { self.scope = scope }

    /// Whether this binding of any section binds something that only bindings of certain sections may bind.
    var bindsWhatAnySectionCannot: Bool {
        scope == .anySection
            && (cells != nil || bindsTitles || editing != nil || moving != nil)
    }

    private var bindsTitles: Bool {
        header != nil || footer != nil || !headers.isEmpty || !footers.isEmpty || headerView != nil || footerView != nil
    }

    /// Copies the parts that this binding lacks from a less important binding of the same scope.
    mutating func complete(from weaker: Binding) {
        if cells == nil { (cells, modelType) = (weaker.cells, weaker.modelType) }
        // A title for all sections of the scope wins over titles by section id of a less important binding.
        if header == nil {
            headers.merge(weaker.headers) { own, _ in own }
            header = weaker.header
        }
        if footer == nil {
            footers.merge(weaker.footers) { own, _ in own }
            footer = weaker.footer
        }
        headerView = headerView ?? weaker.headerView
        footerView = footerView ?? weaker.footerView
        onDequeue = onDequeue ?? weaker.onDequeue
        cellHeight = cellHeight ?? weaker.cellHeight
        estimatedCellHeight = estimatedCellHeight ?? weaker.estimatedCellHeight
        headerHeight = headerHeight ?? weaker.headerHeight
        estimatedHeaderHeight = estimatedHeaderHeight ?? weaker.estimatedHeaderHeight
        footerHeight = footerHeight ?? weaker.footerHeight
        estimatedFooterHeight = estimatedFooterHeight ?? weaker.estimatedFooterHeight
        editing = editing ?? weaker.editing
        insertTemplate = insertTemplate ?? weaker.insertTemplate
        // One link of a chain binds `moving` and `movable` together. If `movable` is `nil`, every row is movable, so
        // `movable` alone says nothing.
        if moving == nil { (moving, movable) = (weaker.moving, weaker.movable) }
        onDelete = onDelete ?? weaker.onDelete
        onInsert = onInsert ?? weaker.onInsert
        onTap = onTap ?? weaker.onTap
        for (cell, handlers) in weaker.onEvent { onEvent[cell, default: [:]].merge(handlers) { own, _ in own } }
        onPrefetch = onPrefetch ?? weaker.onPrefetch
        prefetchDistance = prefetchDistance ?? weaker.prefetchDistance
        updatesManually = updatesManually ?? weaker.updatesManually
    }
}

/// The bindings that name no section, merged once instead of once for each section. A table can have thousands of such
/// bindings and thousands of sections.
struct UnnamedBindings {
    /// The merged bindings of the scope `allOtherSections`. If two bindings differ, the later binding wins.
    let other: Binding?
    /// The merged bindings of the scope `anySection`.
    let any: Binding?
    /// The tap handlers bound to any section, in the order of binding. A tap calls all of these handlers.
    let onTap: [Handler]
    let onDequeue: [CellFiller]

    init(of bindings: [Binding]) {
        func folded(_ bindings: [Binding]) -> Binding? {
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
