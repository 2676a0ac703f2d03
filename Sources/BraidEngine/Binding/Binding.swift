/// The sections that a binding is about.
enum Scope: Sendable, Hashable {
    /// The single section of an unsectioned table.
    case table
    case sections([SectionID])
    /// Every section whose cells are not bound by name.
    case allOtherSections
    /// Any section: a fallback for dimensions, and handlers called in addition.
    case anySection
}

/// What a client may do to a row by editing, as in `UITableViewCell.EditingStyle`.
public enum EditingStyle: String, Sendable {
    /// Nothing, a delete of the row, or an insert before it.
    case none, delete, insert
}

/// A model type: where a model's identity stands, and what its models look like.
struct ModelType: Sendable {
    /// Nil for the type of a binding that names none.
    var name: UTF8Key?
    /// Where the id stands in a model; nil: models of this type are not identifiable.
    var id: JSONPointer?
    /// A model with nothing there that could be an id has none, where it would be refused otherwise.
    var isIDOptional = false
    /// Nil: any JSON will do.
    var schema: JTDSchema?

    init(name: String? = nil, id: JSONPointer?, schema: JTDSchema? = nil) {
        self.name = name.map { UTF8Key($0) }
        self.id = id
        self.schema = schema
    }

    var nameForMessages: String { name.map { "\"\($0.string)\"" } ?? "of no name" }

    /// Checks a model of this type and gives its identity: a string, or an integer turned into a string. Nil for a
    /// type without identity. Throws `modelInvalid`.
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

/// What a cell declares: the events it can emit, with the form of their parameters, and the form of its view model.
struct CellDeclaration: Sendable {
    var events: [UTF8Key: JTDSchema] = [:]
    /// The form of the parameters of every other event; nil: there are no other events.
    var otherEvents: JTDSchema?
    var viewModel: JTDSchema?
}

/// The cells that a table knows, by name.
struct CellDeclarations: Sendable {
    var named: [UTF8Key: CellDeclaration] = [:]
    /// What every other name is known for; nil: there are no other cells.
    var others: CellDeclaration?

    subscript(name: String) -> CellDeclaration? { named[UTF8Key(name)] ?? others }

    /// A program's cells are types: the compiler knows what they can say, and every name will do.
    static let ofProgram = CellDeclarations(others: CellDeclaration(otherEvents: .any))
}

/// Which sections rows may move to (Braid's `allowMoving`).
struct MovePolicy: Sendable {
    enum Targets: Sendable {
        case anySection
        case sections([SectionID])
        case passing(PassingPolicy)
    }

    let targets: Targets

    /// Each section that binds models of the same type.
    static let anySection = MovePolicy(targets: .anySection)
    /// A list must name the row's own section too if rows may move inside it.
    static func sections(_ ids: [SectionID]) -> MovePolicy { MovePolicy(targets: .sections(ids)) }
    /// The displayed sections that the closure passes; it is asked once for each section and snapshot.
    static func passing(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool)
        -> MovePolicy
    {
        MovePolicy(targets: .passing(PassingPolicy(reads: reads, passes)))
    }
}

/// A policy by expression: one object for all the sections that it is bound to, so that its targets are found once.
final class PassingPolicy: Sendable {
    /// What it follows from, beside the sections' own facts.
    let reads: Reads
    let passes: @Sendable (SectionInput, Evaluation) throws -> Bool

