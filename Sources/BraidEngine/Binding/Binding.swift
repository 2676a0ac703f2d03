/// The sections that a binding is about.
public enum Scope: Sendable, Equatable {
    /// The single section of an unsectioned table.
    case table
    case sections([SectionID])
    /// Every section whose cells are not bound by name.
    case allOtherSections
    /// Any section: a fallback for dimensions, and handlers called in addition.
    case anySection
}

/// What may be done to a row by editing.
public enum EditingStyle: String, Sendable {
    case none, delete, insert
}

/// A model type: where a model's identity stands.
public struct ModelType: Sendable, Equatable {
    /// Nil for the type of a binding that names none.
    public var name: String?
    /// Where the id stands in a model; nil: models of this type are not identifiable.
    public var id: JSONPointer?

    public init(name: String? = nil, id: JSONPointer?) {
        self.name = name
        self.id = id
    }

    /// The model's identity: a string, or an integer turned into a string. Nil for a type without identity.
    func identify(_ model: JSONText) throws(Refusal) -> RowID? {
        guard let id else { return nil }
        let type = name.map { "of the type \"\($0)\" " } ?? ""
        guard let value = model[id] else {
            throw Refusal(.modelInvalid, "A model \(type)needs its id at \"\(id)\"; there is nothing there.", faults: [.init(pointer: id, detail: "missing id")])
        }
        if let text = value.stringValue { return RowID(text) }
        if value.kind == .number, !value.text.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }) {
            return RowID(value.text)
        }
        throw Refusal(.modelInvalid, "The id of a model \(type)at \"\(id)\" must be a string or an integer.", faults: [.init(pointer: id, detail: "must be a string or an integer")])
    }
}

/// Which sections rows may move to (Braid's `allowMoving`).
enum MovePolicy: Sendable {
    case anySection
    case sections([SectionID])
    case passing(@Sendable (SectionInput, Evaluation) throws -> Bool)
}

/// What a handler is called for.
public enum HandlerReason: Sendable {
    case editing
    case movedTo(section: SectionID, row: Int)
    case movedFrom(section: SectionID, row: Int)
}

/// What a handler of rows is given. `row` is nil when the row is no longer in the table.
struct HandlerCall {
    var section: SectionID
    /// The index at which the row was, or is.
    var row: Int
    var model: JSONText
    var reason: HandlerReason
    /// The row itself, by key, while it is in the table.
    var key: Int?
    var id: RowID?
}

typealias Handler = @Sendable (HandlerCall, inout TableEditor, HandlerContext) throws -> Void

/// What handlers may ask of the binder beside the table: how a model of a section is identified, and the time.
struct HandlerContext: Sendable {
    let binder: Binder
    let now: String
}

/// Which cell shows a row, and what the cell is given.
struct CellBinding: Sendable {
    /// Renders the cell's name, a JSON string.
    var cell: Computed<RowInput>
    /// Nil: the row stands with its model alone.
    var viewModel: Computed<RowInput>?
    /// False for view-model bindings: what is stored is itself what the cell is given.
    var showsModel = true
}

/// What a description, or a program, binds to a scope. One binding is a link of a chain; several may be about the same
/// section, and `SectionBinding` says which wins.
struct Binding: Sendable {
    var scope: Scope
    /// For messages: where the binding stands in its description.
    var pointer: JSONPointer = .root
    var cells: CellBinding?
    var modelType: ModelType?
    var headers: [SectionID: Computed<SectionInput>] = [:]
    var footers: [SectionID: Computed<SectionInput>] = [:]
    /// For all sections of the scope that have none of their own in `headers`.
    var header: Computed<SectionInput>?
    var footer: Computed<SectionInput>?
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
    var updatesManually: Bool?

    init(scope: Scope) { self.scope = scope }
}
