import Synchronization

/// Limits the cost of one command: the work of all its templates together, and its time.
///
/// Each rendering also has its own budget. The meter additionally bounds the total cost of a cheap template that is
/// rendered for a hundred thousand rows.
final class CommandMeter: Sendable {
    /// The shared budget of the command's templates.
    let templates: SharedJSONeBudget
    /// The largest number of rows that the table has had during the command.
    private let rows: Mutex<Int>
    private let limit: Duration?
    private let start = ContinuousClock.now

    /// Starts the clock and computes the budget, which grows with the number of rows. Reads are not timed: pass false
    /// for `isTimed`.
    init(rows: Int, _ limits: TableLimits, isTimed: Bool = true) {
        limit = isTimed ? limits.commandTime : nil
        self.rows = Mutex(rows)
        templates = SharedJSONeBudget(
            steps: limits.templateSteps.saturatingAdd(200 * rows),
            output: limits.renderedBytes.saturatingAdd(1_000 * rows))
    }

    /// Raises the budget after the command has brought the table to `rows` rows.
    func allow(rows: Int) {
        let more = self.rows.withLock { known in
            defer { known = max(known, rows) }
            return max(0, rows - known)
        }
        templates.add(steps: 200 * more, output: 1_000 * more)
    }

    /// Throws `commandTimeout` once the command has taken too long.
    ///
    /// Every loop whose length a request can choose calls `checkTime()`: loops over a transaction's commands,
    /// references, sections, rows and handlers.
    func checkTime() throws(Refusal) {
        guard let limit, ContinuousClock.now - start > limit else { return }
        throw Refusal(
            .commandTimeout,
            "The command took more than the \(Self.seconds(limit)) that it may take. Nothing was changed. Send it in smaller parts."
        )
    }

    /// The duration for a message: whole seconds, or milliseconds.
    private static func seconds(_ limit: Duration) -> String {
        let (seconds, attoseconds) = limit.components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        return milliseconds == 0 ? "\(seconds) seconds" : "\(seconds * 1_000 + milliseconds) milliseconds"
    }

    /// Calls `checkTime()` at every 256th index, because reading the clock can take longer than one row.
    func checkTime(at index: Int) throws(Refusal) { if index & 0xFF == 0 { try checkTime() } }
}

/// The limits of a table's size and of the cost of one command.
public struct TableLimits: Sendable {
    /// The number of rows that a table may store, and that it may display.
    public var rows = Int.max
    /// The number of sections that a table may have.
    public var sections = Int.max
    /// The number of template steps that one command may take, plus 200 for each row of the table.
    ///
    /// Five million steps take about a third of a second. ``JSONeBudget`` defines a step.
    public var templateSteps = 5_000_000
    /// The number of bytes that the templates of one command may build, plus 1,000 for each row of the table.
    ///
    /// Bytes are counted as in ``JSONeBudget``.
    public var renderedBytes = Int.max
    /// The time that one command may take, checked between the parts of the command. `nil` for no limit.
    public var commandTime: Duration?

    /// Creates the default limits: only the templates' steps are limited.
    public init() {}

    /// Throws if the table exceeds a limit. A table that already exceeds a lowered limit may keep its size or shrink.
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
