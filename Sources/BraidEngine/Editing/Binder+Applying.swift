/// What a command did: the new table, what a store has to write, and what clients receive.
public struct Outcome: Sendable {
    /// Whether a command was applied, had nothing to change, or was ignored.
    public enum Kind: Sendable, Equatable {
        /// The command made a new revision.
        case applied
        /// The command had nothing to change, and makes no new revision.
        case unchanged
        /// The contract has the server ignore the command, not refuse it. No new revision. The reason is a sentence for
        /// the client.
        case ignored(reason: String)
    }

    /// Whether the command was applied, had nothing to change, or was ignored.
    public var kind: Kind
    /// The stored table after the command.
    public var table: TableModel
    /// What clients see after the command: ``table``, unless a change is unpublished.
    public var snapshot: Snapshot
    /// The stored changes that clients do not see yet. `nil` if clients see all changes.
    public var unpublished: Unpublished?
    /// What a store has to write to get to ``table``.
    public var change: TableChange
    /// What a store has to write to get back.
    public var undo: TableChange
    /// From what clients saw before to ``snapshot``; without stages if nothing displayed changed.
    public var update: BatchUpdate
    /// For the session's controllers, in order.
    public var controllerEvents: [ControllerEvent] = []
    /// For the delegate of a data source.
    public var notification: DataSourceNotification?
    /// What ``DataSourceCommand/insertRow(_:at:in:)`` or ``DataSourceCommand/putRow(_:id:in:)`` inserted, or the rows
    /// of ``DataSourceCommand/insertRows(_:at:in:)`` without ids. Not in transactions, and not if the call replaced a
    /// row.
    public var inserted: (section: SectionID, id: RowID?)?
    /// What the call ``DataSourceCommand/insertRows(_:at:in:)`` or ``DataSourceCommand/putRows(_:at:in:moves:)`` did.
    /// `nil` for other commands, and for transactions.
    public var tally: RowTally?
    /// The new description, if the command changed it.
    public var rebinding: Rebinding?

    /// Whether ``kind`` is `ignored`.
    public var isIgnored: Bool { if case .ignored = kind { true } else { false } }

    /// About how many bytes a store writes, without the command's text and events. O(changed rows).
    package func estimatedSize(after before: Snapshot) -> Int {
        update.estimatedSize + update.hiddenSize(in: before) + change.estimatedSize + undo.estimatedSize
    }
}

extension Binder {
    /// Executes a command: checks the policy, runs the handlers, checks the invariants, and computes the new snapshot
    /// and update. If it throws, nothing has changed.
    ///
    /// - Parameters:
    ///   - command: its index paths refer to `shown`; in a data source call, to the snapshot of `table`; in a
    ///     transaction, to the table after the commands before.
    ///   - table: the stored table.
    ///   - shown: what clients see: the snapshot of `table` or, while a change is unpublished, the last published one.
    ///   - unpublished: the stored changes that clients do not see yet.
    ///   - now: the time in RFC 3339.
    ///   - ids: the source of `uuid()`; an equal source makes the same ids again.
    ///   - strict: whether a data source call that would be ignored is refused with `rowNotFound` or `sectionNotFound`.
    /// - Throws: ``Refusal``, and the errors of a Swift program's closures.
    /// - Complexity: O(sections), and rendering and comparing the touched rows, those of earlier unpublished changes
    ///   included.
    public func applying(
        _ command: Command, to table: TableModel, shown: Snapshot, unpublished: Unpublished?, now: String,
        ids: IDSource = .random, strict: Bool = false
    ) throws -> Outcome {
        try applying(
            command, to: table, shown: shown, unpublished: unpublished, now: now, ids: ids, strict: strict,
            refreshes: false)
    }

    /// - Parameter refreshes: whether handlers may have changed what is displayed without changing the table, as a
    ///   Swift program's closures can.
    func applying(
        _ command: Command, to table: TableModel, shown: Snapshot, unpublished: Unpublished?, now: String,
        ids: IDSource = .random, strict: Bool = false, refreshes: Bool
    ) throws -> Outcome {
        if case .rebind(let rebinding) = command {
            return try self.rebinding(rebinding, table, shown: shown, unpublished: unpublished, now: now)
        }
        var work = CommandInProgress(
            binder: self, table: table, shown: shown, unpublished: unpublished, now: now, ids: ids)
        work.isRefresh = refreshes
        work.isStrict = strict
        var ignored: String?
        switch command {
        case .transaction(let commands):
            work.isTransaction = true
            for (index, command) in commands.enumerated() {
                do {
                    ignored = try work.perform(command) ?? ignored
                } catch let refusal as Refusal {
                    throw refusal.placed(in: command, at: index)
                }
            }
        default: ignored = try work.perform(command)
        }
        return try work.outcome(ignored: ignored)
    }
}

// What a Swift program's binder does that is no command.
extension Binder {
    /// The table of a new binder, with the models that the program keeps.
    ///
    /// - Parameter displayed: `nil` displays all sections or, under automatic display, those with something to show.
    func openingTable(displayed: [SectionID]? = nil) throws -> TableModel {
        var work = CommandInProgress(binder: self, table: TableModel(), shown: Snapshot(), now: "")
        for id in declaredSections ?? [] { try work.editor.ensureSection(id) }
        if let displayed {
            try work.admit(toDisplay: displayed)
            work.editor.setDisplayedSections(displayed)
        }
        try work.readProvided()
        return work.editor.table
    }