    init(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool) {
        self.reads = reads
        self.passes = passes
    }
}

/// Why rows come or go.
enum HandlerReason: Sendable {
    case editing
    case movedTo(section: SectionID, row: Int)
    case movedFrom(section: SectionID, row: Int)
}

/// What a handler of a row is given.
struct HandlerCall {
    var section: SectionID
    /// The index at which the row was, or is, among the section's stored rows; of a derived row among those displayed.
    var row: Int
    var model: JSONText
    /// How many rows a derived section has; nil for stored rows, which are counted when they are asked for.
    var derivedCount: Int?
    /// For `onDelete` and `onInsert`.
    var reason: HandlerReason?
    /// A cell event's parameters, for `onEvent`.
    var event: JSONText?
    /// The row itself, by key, while it is in the table.
    var key: Int?
    var id: RowID?
}

/// What is done when something happens to a row: the steps of a description, or the closure of a program.
struct Handler: Sendable {
    /// Whether the handler needs the row's model, so that the model has to be of its type.
    var takesModel = true
    let run: @Sendable (HandlerCall, inout TableEditor, HandlerContext) throws -> Void
}

/// What handlers may ask of the binder beside the table: how a model of a section is identified, and the time.
struct HandlerContext: Sendable {
    let binder: Binder
    let now: String
    let meter: CommandMeter
}

/// Where a section's rows come from.
enum RowSource: Sendable {
    /// One for each stored model.
    case stored
    /// One for each stored model for which the expression holds.
    case shown(Computed<RowInput>)
    /// One for each model that a template makes of the state and of the stored models. Renders an array.
    case derived(Computed<SectionInput>)
    /// So many, without models. Renders an integer.
    case counted(Computed<SectionInput>)

    var reads: Reads {
        switch self {
        case .stored: []
        case .shown(let shown): shown.reads
        case .derived(let models): models.reads
        case .counted(let count): count.reads
        }
    }

    /// Whether rows stand for stored models, which can be edited and moved.
    var isStored: Bool {
        switch self {
        case .stored, .shown: true
        case .derived, .counted: false
        }
    }
}

/// Which cell shows a row, and what the cell is given.
struct CellBinding: Sendable {
    var source = RowSource.stored
    /// Renders the cell's name, a JSON string.
    var cell: Computed<RowInput>
    /// Nil: the row stands with its model alone.
    var viewModel: Computed<RowInput>?
    /// False for view-model bindings: what is stored is itself what the cell is given.
    var showsModel = true
    /// A program keeps the models: its handlers take them out and put them in, and the table reads them anew.
    var isProvided = false
    /// Makes the cell itself; nil where a description says what clients show.
    var instance: CellMaker?

    init(cell: Computed<RowInput>) { self.cell = cell }
}

typealias CellMaker = @Sendable (RowInput) throws -> any ReuseIdentifiable
typealias CellFiller = @Sendable (RowInput, inout any ReuseIdentifiable) throws -> Void

/// What a description, or a program, binds to a scope. One binding is a link of a chain; several may be about the same
/// section, and `SectionBinding` says which wins.
struct Binding: Sendable {
    let scope: Scope
    /// For messages: where the binding stands in its description.
    var pointer: JSONPointer = .root
    var cells: CellBinding?
    var modelType: ModelType?
    /// The name of the model type that a split chain takes for granted.
    var assumedType: UTF8Key?
    var onDequeue: CellFiller?
    var headers: [SectionID: Computed<SectionInput>] = [:]
    var footers: [SectionID: Computed<SectionInput>] = [:]
    /// For all sections of the scope that have none of their own in `headers`.
    var header: Computed<SectionInput>?
    var footer: Computed<SectionInput>?
    /// Of a program: views in the place of titles, which they beat where both are equally specific (Braid's rule).
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
    /// By cell and event.
    var onEvent: [UTF8Key: [UTF8Key: Handler]] = [:]
    var onPrefetch: Handler?
    var prefetchDistance: Int?
    var updatesManually: Bool?

    init(scope: Scope) { self.scope = scope }

    /// The scope is any section, and something is bound that only chains about certain sections bind.
    var bindsWhatAnySectionCannot: Bool {
        scope == .anySection
            && (cells != nil || bindsTitles || editing != nil || moving != nil)
    }

    private var bindsTitles: Bool {
        header != nil || footer != nil || !headers.isEmpty || !footers.isEmpty || headerView != nil || footerView != nil
    }

    /// Takes what it lacks from a binding of the same scope that yields to it.
    mutating func complete(from weaker: Binding) {
        if cells == nil { (cells, modelType) = (weaker.cells, weaker.modelType) }
        // A title for all sections of the scope stands before those that yielded to it.
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
        // One link says both: nil is "every row is movable".
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

/// The bindings that name no section, folded once and not for each section: there may be thousands of both.
struct UnnamedBindings {
    /// What is bound to all other sections: of two bindings, the later one's.
    let other: Binding?
    /// What is bound to any section.
    let any: Binding?
    /// Any section's, in the order in which they were bound: all of them are called.
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
