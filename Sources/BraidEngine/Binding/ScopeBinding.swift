/// The sections to which a binding applies.
enum Scope: Sendable, Hashable {
    /// The only section of a table that declares one section.
    case table
    case sections([SectionID])
    /// Every section whose cells no binding binds by the section's id.
    case allOtherSections
    /// Every section, including sections that other bindings name.
    ///
    /// A height of this scope applies to the sections that have no own height. Tap handlers and cell-filling functions
    /// of this scope run in addition to the section's handlers and functions. Another handler of this scope runs only
    /// if the section has no handler of the same kind.
    case anySection
}

/// What a client may do to a row by editing, as in `UITableViewCell.EditingStyle`.
public enum EditingStyle: String, Sendable {
    /// `none` allows no editing, `delete` allows a delete of the row, and `insert` allows an insert before the row.
    case none, delete, insert
}

/// A model type: its name, the place of the id in its models, and the schema of its models.
struct ModelType: Sendable {
    /// The model type's name. `nil` if the binding names no model type.
    var name: UTF8Key?
    /// The JSON pointer to the id in a model, such as `/id`. `nil` if models of this type have no id.
    var id: JSONPointer?
    /// Whether a model with no usable id at the pointer `id` is accepted, as a row without identity. If false, such a
    /// model is refused.
    var isIDOptional = false
    /// The schema that the models must match. `nil` if there is no schema.
    var schema: JTDSchema?

    init(name: String? = nil, id: JSONPointer?, schema: JTDSchema? = nil) {
        self.name = name.map { UTF8Key($0) }
        self.id = id
        self.schema = schema
    }

    var nameForMessages: String { name.map { "\"\($0.string)\"" } ?? "of no name" }

    /// Checks a model of this type and returns its identity: a string, or an integer converted to a string.
    ///
    /// - Returns: the identity. `nil` if models of this type have no id, or if the id is optional and this model has no
    ///   usable id.
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
    /// The schema for the parameters of all events that the cell does not declare by name. `nil` if such events are
    /// refused.
    var otherEvents: JTDSchema?
    var viewModel: JTDSchema?
}

/// The declarations of the cells that a table may use, by the cell's name.
struct CellDeclarations: Sendable {
    var named: [UTF8Key: CellDeclaration] = [:]
    /// The declaration of every cell name that is not in `named`. `nil` if such names are refused.
    var others: CellDeclaration?

    subscript(name: String) -> CellDeclaration? { named[UTF8Key(name)] ?? others }

    /// The cell declarations of a table that declares no cells: every cell is accepted, with every event. A Swift
    /// program needs no declarations, because its cells are types that the compiler checks.
    static let undeclared = CellDeclarations(others: CellDeclaration(otherEvents: .any))
}

/// The rule that decides which sections rows may move to. Source: Braid's `allowMoving`.
struct MovePolicy: Sendable {
    enum Targets: Sendable {
        case anySection
        case sections([SectionID])
        case passing(PassingPolicy)
    }

    let targets: Targets

    /// Rows may move to every displayed section that accepts models of the row's model type.
    static let anySection = MovePolicy(targets: .anySection)
    /// Rows may move to those of the listed sections that are displayed and accept the rows' model type. The list must
    /// contain the row's own section if rows may move inside it.
    static func sections(_ ids: [SectionID]) -> MovePolicy { MovePolicy(targets: .sections(ids)) }
    /// Rows may move to the displayed sections that accept the rows' model type and for which the closure returns true.
    /// Rendering a snapshot runs the closure at most once for each displayed section and model type.
    static func passing(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool)
        -> MovePolicy
    {
        MovePolicy(targets: .passing(PassingPolicy(reads: reads, passes)))
    }
}

/// The closure of a move policy that decides for each section whether rows may move to it. Sections that share the
/// policy share one `PassingPolicy` object, so each snapshot computes the policy's target sections at most once for
/// each model type.
final class PassingPolicy: Sendable {
    /// The values that the policy's closure reads.
    let reads: Reads
    let passes: @Sendable (SectionInput, Evaluation) throws -> Bool

    init(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool) {
        self.reads = reads
        self.passes = passes
    }
}

/// The reason why a row is inserted or deleted: an edit of this row, or a move to or from another place.
enum HandlerReason: Sendable {
    case editing
    case movedTo(section: SectionID, row: Int)
    case movedFrom(section: SectionID, row: Int)
}

/// The arguments of a row's handler.
struct HandlerCall {
    var section: SectionID
    /// The row's index, from 0. For a stored row: its index among all stored rows of the section, hidden rows included.
    /// For a derived row: its index among the displayed rows.
    var row: Int
    var model: JSONText
    /// The number of rows of a derived section. `nil` for stored rows, whose number is read from the table when needed.
    var derivedCount: Int?
    /// The reason for the insert or delete, in a call of `onInsert` or `onDelete`. `nil` for other handlers.
    var reason: HandlerReason?
    /// The cell event's parameters, in a call of `onEvent`. `nil` for other handlers.
    var event: JSONText?
    /// The row's key: its number in the session, which never changes. `nil` if the row is not in the table.
    var key: Int?
    var id: RowID?
}

/// The reaction to an event of a row: the actions of a table description, or the closure of a Swift program.
struct Handler: Sendable {
    /// Whether the handler receives the row's model. If true, the model must be of the type that the handler expects.
    var takesModel = true
    let run: @Sendable (HandlerCall, inout TableEditor, inout HandlerContext) throws -> Void
}

