import Synchronization

/// What one command may cost. All its templates together: each rendering has a budget of its own, this one bounds a
/// template that is cheap once, and rendered for a hundred thousand rows. And its time, whatever it is spent on.
final class CommandMeter: Sendable {
    /// What the command's templates may cost together.
    let templates: SharedJSONeBudget
    /// The most rows that the table had so far.
    private let rows: Mutex<Int>
    private let limit: Duration?
    private let start = ContinuousClock.now

    /// Large tables may take more. `isTimed`: what is only read may take as long as it does.
    init(rows: Int, _ limits: TableLimits, isTimed: Bool = true) {
        limit = isTimed ? limits.commandTime : nil
        self.rows = Mutex(rows)
        templates = SharedJSONeBudget(
            steps: limits.templateSteps.saturatingAdd(200 * rows),
            output: limits.renderedBytes.saturatingAdd(1_000 * rows))
    }

    /// The command has brought the table to so many rows.
    func allow(rows: Int) {
        let more = self.rows.withLock { known in
            defer { known = max(known, rows) }
            return max(0, rows - known)
        }
        templates.add(steps: 200 * more, output: 1_000 * more)
    }

    /// Throws `commandTimeout` once the command has taken too long. Every loop calls it whose length a request can
    /// choose: over a transaction's commands, references, sections, rows, handlers.
    func checkTime() throws(Refusal) {
        guard let limit, ContinuousClock.now - start > limit else { return }
        throw Refusal(
            .commandTimeout,
            "The command took more than the \(limit.components.seconds) seconds that it may take. Nothing was changed. Send it in smaller parts."
        )
    }

    /// As `checkTime()`, for a loop over many rows: looks at the clock at every 256th index, as rows can take less time
    /// than that.
    func checkTime(at index: Int) throws(Refusal) { if index & 0xFF == 0 { try checkTime() } }
}

/// The limits of a table's size, and of the cost of one command.
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
    /// The time that one command may take. `nil` for no limit. It is checked between the parts of a command.
    public var commandTime: Duration?

    /// Creates the default limits: only the templates' steps are limited.
    public init() {}

    /// A table that is over the limits already may shrink: they may have been lowered since.
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
