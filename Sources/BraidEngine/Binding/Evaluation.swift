import Synchronization

/// The facts of one section. The methods `context` of `Evaluation` decide which of these facts an expression can read.
struct SectionInput: Sendable {
    var id: SectionID
    /// The number of the section's rows, hidden rows included.
    var count: Int
    var displayedCount: Int
    var header: JSONText = .null
    var footer: JSONText = .null
}

/// The facts of one row, which expressions about the row can read. `row` is the row's index among all rows of the
/// section, hidden rows included, from 0.
struct RowInput: Sendable {
    var section: SectionID
    var row: Int
    var count: Int
    var model: JSONText
}

/// The set of values that an expression reads.
///
/// If a value changes, the rows and titles whose expressions read the value have to be rendered again.
struct Reads: OptionSet, Sendable {
    let rawValue: Int
    init(rawValue: Int) { self.rawValue = rawValue }

    static let everything = Reads(rawValue: 2047)

    /// Set if the expression reads the row's index. An insert or a delete changes the index of all later rows.
    static let row = Reads(rawValue: 1)
    /// The expression reads the number of the section's rows, hidden rows included.
    static let count = Reads(rawValue: 2)
    static let state = Reads(rawValue: 4)
    /// The expression reads the stored models of all sections.
    static let models = Reads(rawValue: 8)
    /// The expression reads the command's time, so the expression's value can differ at every command.
    static let now = Reads(rawValue: 16)
    static let model = Reads(rawValue: 32)
    static let section = Reads(rawValue: 64)
    /// Set if the choice of a row's cell depends on the cells that the session has registered for model types.
    static let cells = Reads(rawValue: 128)
    /// The expression reads the number of the section's displayed rows.
    static let displayedCount = Reads(rawValue: 256)
    static let header = Reads(rawValue: 512)
    static let footer = Reads(rawValue: 1024)

    init(names read: NamesRead) {
        // A template that calls `defined` with a computed name can ask for every name. `now` is left out: it is always
        // defined, so the answer does not depend on the time.
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
    }
}

/// The values that expressions can read at one moment of a command. The state and the models are decoded at most once,
/// and only if an expression reads them.
final class Evaluation: Sendable {
    /// The command's time, in RFC 3339.
    let now: String
    let table: TableModel
    /// The command's meter, which all evaluations of the command share.
    let meter: CommandMeter
    /// The source of the ids that `uuid()` makes in an `insert.template`.
    let ids: IDSource?
    private let made = Mutex<(state: JSONValue?, models: JSONValue?)>((nil, nil))

    init(table: TableModel, now: String, meter: CommandMeter, ids: IDSource? = nil) {
        self.table = table
        self.now = now
        self.meter = meter
        self.ids = ids
    }

    var state: JSONValue {
        made.withLock { made in
            if let state = made.state { return state }
            let value = table.state.value()
            made.state = value
            return value
        }
    }

    /// The stored models of all sections, as a JSON object from section ids to arrays of models.
    var models: JSONValue {
        made.withLock { made in
            if let models = made.models { return models }
            let sections = table.sections.map { ($0.id.text, JSONValue.array($0.rows.map { $0.model.value() })) }
            let value = JSONValue.object(JSONObject(sections))
            made.models = value
            return value
        }
    }

    /// Returns a template context with the names that do not depend on a row or section: `now`, `state` and `models`.
    /// To keep the context of each row cheap, `state` and `models` are set only if `reads` contains them.
    func context(reading reads: Reads) -> JSONeContext {
        var context = JSONeContext(now: now)
        context.sharedBudget = meter.templates
        if reads.contains(.state) { context.lazy("state") { [self] in state } }
        if reads.contains(.models) { context.lazy("models") { [self] in models } }
        return context
    }

    func context(for input: RowInput, reading reads: Reads) -> JSONeContext {
        var context = context(reading: reads)
        if reads.contains(.model) { context["model"] = input.model.value() }
        if reads.contains(.row) { context["row"] = .number(JSONNumber(input.row)) }
        if reads.contains(.count) { context["count"] = .number(JSONNumber(input.count)) }
        if reads.contains(.section) { context["section"] = .string(input.section.text) }
        return context
    }

    /// Returns the template context for `modelsFrom` and `numberOfCells`, which has no `count` because the rows of the
    /// section do not exist yet.
    func context(forRowsOf input: SectionInput, reading reads: Reads) -> JSONeContext {
        var context = context(reading: reads)
        if reads.contains(.section) { context["section"] = .string(input.id.text) }
        return context
    }

    /// Returns the template context for headers, footers and their heights.
    func context(forTitleOf input: SectionInput, reading reads: Reads) -> JSONeContext {
        var context = context(forRowsOf: input, reading: reads)
        if reads.contains(.count) { context["count"] = .number(JSONNumber(input.count)) }
        if reads.contains(.displayedCount) {
            context["displayedCount"] = .number(JSONNumber(input.displayedCount))
        }
        return context
    }

    /// Returns the template context for `order` and `passing`, which may also read the section's header and footer.
    func context(for input: SectionInput, reading reads: Reads) -> JSONeContext {
        var context = context(forTitleOf: input, reading: reads)
        if reads.contains(.header) { context["header"] = input.header.value() }
        if reads.contains(.footer) { context["footer"] = input.footer.value() }
        return context
    }
}

/// A JSON value that is either constant or computed for each row or section.
struct Computed<Input>: Sendable {
    let reads: Reads
    /// The constant value, which is the same for every row or section. `nil` if the value is computed.
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

    /// Returns the value for one row or section. `nil` if the function that computes the value returns `nil`.
    func value(for input: Input, _ evaluation: Evaluation) throws -> JSONText? {
        if let constant { return constant }
        return try compute(input, evaluation)
    }
}

extension Computed where Input == RowInput {
    /// Returns a function that chooses a row's cell by the type of the row's model. A cell that the session has
    /// registered for the model type wins over the cell that the table description registers.
    ///
    /// - Parameter typeNamesCell: if true, a model type without a registered cell uses its own name as the cell's name.
    ///   If false, the function refuses a row whose model type has no registered cell.
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
