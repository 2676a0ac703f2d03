enum Scope: Sendable, Hashable {
    /// The only section of a table that declares one.
    case table
    case sections([SectionID])
    /// Sections whose cells no binding binds by id.
    case allOtherSections
    /// Every section, named ones included. Heights apply where a section has none. Tap handlers and cell fillers run in
    /// addition to the section's; other handlers only if it has none of their kind.
    case anySection
}

/// As in `UITableViewCell.EditingStyle`.
public enum EditingStyle: String, Sendable {
    /// `insert` means: before the row.
    case none, delete, insert
}

struct ModelType: Sendable {
    var name: UTF8Key?
    /// Such as `/id`. `nil` if models have none.
    var id: JSONPointer?
    /// If not, a model without a usable id is refused.
    var isIDOptional = false
    var schema: JTDSchema?

    init(name: String? = nil, id: JSONPointer?, schema: JTDSchema? = nil) {
        self.name = name.map { UTF8Key($0) }
        self.id = id
        self.schema = schema
    }

    var nameForMessages: String { name.map { "\"\($0.string)\"" } ?? "of no name" }

    func identify(_ model: JSONText) throws(Refusal) -> RowID? {
        if let schema {
            let mismatches = schema.errorIndicators(of: model.value())
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

extension JTDSchema.ErrorIndicator {
    var fault: Refusal.Fault { .init(pointer: instancePath, code: code, detail: detail) }
}

struct CellDeclaration: Sendable {
    var events: [UTF8Key: JTDSchema] = [:]
    /// For events that are not declared by name. `nil` refuses them.
    var otherEvents: JTDSchema?
    var viewModel: JTDSchema?
}

struct CellDeclarations: Sendable {
    var named: [UTF8Key: CellDeclaration] = [:]
    var others: CellDeclaration?

    subscript(name: String) -> CellDeclaration? { named[UTF8Key(name)] ?? others }

    /// For tables that declare no cells. A program's cells are types, which the compiler checks.
    static let undeclared = CellDeclarations(others: CellDeclaration(otherEvents: .any))
}

/// Source: Braid's `allowMoving`.
struct MovePolicy: Sendable {
    enum Targets: Sendable {
        case anySection
        case sections([SectionID])
        case passing(PassingPolicy)
    }

    let targets: Targets
    /// What a move merges into the model, given those of the rows above and below. Without one, rows of a sorted section
    /// do not move.
    var merge: (@Sendable (MergeInput, Evaluation) throws -> JSONText?)?

    init(targets: Targets) { self.targets = targets }

    /// Any section with stored rows of the same model type.
    static let anySection = MovePolicy(targets: .anySection)
    /// The rows' own section only if it is among them.
    static func sections(_ ids: [SectionID]) -> MovePolicy { MovePolicy(targets: .sections(ids)) }
    static func passing(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool)
        -> MovePolicy
    {
        MovePolicy(targets: .passing(PassingPolicy(reads: reads, passes)))
    }
}

/// As the sender of a move sees them; JSON null at the ends.
struct MergeInput: Sendable {
    var section: SectionID
    var model: JSONText
    var above: JSONText
    var below: JSONText
}

/// A class, so that a snapshot recognizes the sections that share it.
final class PassingPolicy: Sendable {
    let reads: Reads
    private let asked: @Sendable (SectionInput, Evaluation) throws -> Bool

    init(reads: Reads, _ passes: @escaping @Sendable (SectionInput, Evaluation) throws -> Bool) {
        self.reads = reads
        asked = passes
    }

    func passes(_ section: SectionInput, _ evaluation: Evaluation) throws -> Bool {
        try evaluation.value(reading: reads, else: false) { try asked(section, evaluation) }
    }
}

enum HandlerReason: Sendable {
    case editing
    case movedTo(section: SectionID, row: Int)
    case movedFrom(section: SectionID, row: Int)
}

struct HandlerCall {
    var section: SectionID
    /// Among all stored rows, hidden ones included; of a derived row, among the displayed ones.
    var row: Int
    var model: JSONText
    /// Of a derived section. The table counts stored rows.
    var derivedCount: Int?
    /// For `onInsert` and `onDelete`.
    var reason: HandlerReason?
    /// The parameters, for `onEvent`.
    var event: JSONText?
    /// `nil` if the row is not in the table.
    var key: Int?
    var id: RowID?
}

struct Handler: Sendable {
    /// Whether the model is passed on; it then must have the expected type.
    var takesModel = true
    let run: @Sendable (HandlerCall, inout TableEditor, inout HandlerContext) throws -> Void
}

struct HandlerContext: Sendable {
    let binder: Binder
    let now: String
    let meter: CommandMeter
    let ids: IDSource
    let user: JSONText
    var emitted: [EmittedEvent] = []
}

enum RowSource: Sendable {
    case stored
    /// Some of the stored rows, perhaps sorted; also if a row depends on who looks, and so may have no cell.
    case selected(RowSelection)
    /// `modelsFrom`: gives an array, or an object of arrays by section id.
    case derived(Computed<SectionInput>)
    /// `numberOfCells`: rows without models.
    case counted(Computed<SectionInput>)

    var reads: Reads {
        switch self {
        case .stored: []
        case .selected(let selection): selection.reads
        case .derived(let models): models.reads
        case .counted(let count): count.reads
        }
    }

    var isStored: Bool {
        switch self {
        case .stored, .selected: true
        case .derived, .counted: false
        }
    }
}

struct CellRules: Sendable {
    var source = RowSource.stored
    var cell: Computed<RowInput>
    var viewModel: Computed<RowInput>?
    /// False if the stored models are the view models.
    var showsModel = true
    /// The program keeps the models: its handlers insert and remove them, and each command reads them again.
    var isProvided = false
    /// `nil` for a description, whose clients make the cells.
    var instance: CellMaker?

    init(cell: Computed<RowInput>) { self.cell = cell }
}

typealias CellMaker = @Sendable (RowInput) throws -> any ReuseIdentifiable
typealias CellFiller = @Sendable (RowInput, inout any ReuseIdentifiable) throws -> Void

/// One item of a description's `bindings`, or one of a program's chains. `SectionBinding` resolves which of several
/// wins.
struct ScopeBinding: Sendable {
    let scope: Scope
    var pointer: JSONPointer = .root
    var cells: CellRules?
    var modelType: ModelType?
    /// The model type that the handlers expect.
    var assumedType: UTF8Key?
    var onDequeue: CellFiller?
    var headers: [SectionID: Computed<SectionInput>] = [:]
    var footers: [SectionID: Computed<SectionInput>] = [:]
    /// For sections without one of their own in `headers` or `footers`.
    var header: Computed<SectionInput>?
    var footer: Computed<SectionInput>?
    /// Wins over the title of an equally specific binding (Braid's rule).
    var headerView: Computed<SectionInput>?
    var footerView: Computed<SectionInput>?
    var cellHeight: Computed<RowInput>?
    var estimatedCellHeight: Computed<RowInput>?
    var headerHeight: Computed<SectionInput>?
    var estimatedHeaderHeight: Computed<SectionInput>?
    var footerHeight: Computed<SectionInput>?
    var estimatedFooterHeight: Computed<SectionInput>?
    /// `"none"`, `"delete"` or `"insert"`.
    var editing: Computed<RowInput>?
    var insertTemplate: (@Sendable (SectionID, Evaluation) throws -> JSONText?)?
    var moving: MovePolicy?
    var movable: Computed<RowInput>?
    var onDelete: Handler?
    var onInsert: Handler?
    var onTap: Handler?
    var onEvent: [UTF8Key: [UTF8Key: Handler]] = [:]
    var onPrefetch: Handler?
    var prefetchDistance: Int?
    var updatesManually: Bool?

    init(scope: Scope, pointer: JSONPointer = .root) {
        self.scope = scope
        self.pointer = pointer
    }

    var bindsWhatAnySectionCannot: Bool {
        scope == .anySection
            && (cells != nil || bindsTitles || editing != nil || moving != nil)
    }

    private var bindsTitles: Bool {
        header != nil || footer != nil || !headers.isEmpty || !footers.isEmpty || headerView != nil || footerView != nil
    }

    /// Takes what is missing here. A new member needs a line here, and one in `SectionBinding`.
    mutating func complete(from weaker: ScopeBinding) {
        if cells == nil { (cells, modelType) = (weaker.cells, weaker.modelType) }
        // A title for the whole scope wins over a weaker binding's titles by id.
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
        // Together: `movable` `nil` means that every row is movable, not that nothing was bound.
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