/// What a row's handler may use in addition to the table: the binder, and the command's time, meter and ids.
struct HandlerContext: Sendable {
    let binder: Binder
    let now: String
    let meter: CommandMeter
    let ids: IDSource
    /// The events that the handler has emitted, in order.
    var emitted: [EmittedEvent] = []
}

/// Where the rows of a section come from.
enum RowSource: Sendable {
    /// The section has one row for each of its stored models.
    case stored
    /// The section shows a row for each of its stored models for which the binding's expression `shown` is true.
    case shown(Computed<RowInput>)
    /// The section has one row for each model that the template `modelsFrom` makes for the section. The template
    /// renders an array of models, or an object from section ids to such arrays.
    case derived(Computed<SectionInput>)
    /// The section has rows without models. The value `numberOfCells` is the number of rows, as a JSON integer.
    case counted(Computed<SectionInput>)

    var reads: Reads {
        switch self {
        case .stored: []
        case .shown(let shown): shown.reads
        case .derived(let models): models.reads
        case .counted(let count): count.reads
        }
    }

    /// Whether the section's rows come from stored models, which can be edited and moved.
    var isStored: Bool {
        switch self {
        case .stored, .shown: true
        case .derived, .counted: false
        }
    }
}

/// Where a section's rows come from, which cell shows a row, and what the cell contains.
struct CellRules: Sendable {
    var source = RowSource.stored
    /// Computes the name of a row's cell, as a JSON string.
    var cell: Computed<RowInput>
    /// Computes a row's view model. `nil` if no view model is computed.
    var viewModel: Computed<RowInput>?
    /// Whether a displayed row contains its model. False for view-model bindings, whose stored models are the view
    /// models.
    var showsModel = true
    /// Whether the program keeps the models. If the program keeps the models, its handlers insert and remove models,
    /// and each command reads the models again.
    var isProvided = false
    /// Creates the Swift cell object of a row. `nil` for tables from a JSON description, where clients create the
    /// cells.
    var instance: CellMaker?

    init(cell: Computed<RowInput>) { self.cell = cell }
}

typealias CellMaker = @Sendable (RowInput) throws -> any ReuseIdentifiable
typealias CellFiller = @Sendable (RowInput, inout any ReuseIdentifiable) throws -> Void

/// What one item of a description's `bindings`, or one binding chain of a Swift program, binds to its scope.
///
/// Several bindings can apply to the same section: `SectionBinding` resolves which one wins.
struct ScopeBinding: Sendable {
    let scope: Scope
    /// The JSON pointer to the binding in its description, for error messages.
    var pointer: JSONPointer = .root
    var cells: CellRules?
    var modelType: ModelType?
    /// The name of the model type that this binding's handlers expect, if another binding binds the section's models.
    var assumedType: UTF8Key?
    var onDequeue: CellFiller?
    var headers: [SectionID: Computed<SectionInput>] = [:]
    var footers: [SectionID: Computed<SectionInput>] = [:]
    /// The header of the sections in the scope for which `headers` has no entry. `footer` and `footers` work in the
    /// same way.
    var header: Computed<SectionInput>?
    var footer: Computed<SectionInput>?
    /// A view that replaces the header's title, bound by a Swift program. The view wins over a title of an equally
    /// specific binding. Source: Braid's rule.
    var headerView: Computed<SectionInput>?
    var footerView: Computed<SectionInput>?
    var cellHeight: Computed<RowInput>?
    var estimatedCellHeight: Computed<RowInput>?
    var headerHeight: Computed<SectionInput>?
    var estimatedHeaderHeight: Computed<SectionInput>?
    var footerHeight: Computed<SectionInput>?
    var estimatedFooterHeight: Computed<SectionInput>?
    /// Computes a row's editing style: the JSON string `"none"`, `"delete"` or `"insert"`.
    var editing: Computed<RowInput>?
    var insertTemplate: (@Sendable (SectionID, Evaluation) throws -> JSONText?)?
    var moving: MovePolicy?
    var movable: Computed<RowInput>?
    var onDelete: Handler?
    var onInsert: Handler?
    var onTap: Handler?
    /// The handlers of cell events, by the cell's name and then by the event's name.
    var onEvent: [UTF8Key: [UTF8Key: Handler]] = [:]
    var onPrefetch: Handler?
    var prefetchDistance: Int?
    var updatesManually: Bool?

    init(scope: Scope, pointer: JSONPointer = .root) {
        self.scope = scope
        self.pointer = pointer
    }

    /// Whether this binding has the scope `anySection` but binds cells, titles, editing or moving, which that scope
    /// must not bind.
    var bindsWhatAnySectionCannot: Bool {
        scope == .anySection
            && (cells != nil || bindsTitles || editing != nil || moving != nil)
    }

    private var bindsTitles: Bool {
        header != nil || footer != nil || !headers.isEmpty || !footers.isEmpty || headerView != nil || footerView != nil
    }

    /// Copies the parts that this binding lacks from a binding of the same scope with lower precedence.
    mutating func complete(from weaker: ScopeBinding) {
        if cells == nil { (cells, modelType) = (weaker.cells, weaker.modelType) }
        // A title for all sections of the scope wins over titles by section id in a binding with lower precedence.
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
        // One call on a chain binds `moving` and `movable` together, so both are copied together. A `movable` of `nil`
        // means that every row is movable, not that nothing was bound.
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
