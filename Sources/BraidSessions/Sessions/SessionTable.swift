import BraidEngine
import BraidRuntime
import BraidStore

/// A session at one revision: all rows (`model`), and what clients see (`snapshot`).
package struct SessionTable: Sendable {
    var bound: BoundTable
    var model: TableModel
    package var snapshot: Snapshot

    /// The same rows, displayed otherwise.
    func showing(_ snapshot: Snapshot) -> SessionTable {
        var table = self
        table.snapshot = snapshot
        return table
    }

    /// O(sections).
    var windows: WindowSource { WindowSource(snapshot, of: model, by: bound.binder) }
}

extension Session {
    /// As clients saw it; `nil`: the current one. An earlier one is restored from the journal: O(rows · log rows +
    /// journal since). Throws `badRequest` if it is ahead, `revisionNotAvailable` if beyond the journal, or
    /// `StaleSession`.
    package func table(atRevision revision: Int?) async throws -> SessionTable {
        let current = current
        if isStale { throw StaleSession() }
        guard let revision, revision != current.snapshot.revision else { return current.table }
        guard revision < current.snapshot.revision else {
            throw SessionError(
                .badRequest,
                "The session \"\(id)\" is at revision \(current.snapshot.revision) and has no revision \(revision) yet."
            )
        }
        return try await withTaskExecutorPreference(Workers.shared.long) {
            try await rewinds.withLock {
                guard let stored = try await store.session(id, at: revision) else {
                    throw SessionError(
                        .revisionNotAvailable,
                        "The journal of the session \"\(id)\" does not reach back to revision \(revision).")
                }
                guard stored.summary.number == number, stored.summary.epoch == epoch else { throw StaleSession() }
                let bound = try stored.boundTable(descriptions)
                var binder = bound.binder
                binder.limits.templateSteps = .max
                let (model, snapshot, _) = try stored.restored(by: binder)
                if snapshot.totalRowCount > Workers.shortRows { Memory.trimSoon() }
                return SessionTable(bound: bound, model: model, snapshot: snapshot)
            }
        }
    }

    /// Throws `revisionNotAvailable`.
    func checkEpoch(of position: Position) throws(SessionError) {
        guard position.epoch == nil || position.epoch == epoch else {
            throw SessionError(
                .revisionNotAvailable,
                "The position \(position) is of another epoch. The session's epoch is \(epoch): it was opened again, or a backup was restored."
            )
        }
    }
}

extension TableModel {
    /// `nil`: the description decides.
    var storedDisplayedSections: JSONText? { displayedSections.map { JSONText(ids: $0) } }

    var storedCells: JSONText? { cells.isEmpty ? nil : cells.json }

    var storedRows: [(section: Int, row: StoredRow)] {
        // An iterator, because `map` would find each row by its index.
        var rows: [(section: Int, row: StoredRow)] = []
        for section in sections { for row in section.rows { rows.append((section.summary.number, row)) } }
        return rows
    }
}
