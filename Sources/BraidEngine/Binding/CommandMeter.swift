import Synchronization

/// Limits the cost of one command: the work of all its templates together, and the command's time.
///
/// Each rendering of a template also has its own budget. `CommandMeter` additionally bounds the total cost of the
/// command, because a cheap template may be rendered for a hundred thousand rows.
final class CommandMeter: Sendable {
    /// The budget of template steps and output that all templates of the command share.
    let templates: SharedJSONeBudget
    /// The largest number of table rows that this meter has received so far during the command. The template budget is
    /// computed for this number.
    private let rows: Mutex<Int>
    private let limit: Duration?
    private let start = ContinuousClock.now

    /// Starts the command's clock, and computes the template budget, which grows with the table's number of rows.
    /// `isTimed` is false for rendering a snapshot outside of a command, which has no time limit.
    init(rows: Int, _ limits: TableLimits, isTimed: Bool = true) {
        limit = isTimed ? limits.commandTime : nil
        self.rows = Mutex(rows)
        templates = SharedJSONeBudget(
            steps: limits.templateSteps.saturatingAdd(200 * rows),
            output: limits.renderedBytes.saturatingAdd(1_000 * rows))
    }

    /// Whether the templates of the command have less left than a single template may use. Then another failure may
    /// only be that of the command's limit.
    var isNearlyUsedUp: Bool {
        let left = templates.budget, whole = JSONeBudget()
        return left.remainingSteps < whole.remainingSteps || left.remainingOutput < whole.remainingOutput
    }

    /// Raises the template budget if `rows`, the table's number of rows now, is larger than all earlier numbers of the
    /// command.
    func allow(rows: Int) {
        let more = self.rows.withLock { known in
            defer { known = max(known, rows) }
            return max(0, rows - known)
        }
        templates.add(steps: 200 * more, output: 1_000 * more)
    }

    /// Charges the command's template budget for work that is not the rendering of a template.
    func charge(_ work: (inout JSONeBudget) throws(JSONeError) -> Void) throws(Refusal) {
        let whole = templates.budget
        var budget = whole
        defer { templates.charge(budget, of: whole) }
        do throws(JSONeError) {
            try work(&budget)
        } catch {
            throw Refusal(.templateFailed, "The handlers of this command failed: \(error.message).")
        }
    }

    /// Charges the command's limit of rendered bytes for bytes of the description that a section repeats: a constant in
    /// each row, titles, and the list of the sections to which its rows may move.
    func charge(repeated bytes: Int, in section: SectionID) throws(Refusal) {
        guard !templates.take(output: bytes) else { return }
        throw Refusal(
            .templateFailed,
            "At the section \"\(section)\", the command exceeds the number of bytes that it may render (--max-rendered-bytes). The description repeats long constants in the rows, or long lists of move targets in the sections. Make them shorter."
        )
    }

    /// Throws `commandTimeout` if the command has taken longer than the limit on a command's time.
    ///
    /// Loops whose length a request can choose call `checkTime()`, for example the loop over a transaction's commands.
    func checkTime() throws(Refusal) {
        guard let limit, ContinuousClock.now - start > limit else { return }
        throw Refusal(
            .commandTimeout,
            "The command took more than the \(Self.seconds(limit)) that it may take. Nothing was changed. Send it in smaller parts."
        )
    }

    /// Returns a duration as text for an error message, in whole seconds or in milliseconds.
    private static func seconds(_ limit: Duration) -> String {
        let (seconds, attoseconds) = limit.components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        return milliseconds == 0 ? "\(seconds) seconds" : "\(seconds * 1_000 + milliseconds) milliseconds"
    }

    /// Calls `checkTime()` only at every 256th index of a loop over rows. Reading the clock can take longer than the
    /// loop's work for one row.
    func checkTime(at index: Int) throws(Refusal) { if index & 0xFF == 0 { try checkTime() } }
}

/// The limits of a table's size and of the cost of one command.
public struct TableLimits: Sendable {
    /// The maximum number of rows that a table may store, and the maximum number that it may display.
    public var rows = Int.max
    /// The maximum number of sections that a table may have.
    public var sections = Int.max
    /// The maximum number of template steps in one command. Each row of the table raises the maximum by 200 steps.
    ///
    /// The default, five million steps, takes about a third of a second. ``JSONeBudget`` defines a step.
    public var templateSteps = 5_000_000
    /// The maximum number of bytes that the templates of one command may build. Each row of the table raises the
    /// maximum by 1,000 bytes.
    ///
    /// Bytes are counted as in ``JSONeBudget``.
    public var renderedBytes = Int.max
    /// Whether new rows and sections may only have ids that a request can name (`IDRule`). Rows and sections of earlier
    /// versions keep their ids.
    public var checksIDs = false
    /// The maximum time of one command, checked between the parts of the command. `nil` for no limit.
    public var commandTime: Duration?

    /// Creates the default limits of a table and its commands: only the templates' steps are limited.
    public init() {}

    /// Throws if the table exceeds a limit of its size, unless the table has not grown. After an operator has lowered a
    /// limit, a table above the limit may keep its size or shrink.
    func check(_ table: TableModel, after before: TableModel?) throws(Refusal) {
        if table.sections.count > sections, table.sections.count > before?.sections.count ?? 0 {
            throw Refusal(
                .tooManySections,
                "The table would have \(table.sections.count) sections. It may have at most \(sections). Remove sections first."
            )
        }
        let count = table.rowCount
        if count > rows, count > before?.rowCount ?? 0 { throw .tooManyRows(self) }
    }
}

extension Refusal {
    static func tooManyRows(_ limits: TableLimits) -> Refusal {
        Refusal(
            .tooManyRows,
            "The table would have more than \(limits.rows) rows, the most that it may have. Remove rows first.")
    }
}
