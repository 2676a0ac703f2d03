import BraidEngine
import BraidRuntime
import BraidStore

// Sessions in a store that several servers share. A session in a server's memory is a copy of the stored session.
//
// - A command learns from its commit that the server's copy is behind. A read asks the store first.
// - A copy catches up by applying the other servers' commands from the journal again. The cost of catching up depends
//   on the commands, not on the size of the session.

extension Session {
    /// Updates this server's copy to the revision that is stored at the time of the call, or to a later one. Throws
    /// `StaleSession` if the copy cannot catch up.
    func refresh() async throws {
        guard let revision = try await storedRevision(), revision > current.snapshot.revision else { return }
        try await commands.lock()
        do {
            try await follow(through: revision)
        } catch {
            await endTurn()
            throw error
        }
        await endTurn()
    }

    /// Refreshes this server's copy in the background, for its followers. If the refresh fails, the next notice starts
    /// another one.
    func refreshSoon() { Task { try? await refresh() } }

    /// Handles the notice that another server has committed `revision`.
    func hear(revision: Int) {
        if feed.hear(revision: revision) { refreshSoon() }
    }

    /// Refreshes this server's copy for a caller that holds the session's lock. Returns whether the copy was behind the
    /// store.
    func catchUp() async throws -> Bool {
        guard let revision = try await storedRevision(), revision > current.snapshot.revision else { return false }
        try await follow(through: revision)
        return true
    }

    /// Returns the session's revision in the store, or `nil` if servers cannot share the store.
    private func storedRevision() async throws -> Int? {
        guard let sharing = store.sharing else { return nil }
        let before = current
        if before.isStale { throw StaleSession() }
        guard let stored = try await sharing.revision(of: number) else {
            markStale(.ended)
            throw StaleSession()
        }
        // The database has lost commits: a standby that had not received the commits took over. The stored state is
        // authoritative, so the copy is stale.
        guard stored.number > before.snapshot.revision || stored == before.stored else {
            markStale()
            throw StaleSession()
        }
        return stored.number
    }

    private func follow(through revision: Int) async throws {
        while case let position = current.stored, position.number < revision {
            if isStale { throw StaleSession() }
            // Read the record of the copy's own revision as well, to check that the journal contains the same revision.
            // Revision 0 has no record, as the epoch identifies revision 0.
            var records = try await history(
                after: max(0, position.number - 1), limit: feed.limits.historyPage, bytes: Self.pageBytes)
            // The record of the copy's own revision may fill a page of the journal, so read the next page.
            if records.count == 1, records[0].revision == position.number {
                records += try await history(
                    after: position.number, limit: feed.limits.historyPage, bytes: Self.pageBytes)
            }
            do {
                let isKnown =
                    position.number == 0
                    || records.first.map { StoredRevision(number: $0.revision, time: $0.at) } == position
                let news = records.drop { $0.revision <= position.number }
                guard isKnown, news.first?.revision == position.number + 1 else { throw StaleSession() }
                for record in news { try await apply(record) }
            } catch {
                // The journal does not reach back to the copy's revision, or contains another history. The stored state
                // is authoritative, so the copy is stale.
                markStale()
                throw StaleSession()
            }
        }
    }

    private static let pageBytes = 4 << 20

    private func apply(_ record: JournalRecord) async throws {
        let before = current
        let command =
            Command.isReset(journalText: record.command)
            ? .reset(to: try await openingTable()) : try Command(journalText: record.command)
        let outcome = try binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished,
            now: Instant(millisecondsSince1970: record.at).text)
        guard outcome.kind == .applied, outcome.snapshot.revision == record.revision,
            outcome.update.json == record.update
        else { throw StaleSession() }
        metrics.revisionsOfOthers.add()
        publish(outcome, updateText: record.update, rowEvents: record.rowEvents?.elements() ?? [], at: record.at)
    }

    /// Returns the table with which the session was opened.
    package func openingTable() async throws -> TableModel {
        guard let stored = try await store.opening(id), stored.facts.number == number else { throw StaleSession() }
        let opening = try SessionOpening(stored.body)
        guard opening.table != nil, let description = stored.description else {
            return try binder.openingTable(opening.sections, cells: opening.cells)
        }
        return try descriptions.compiled(description).openingTable(models: opening.models, state: opening.state)
    }
}

// MARK: - Taking turns with other servers

extension Session {
    /// Prepares the next attempt of a command that has lost `races` commits to other servers.
    ///
    /// After the first lost race, this server's copy only catches up. From the second lost race on, this server takes
    /// the session's turn, so that no other server may commit to the session.
    func makeWay(afterRaces races: Int) async throws {
        metrics.lostRaces.add()
        // The machine of another server has probably failed in the middle of a commit. The database will notice that
        // failure.
        guard races < Self.mostRaces else { throw StoreError.revisionConflict }
        guard let sharing = store.sharing, races >= 2 else { return _ = try await catchUp() }
        if sharedTurn.withLock({ $0 == nil }) {
            try await sharing.takeTurn(of: number)
            sharedTurn.withLock { $0 = .now }
        } else {
            // Commits that other servers had already sent can still arrive.
            try? await Task.sleep(for: .milliseconds(1))
        }
        _ = try await catchUp()
    }

    /// Unlocks the session for this server's next command. Ends this server's turn if no command is waiting or the turn
    /// has lasted longer than `longestTurn`, so that the other servers can commit.
    func endTurn() async {
        let isDue = sharedTurn.withLock { since in
            guard let begin = since, !commands.isAwaited || .now - begin > Self.longestTurn else { return false }
            since = nil
            return true
        }
        if isDue { await store.sharing?.endTurn(of: number) }
        commands.unlock()
    }

    private static let mostRaces = 2_000
    private static let longestTurn = Duration.milliseconds(20)
}

extension Command {
    static func isReset(journalText text: JSONText) -> Bool { text["reset"] != nil }

    /// Reads a command from its text in the journal. The text of a reset contains no table, so callers must check
    /// `isReset` first.
    package init(journalText text: JSONText) throws {
        if let transaction = text["transactions"] {
            try self.init(resource: "transactions", body: transaction)
        } else {
            try self.init(json: text)
        }
    }
}
