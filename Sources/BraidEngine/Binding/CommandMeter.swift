import Synchronization

/// Limits one command's time and the work of all its templates. Each template has a budget, too, but a cheap one may be
/// rendered for a hundred thousand rows.
final class CommandMeter: Sendable {
    /// `nil` for no limit.
    let templates: SharedJSONeBudget?
    /// The most so far: the template budget allows for these.
    private let rows: Mutex<Int>
    private let limit: Duration?
    private let start = ContinuousClock.now

    /// Rendering outside of a command is not timed. A template may be rendered for every row, so large tables get more:
    /// 200 steps and 1,000 bytes for each row, as docs/limits.md promises. `allow` must add the same.
    init(rows: Int, _ limits: TableLimits, isTimed: Bool = true) {
        limit = isTimed ? limits.commandTime : nil
        self.rows = Mutex(rows)
        templates = SharedJSONeBudget(
            steps: limits.templateSteps.saturatingAdd(200 * rows),
            output: limits.renderedBytes.saturatingAdd(1_000 * rows))
    }

    /// Without limits.
    init() {
        limit = nil
        rows = Mutex(0)
        templates = nil
    }

    /// Less is left than one template may use, so another failure may be due to this limit.
    var isNearlyUsedUp: Bool {
        let whole = JSONeBudget(), left = templates?.budget ?? whole
        return left.remainingSteps < whole.remainingSteps || left.remainingOutput < whole.remainingOutput
    }

    /// Raises the template budget if the table has outgrown it.
    func allow(rows: Int) {
        let more = self.rows.withLock { known in
            defer { known = max(known, rows) }
            return max(0, rows - known)
        }
        templates?.add(steps: 200 * more, output: 1_000 * more)
    }

    func charge(_ work: (inout JSONeBudget) throws(JSONeError) -> Void) throws(Refusal) {
        let whole = templates?.budget ?? JSONeBudget()
        var budget = whole
        defer { templates?.charge(budget, of: whole) }
        do throws(JSONeError) {
            try work(&budget)
        } catch {
            throw Refusal(.templateFailed, "The handlers of this command failed: \(error.message).")
        }
    }

    /// For bytes of the description that a section repeats: a constant in each row, titles, move targets.
    func charge(repeated bytes: Int, in section: SectionID) throws(Refusal) {
        guard templates?.take(output: bytes) == false else { return }
        throw Refusal(
            .templateFailed,
            "At the section \"\(section)\", the command exceeds the number of bytes that it may render (--max-rendered-bytes). The description repeats long constants in the rows, or long lists of move targets in the sections. Make them shorter."
        )
    }

    /// For loops whose length a request can choose. Throws `commandTimeout`.
    func checkTime() throws(Refusal) {
        guard let limit, ContinuousClock.now - start > limit else { return }
        throw Refusal(
            .commandTimeout,
            "The command took more than the \(Self.seconds(limit)) that it may take. Nothing was changed. Send it in smaller parts."
        )
    }

    private static func seconds(_ limit: Duration) -> String {
        let (seconds, attoseconds) = limit.components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        return milliseconds == 0 ? "\(seconds) seconds" : "\(seconds * 1_000 + milliseconds) milliseconds"
    }

    /// Only every 256th row: reading the clock can take longer than a row's work.
    func checkTime(at index: Int) throws(Refusal) { if index & 0xFF == 0 { try checkTime() } }
}

/// Limits of a table's size and of a command's cost.
public struct TableLimits: Sendable {
    /// The most stored ones, and the most displayed ones.
    public var rows = Int.max
    /// The most sections.
    public var sections = Int.max
    /// The most for one command, plus 200 for each row. Five million take about a third of a second. ``JSONeBudget``
    /// defines a step.
    public var templateSteps = 5_000_000
    /// The most that one command's templates build, counted as in ``JSONeBudget``; plus 1,000 for each row.
    public var renderedBytes = Int.max
    /// Rows of longer sections are rendered on demand, where they can be. Shorter sections' snapshots have less than
    /// about 1 MiB, which the server keeps for the next reader.
    package var renderedRows = 10_000
    /// New rows and sections must have ids that a request can name (`IDRule`); earlier ones keep theirs.
    public var checksIDs = false
    /// The longest for one command, checked between its parts. `nil` for no limit.
    public var commandTime: Duration?

    /// Only the templates' steps are limited.
    public init() {}

    /// A table above a lowered limit may keep its size or shrink.
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
