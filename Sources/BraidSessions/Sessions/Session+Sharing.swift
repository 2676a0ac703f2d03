import BraidEngine
import BraidRuntime
import BraidStore

// Several servers can share a store. Each one that uses a session has a copy of it in memory.
//
// - A command notices that the copy is behind when its commit is refused. One that failed or changed nothing asks the
//   store for the current revision before it is answered. A request that reads a session asks the store first.
// - A copy catches up by executing the other servers' commands from the journal. The cost depends on the commands, not
//   on the size of the session.

extension Session {
    /// Updates this server's copy of the session to the revision that is stored at the time of the call, or to a later
    /// one. Throws `StaleSession` if the copy cannot catch up.
    func refresh() async throws {
        guard let revision = try await storedRevision(), revision > self.revision else { return }
        try await withCommandLock { try await follow(through: revision) }
    }

    /// Updates the copy in the background, for its streams and long polls. After a failure, the next notice of another
    /// server starts another attempt.
    func refreshSoon() { Task { try? await refresh() } }

    /// Handles the notice that another server has committed `revision` of this session.
    func hear(revision: Int) {
        if feed.hear(revision: revision) { refreshSoon() }
    }

    /// Updates the copy, for a caller that holds the lock `commands`. Returns whether it was behind the store.
    func catchUp() async throws -> Bool {
        guard let revision = try await storedRevision(), revision > self.revision else { return false }
        try await follow(through: revision)
        return true
    }

    /// Returns the latest revision in the store. `nil` if servers cannot share the store.
    private func storedRevision() async throws -> Int? {
        guard let sharing = store.sharing else { return nil }
        let before = current
        if before.isStale { throw StaleSession() }
        guard let stored = try await sharing.revision(of: number) else {
            markStale(.ended)
            throw StaleSession()
        }
        // If the store is behind this copy, or has another revision with the same number, the database has lost
        // commits: a standby without them may have taken over. What is stored is authoritative.
        guard stored.number > before.snapshot.revision || stored == before.stored else {
            markStale()
            throw StaleSession()
        }
        return stored.number
    }

    private func follow(through revision: Int) async throws {
        while case let position = current.stored, position.number < revision {
            if isStale { throw StaleSession() }
            // Read the record of the copy's own revision as well, to check that the journal contains the same one.
            // Revision 0 has no record: the epoch identifies it.
            var records = try await history(
                after: max(0, position.number - 1), limit: feed.limits.historyPage, bytes: Self.pageBytes)
            // That record may fill a page of the journal.
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
                for record in news { try await replay(record) }
            } catch {
                // The journal does not reach back to the copy's revision, or contains another history.
                markStale()
                throw StaleSession()
            }
        }
    }

    private static let pageBytes = 4 << 20

    /// Executes another server's command, which must lead to the same update here.
    private func replay(_ record: JournalRecord) async throws {
        let before = current, now = Instant(millisecondsSince1970: record.at).text
        let command = try await completed(
            Command(journalText: record.command, compiled: descriptions.compiled), for: before.bound)
        let outcome = try before.bound.binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: now,
            ids: ids.source(revision: record.revision, at: now))
        guard outcome.kind == .applied, outcome.snapshot.revision == record.revision,
            outcome.update.json == record.update
        else { throw StaleSession() }
        metrics.revisionsOfOthers.add()
        advance(
            by: Execution(
                session: self, before: before, command: command, text: record.command, outcome: outcome,
                updateText: record.update, controllerEvents: record.controllerEvents?.elements() ?? [], place: nil,
                time: record.at, isDryRun: false))
    }

    /// Prepares the next attempt of a command that has lost `races` commits to other servers: updates the copy and,
    /// from the second lost race on, takes this server's turn, so that no other server can begin a commit.
    func makeWay(afterRaces races: Int) async throws {
        metrics.lostRaces.add()
        // Probably the machine of another server has failed in the middle of a commit, and the database has not noticed
        // this yet.
        guard races < Self.mostRaces else { throw StoreError.revisionConflict }
        guard let sharing = store.sharing, races >= 2 else { return _ = try await catchUp() }
        if sharedTurn.withLock({ $0 == nil }) {
            try await sharing.takeTurn(of: number)
            sharedTurn.withLock { $0 = .now }
        } else {
            // The race was lost to a commit that another server had sent before this turn. Wait for such commits.
            try? await Task.sleep(for: .milliseconds(1))
        }
        _ = try await catchUp()
    }

    private static let mostRaces = 2_000
}
