import Synchronization

/// What expressions about a section can read; `Evaluation` gives each kind its part.
struct SectionInput: Sendable {
    var id: SectionID
    /// Hidden rows included.
    var count: Int
    var displayedCount: Int
    var header: JSONText = .null
    var footer: JSONText = .null
}

struct RowInput: Sendable {
    var section: SectionID
    var row: Int
    var count: Int
    var model: JSONText
}

/// What an expression reads. When one of these changes, its rows and titles are rendered again.
struct Reads: OptionSet, Sendable {
    let rawValue: Int
    init(rawValue: Int) { self.rawValue = rawValue }

    /// All but who looks: a new one changes the number.
    static let everything = Reads(rawValue: 2047)

    /// Changes for all later rows at an insert or a delete.
    static let row = Reads(rawValue: 1)
    /// Hidden rows included.
    static let count = Reads(rawValue: 2)
    static let state = Reads(rawValue: 4)
    /// The stored models of all sections.
    static let models = Reads(rawValue: 8)
    /// Can differ at every command.
    static let now = Reads(rawValue: 16)
    static let model = Reads(rawValue: 32)
    static let section = Reads(rawValue: 64)
    /// Cells that the session has registered for model types.
    static let cells = Reads(rawValue: 128)
    static let displayedCount = Reads(rawValue: 256)
    static let header = Reads(rawValue: 512)
    static let footer = Reads(rawValue: 1024)
    /// Who looks.
    static let user = Reads(rawValue: 2048)
    static let view = Reads(rawValue: 4096)
    static let viewer: Reads = [.user, .view]

    init(names read: NamesRead) {
        // `defined` with a computed name can ask whether any name is defined. `now` always is, and `cells` is not a
        // name.
        self = read.asksForAnyName ? Reads.everything.subtracting([.now, .cells]) : []
        let names = read.all
        if names.contains("row") { insert(.row) }
        if names.contains("count") { insert(.count) }
        if names.contains("state") { insert(.state) }
        if names.contains("models") { insert(.models) }
        if names.contains("now") { insert(.now) }
        if names.contains("model") { insert(.model) }
        if names.contains("section") { insert(.section) }
        if names.contains("displayedCount") { insert(.displayedCount) }
        if names.contains("header") { insert(.header) }
        if names.contains("footer") { insert(.footer) }
        if names.contains("user") { insert(.user) }
        if names.contains("view") { insert(.view) }
    }
}

/// What expressions can read at one moment of a command. Decodes state and models once, when first needed.
final class Evaluation: Sendable {
    /// In RFC 3339.
    let now: String
    let table: TableModel
    let meter: CommandMeter
    /// For `uuid()` in an `insert.template`.
    let ids: IDSource?
    /// Who sent the command.
    let user: JSONText
    /// Whose table is rendered; `nil` for handlers.
    private let binder: Binder?
    /// With the models of all rows; itself if `where` hides none.
    var ofStored: Evaluation { unfiltered ?? self }
    private let unfiltered: Evaluation?
    private let made = Mutex<(state: JSONValue?, models: JSONValue?)>((nil, nil))

    convenience init(
        table: TableModel, now: String, meter: CommandMeter, ids: IDSource? = nil, user: JSONText = .null,
        for binder: Binder? = nil
    ) {
        self.init(table, now, meter, ids, user, binder, hidesRows: binder?.filterReads != nil)
    }

    private init(
        _ table: TableModel, _ now: String, _ meter: CommandMeter, _ ids: IDSource?, _ user: JSONText,
        _ binder: Binder?, hidesRows: Bool
    ) {
        self.table = table
        self.now = now
        self.meter = meter
        self.ids = ids
        self.user = user
        self.binder = binder
        unfiltered = hidesRows ? Evaluation(table, now, meter, ids, user, binder, hidesRows: false) : nil
    }

    /// Whether an expression that fails gives nothing: one that reads who looks, and in somebody's own table every one.
    /// Otherwise one person's claims or view could keep everybody's commands from being executed.
    func isLenient(_ reads: Reads) -> Bool { binder?.isOwn == true || !reads.isDisjoint(with: .viewer) }

    /// For what reads only models.
    static let ofModels = Evaluation(table: TableModel(), now: "", meter: CommandMeter())

    var state: JSONValue {
        made.withLock { made in
            if let state = made.state { return state }
            let value = table.state.value()
            made.state = value
            return value
        }
    }

    var models: JSONValue {
        made.withLock { made in
            if let models = made.models { return models }
            let sections = table.sections.map { section in
                (section.id.text, JSONValue.array(existing(section).map { $0.model.value() }))
            }
            let value = JSONValue.object(JSONObject(sections))
            made.models = value
            return value
        }
    }

