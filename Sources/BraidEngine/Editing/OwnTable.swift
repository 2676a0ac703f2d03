/// What somebody sees who has a table of their own.
public struct OwnTable: Sendable {
    /// Who they are.
    public var viewer: Viewer
    /// At the revision of the session's.
    public var snapshot: Snapshot

    /// From its parts.
    public init(viewer: Viewer, snapshot: Snapshot) {
        self.viewer = viewer
        self.snapshot = snapshot
    }
}

// Of a binder made by `seen(by:)`. `lent` is the session's own snapshot of the same table: where both look the same,
// they share the rows.
extension Binder {
    /// O(rows), but renders only those that differ from `lent`.
    package func ownSnapshot(of table: TableModel, sharing lent: Snapshot) throws -> Snapshot {
        try ownSnapshot(of: table, sharing: lent, after: nil)
    }

    /// The next one, after a command. O(log rows) for each touched row, if the rows depend only on their models.
    package func ownSnapshot(
        of table: TableModel, sharing lent: Snapshot, after old: (table: TableModel, snapshot: Snapshot),
        _ step: TableEditor.Step
    ) throws -> Snapshot {
        guard step.changedAnything || readsNow else {
            var snapshot = old.snapshot
            snapshot.revision = lent.revision
            return snapshot
        }
        return try ownSnapshot(
            of: table, sharing: lent, after: Previous(table: old.table, snapshot: old.snapshot, step: step))
    }

    private func ownSnapshot(of table: TableModel, sharing lent: Snapshot, after previous: Previous?) throws
        -> Snapshot
    {
        var remade: [Remade] = []
        return try snapshot(
            of: table, revision: lent.revision, after: previous, sharing: lent, remade: &remade,
            evaluation(of: table, now: lent.now))
    }

    /// Between any two revisions, also of two views. O(sections), and comparing what the snapshots do not share.
    package func ownUpdate(
        from old: (table: TableModel, snapshot: Snapshot), to new: (table: TableModel, snapshot: Snapshot)
    ) throws(Refusal) -> BatchUpdate {
        // Ids of displayed rows are unique: rendering and storing check that.
        try BatchUpdate(from: old.snapshot, to: new.snapshot, touched: TouchedRows()) { id in
            guard binding(of: id)?.cells.source.isStored == true, let oldStored = old.table[id],
                let newStored = new.table[id], let before = displayedPlace(of: id, in: old.snapshot, of: old.table),
                let after = displayedPlace(of: id, in: new.snapshot, of: new.table)
            else { return nil }
            let oldSection = old.snapshot.sections[before], newSection = new.snapshot.sections[after]
            guard oldSection.places != nil, newSection.places != nil else {
                return MatchedStretch.matching(oldStored.rows, newStored.rows)
            }
            return MatchedStretch.matching(oldSection, of: oldStored, newSection, of: newStored)
        }
    }
}

extension Snapshot {
    /// Rows that take memory of their own beside another snapshot of the same table. O(sections + rows / 64).
    package func unsharedRows(with other: Snapshot) -> Int {
        let others = Dictionary(other.sections.map { ($0.id, $0.rows) }) { first, _ in first }
        return sections.reduce(0) { $0 + $1.rows.unsharedCount(with: others[$1.id] ?? []) }
    }
}

extension Refusal {
    /// For somebody who does not see all rows: whatever can be about one that they do not see is said without names.
    var discreet: Refusal {
        var refusal = self
        switch code {
        case .handlerContract, .templateFailed:
            refusal.detail =
                "The table's own rules failed for this command, so it was not executed. Only a controller may know more."
        case .sectionNotFound: refusal.detail = "The table displays no such section. Get the snapshot."
        default: return self
        }
        refusal.faults = faults.first?.pointer.tokens.first == "commands" ? faults : []
        return refusal
    }

    static func idUnusable(_ id: RowID) -> Refusal {
        Refusal(.idInvalid, "The id \"\(id)\" cannot be used. Choose another.")
    }
}