    /// Reads all that a program's closures return, and renders the table again.
    ///
    /// - Parameter displayed: `nil` keeps the displayed sections.
    func refreshing(_ table: TableModel, shown: Snapshot, displayed: [SectionID]?) throws -> Outcome {
        var work = CommandInProgress(binder: self, table: table, shown: shown, now: "")
        work.isRefresh = true
        if let displayed {
            try work.admit(toDisplay: displayed)
            _ = try work.setDisplayedSections(displayed)
        }
        try work.readProvided()
        try work.show()
        return try work.outcome(ignored: nil)
    }
}

extension CommandInProgress {
    /// Each section must exist and be named once. A missing dynamic section is created.
    fileprivate mutating func admit(toDisplay ids: [SectionID]) throws(Refusal) {
        guard Set(ids).count == ids.count else {
            throw Refusal(
                .badRequest, "A section cannot be displayed twice: \(ids.map { "\"\($0)\"" }.joined(separator: ", ")).")
        }
        for id in ids {
            if binder.declaredSections == nil { try editor.ensureSection(id) }
            _ = try editor.position(of: id)
        }
    }
}

extension Refusal {
    fileprivate func placed(in command: Command, at index: Int) -> Refusal {
        let place = JSONPointer(tokens: ["commands", String(index)])
        switch (code, command) {
        case (.modelInvalid, .setModels) where !faults.isEmpty: return placed(at: place.appending(command.kind.name))
        // The pointers of a failed template lead into the description.
        case (.templateFailed, _):
            var refusal = self
            refusal.faults.insert(Fault(pointer: place, code: .templateFailed, detail: detail), at: 0)
            return refusal
        case (.eventInvalid, .event): return placed(at: place.appending("events"))
        default:
            // The pointers may refer to a template's result or to a body, with or without its resource's name, so the
            // pointer to the command takes their place.
            var refusal = self
            refusal.faults =
                faults.isEmpty
                ? [Fault(pointer: place, code: .refused, detail: detail)]
                : faults.map { Fault(pointer: place, code: $0.code, detail: $0.detail) }
            return refusal
        }
    }
}

extension Refusal {
    static func noDisplayedSection(_ index: Int, of count: Int) -> Refusal {
        Refusal(
            .sectionNotFound,
            "Section \(index) does not exist. The table displays \(counted(count, "section")), counted from 0."
        )
    }
}

extension Snapshot {
    /// The displayed section that a reference names.
    ///
    /// - Throws: ``Refusal`` with `sectionNotFound` if it is not displayed.
    package func section(_ reference: SectionReference) throws(Refusal) -> Section {
        switch reference {
        case .displayed(let index):
            guard index >= 0, index < sections.count else {
                throw .noDisplayedSection(index, of: sections.count)
            }
            return sections[index]
        case .id(let id):
            guard let section = sections.first(where: { $0.id == id }) else {
                throw .notDisplayed(id, among: sections.lazy.map(\.id))
            }
            return section
        }
    }
}

extension Binder {
    /// Estimates a command's cost as the number of rows that are rendered and compared, without what handlers do.
    ///
    /// - Complexity: O(sections and commands that the command lists).
    public func estimatedCost(of command: Command, rowCount: Int) -> Int {
        switch command {
        case .delete, .insert, .move, .tap, .event:
            // Where expressions read these, any change may render every row again.
            reads.isDisjoint(with: [.row, .count, .models, .now]) ? 1 : rowCount
        case .setModels(let sections, let merging):
            sections.reduce(merging ? 0 : rowCount) { $0 + 1 + $1.models.count }
        case .setHeaders(let titles, _), .setFooters(let titles, _): 1 + titles.count
        case .setDisplayedSections(let ids): 1 + ids.count
        case .setState: reads.contains(.state) ? rowCount : 1
        case .displayedRows(let rows): 1 + rows.count
        case .dataSource(let call, _):
            call.bringsRows
                + (call.concernsAllRows || !reads.isDisjoint(with: [.row, .count, .models, .now]) ? rowCount : 1)
        case .reset, .rebind: rowCount
        case .transaction(let commands):
            commands.reduce(1) { $0.saturatingAdd(estimatedCost(of: $1, rowCount: rowCount)) }
        }
    }
}

extension DataSourceCommand {
    /// The length of the call's list of rows, if it has one.
    fileprivate var bringsRows: Int {
        switch self {
        case .updateRowsOfSection(let rows, _), .insertRows(let rows, _, _), .putRows(let rows, _, _, _): rows.count
        case .updateRows(let rows): rows.count
        case .addSection(let section, _), .updateSection(let section, _): section.rows.count
        case .updateAllSections(let sections): sections.reduce(0) { $0 + $1.rows.count }
        case .addRow, .updateRow, .removeRow, .insertRow, .putRow, .patchRow, .deleteRow, .updateSectionData,
            .removeSection, .removeAllSections, .registerCell:
            0
        }
    }

    /// Whether many rows are replaced, removed or rendered again.
    fileprivate var concernsAllRows: Bool {
        switch self {
        case .updateRowsOfSection, .updateSection, .updateAllSections, .removeSection, .removeAllSections,
            .registerCell:
            true
        case .addRow, .updateRow, .updateRows, .removeRow, .insertRow, .insertRows, .putRow, .putRows, .patchRow,
            .deleteRow, .addSection, .updateSectionData:
            false
        }
    }
}
