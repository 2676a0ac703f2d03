import BraidEngine
import BraidRuntime
import BraidStore

/// A session's table at one revision: all rows of the table (`model`), and what clients see (`snapshot`).
package struct SessionTable: Sendable {
    var bound: BoundTable
    var model: TableModel
    package var snapshot: Snapshot

    /// The table, prepared for cutting windows. O(sections).
    var windows: WindowSource { WindowSource(snapshot, of: model, by: bound.binder) }
}

extension Session {
    /// Returns the table that clients saw at a revision, or the current one if `revision` is `nil`. Unpublished changes
    /// are not part of the returned table.
    ///
    /// The current table is in memory. An earlier table is restored from the session's journal. The time depends on the
    /// size of the whole table and of the journal after the revision: `O(rows · log rows + journal)`.
    ///
    /// - Throws: `badRequest` if the revision is ahead of the session. `revisionNotAvailable` if the journal does not
    ///   reach back to the revision. `StaleSession` if the session object is stale, for example because the session was
    ///   ended.
    package func table(atRevision revision: Int?) async throws -> SessionTable {
        let current = current
        if current.isStale { throw StaleSession() }
        guard let revision, revision != current.snapshot.revision else {
            return current.table
        }
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

    /// Returns the table that clients saw at a position.
    ///
    /// - Throws: the same errors as `table(atRevision:)`. Also throws `revisionNotAvailable` for a position of
    ///   another epoch.
    package func table(at position: Position) async throws -> SessionTable {
        guard position.epoch == nil || position.epoch == epoch else {
            throw SessionError(
                .revisionNotAvailable,
                "The position \(position) is of another epoch. The session's epoch is \(epoch): it was opened again, or a backup was restored."
            )
        }
        return try await table(atRevision: position.revision)
    }
}

extension SessionHost {
    /// Opens a session with the table that another session has, or had at an earlier revision. A fork of the current
    /// revision shares memory with the other session, until one of the two sessions changes its table: the changed
    /// parts are then copied.
    func fork(
        _ origin: SessionOpening.Origin, as given: String?, unusedLimit: Int?,
        keep: (@Sendable (Session) -> KeptAnswer)?
    ) async throws -> Session {
        let id = try await newID(given)
        return try await withCurrent(origin.session) { session in
            let table = try await session.table(atRevision: origin.revision)
            guard table.snapshot.totalRowCount > Workers.shortRows else {
                return try await add(table, of: origin, as: id, unusedLimit: unusedLimit, keep: keep)
            }
            // A store on disk needs a multiple of a large table's size in memory to write the table. So the server
            // makes only one fork of each large session at a time.
            return try await withTaskExecutorPreference(Workers.shared.long) {
                defer { Memory.trimSoon() }
                return try await session.rewinds.withLock {
                    try await add(table, of: origin, as: id, unusedLimit: unusedLimit, keep: keep)
                }
            }
        }
    }

    private func add(
        _ table: SessionTable, of origin: SessionOpening.Origin, as id: String, unusedLimit: Int?,
        keep: (@Sendable (Session) -> KeptAnswer)?
    ) async throws -> Session {
        var table = table
        let now = clock.instant(), revision = table.snapshot.revision
        if table.bound.binder.readsNow {
            // In every session, templates read the time of the last revision. For a new fork, that is the time of its
            // opening.
            table.bound.limits.templateSteps = .max
            table.snapshot = try table.bound.binder.snapshot(
                of: table.model, revision: 0, now: Instant(millisecondsSince1970: now).text)
        }
        table.snapshot.revision = 0
        table.bound = limited(table.bound)
        let model = table.model, bound = table.bound, rowCount = table.snapshot.totalRowCount
        let limit = limits.changeBytes
        let shared = SharedTable(
            opening: {
                // The stored opening of a fork contains the whole table, and each database stores the opening as one
                // value. So a fork of a table larger than `changeBytes` is refused.
                guard model.estimatedSize <= limit else { throw StoreError.tooLarge }
                return SessionOpening.stored(
                    from: origin, revision: revision, empty: bound.empty,
                    StoredSession(
                        summary: SessionSummary(
                            id: id, number: 0, table: bound.stored?.table, tableVersion: bound.version, epoch: "",
                            revision: 0, created: now, updated: now, totalRowCount: rowCount),
                        description: bound.stored?.text, state: model.state,
                        displayedSections: model.storedDisplayedSections, cells: model.storedCells,
                        nextKey: model.nextKey, nextSection: model.nextSection,
                        sections: model.sections.map { ($0.summary, Array($0.rows)) }))
            }, rows: { model.storedRows })
        return try await add(table, as: id, at: now, keep: keep) {
            $0.unusedLimit = unusedLimit
            $0.shared = shared
        }
    }
}

// Parts of a table in the form in which a store keeps them.
extension TableModel {
    /// The ids of the sections that were chosen for display, as a JSON array. `nil` if the description decides.
    var storedDisplayedSections: JSONText? { displayedSections.map { JSONText(ids: $0) } }

    /// The cells that the table registered for types of models, or `nil` if it registered none.
    var storedCells: JSONText? { cells.isEmpty ? nil : cells.json }

    /// The rows of all sections, each with the number of its section.
    var storedRows: [(section: Int, row: StoredRow)] {
        sections.flatMap { section in section.rows.map { (section.summary.number, $0) } }
    }
}