    /// `nothing` if an expression fails that may (``isLenient(_:)``).
    @inline(__always)
    func value<Value>(reading reads: Reads, else nothing: @autoclosure () -> Value, _ compute: () throws -> Value)
        throws
        -> Value
    {
        do {
            return try compute()
        } catch let refusal as Refusal
            where refusal.code == .templateFailed && isLenient(reads) && !meter.isNearlyUsedUp
        {
            return nothing()
        }
    }

    /// Without those that `where` hides.
    private func existing(_ section: StoredSection) -> [StoredRow] {
        guard let unfiltered, case .selected(let selection)? = binder?.binding(of: section.id)?.cells.source,
            let exists = selection.exists
        else { return Array(section.rows) }
        return section.rows.filter { row in
            let input = RowInput(section: section.id, row: 0, count: 0, model: row.model)
            return (try? exists.value(for: input, unfiltered))??.boolValue ?? false
        }
    }

    /// Only what is read, which keeps each row's context cheap.
    func context(reading reads: Reads) -> JSONeContext {
        var context = JSONeContext(now: now)
        context.sharedBudget = meter.templates
        if reads.contains(.state) { context.lazy("state") { [self] in state } }
        if reads.contains(.models) { context.lazy("models") { [self] in models } }
        if let viewer = binder?.viewer, !reads.isDisjoint(with: .viewer) {
            context["user"] = viewer.user
            context["view"] = viewer.view
        }
        return context
    }

    /// `members`: those of the model that are read, `nil` for all.
    func context(for input: RowInput, reading reads: Reads, _ members: [String]? = nil) -> JSONeContext {
        var context = context(reading: reads)
        if reads.contains(.model) { context["model"] = input.model.value(of: members) }
        if reads.contains(.row) { context["row"] = .number(JSONNumber(input.row)) }
        if reads.contains(.count) { context["count"] = .number(JSONNumber(input.count)) }
        if reads.contains(.section) { context["section"] = .string(input.section.text) }
        return context
    }

    /// For `modelsFrom` and `numberOfCells`: no `count`, as there are no rows yet.
    func context(forRowsOf input: SectionInput, reading reads: Reads) -> JSONeContext {
        var context = context(reading: reads)
        if reads.contains(.section) { context["section"] = .string(input.id.text) }
        return context
    }

    func context(forTitleOf input: SectionInput, reading reads: Reads) -> JSONeContext {
        var context = context(forRowsOf: input, reading: reads)
        if reads.contains(.count) { context["count"] = .number(JSONNumber(input.count)) }
        if reads.contains(.displayedCount) {
            context["displayedCount"] = .number(JSONNumber(input.displayedCount))
        }
        return context
    }

    func context(for input: SectionInput, reading reads: Reads) -> JSONeContext {
        var context = context(forTitleOf: input, reading: reads)
        if reads.contains(.header) { context["header"] = input.header.value() }
        if reads.contains(.footer) { context["footer"] = input.footer.value() }
        return context
    }
}

/// A part of a binding. Its value is `nil` if a template gives none.
struct Computed<Input>: Sendable {
    let reads: Reads
    /// `nil` if computed.
    let constant: JSONText?
    private let compute: @Sendable (Input, Evaluation) throws -> JSONText?

    init(constant: JSONText) {
        self.constant = constant
        reads = []
        compute = { _, _ in constant }
    }

    init(reads: Reads, _ compute: @escaping @Sendable (Input, Evaluation) throws -> JSONText?) {
        constant = nil
        self.reads = reads
        self.compute = compute
    }

    func value(for input: Input, _ evaluation: Evaluation) throws -> JSONText? {
        if let constant { return constant }
        return try evaluation.value(reading: reads, else: nil) { try compute(input, evaluation) }
    }
}

extension Computed where Input == RowInput {
    /// What the session has registered wins over `described`. A type without a cell names its own if `typeNamesCell`;
    /// otherwise the row is refused.
    static func cellByModelType(_ described: RegisteredCells, typeNamesCell: Bool = false) -> Computed<RowInput> {
        Computed(reads: .cells) { input, evaluation in
            let type = input.model.modelType
            if let cell = evaluation.table.cells[type] ?? described[type] { return .string(cell) }
            if typeNamesCell { return .string(type) }
            throw Refusal(
                .modelInvalid,
                "Row \(input.row) of the section \"\(input.section)\" has the model type \"\(type)\", for which no cell is registered. Register one in `cellsForModelTypes`."
            )
        }
    }
}
