import BraidEngine
import BraidRuntime
import BraidStore

// Several servers can share a store, each with its copy of a session.
//
// - A command learns that its copy is behind when its commit is refused. One that failed or changed nothing asks the
//   store before it is answered, as do reads.
// - A copy catches up by executing the others' commands from the journal, which costs as much as these, whatever the
//   session's size.

extension Session {
    /// Catches up at least to the revision stored now. Throws `StaleSession` if the copy cannot catch up.
    func refresh() async throws {
        guard let revision = try await storedRevision(), revision > self.revision else { return }
        try await withCommandLock {
            await underWay.settled()
            try await follow(through: revision)
        }
    }

    /// After a failure, the next notice tries again.
    func refreshSoon() { Task { try? await refresh() } }

    /// Without followers, the next request catches up.
    func hear(revision: Int) {
        if feed.hear(revision: revision) || viewers.isFollowed { refreshSoon() }
    }

    /// The caller holds `commands`. Returns whether the copy was behind.
    func catchUp() async throws -> Bool {
        await underWay.settled()
        guard let revision = try await storedRevision(), revision > self.revision else { return false }
        try await follow(through: revision)
        return true
    }

    /// `nil`: not shared.
    private func storedRevision() async throws -> Int? {
        guard let sharing = store.sharing else { return nil }
        let before = current
        if isStale { throw StaleSession() }
        guard let stored = try await sharing.revision(of: number) else {
            markStale(.ended)
            throw StaleSession()
        }
        // The store is behind this copy, or has another revision with the same number: the database has lost commits (a
        // standby without them has taken over). What is stored counts.
        guard stored.number > before.snapshot.revision || stored == before.stored else {
            markStale()
            throw StaleSession()
        }
        return stored.number
    }

    private func follow(through revision: Int) async throws {
        while case let position = current.stored, position.number < revision {
            if isStale { throw StaleSession() }
            // Read the copy's own revision, too, to see that the journal has the same. Revision 0 has no record: there,
            // the epoch tells.
            var records = try await history(
                after: max(0, position.number - 1), limit: feed.limits.historyPage, bytes: Self.pageBytes)
            // The copy's own record may have filled the page.
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
                // The journal is trimmed too far, or has another history.
                markStale()
                throw StaleSession()
            }
        }
    }

    private static let pageBytes = 4 << 20

    /// Executes another server's command, which must lead to the same update.
    private func replay(_ record: JournalRecord) async throws {
        let before = current, now = Instant(millisecondsSince1970: record.at).text
        guard let sender = Looker(by: record.by) else { throw StaleSession() }
        let command = try await completed(
            Command(journalText: record.command, compiled: descriptions.compiled), for: before.bound)
        let outcome = try before.bound.binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: now,
            ids: ids.source(revision: record.revision, at: now), by: sender.user,
            seeing: own(of: sender, at: before, for: Quota.Account(resource: id)))
        guard outcome.kind == .applied, outcome.snapshot.revision == record.revision,
            outcome.update.json == record.update
        else { throw StaleSession() }
        metrics.revisionsOfOthers.add()
        let execution = Execution(
            session: self, before: before, command: command, text: record.command, outcome: outcome,
            updateText: record.update, controllerEvents: record.controllerEvents?.elements() ?? [],
            sender: sender, viewer: nil, place: nil, time: record.at, isDryRun: false)
        let after = before.advanced(by: execution)
        before.lead(to: after, by: execution)
        advance(by: execution, to: after)
    }

    /// Catches up. From the second lost race on, first takes this server's turn, in which no other can begin a commit.
    func makeWay(afterRaces races: Int) async throws {
        metrics.lostRaces.add()
        // Probably another machine has failed in the middle of a commit, and the database has not noticed yet.
        guard races < Self.mostRaces else { throw StoreError.revisionConflict }
        guard let sharing = store.sharing, races >= 2 else { return _ = try await catchUp() }
        if sharedTurn.withLock({ $0 == nil }) {
            try await sharing.takeTurn(of: number)
            sharedTurn.withLock { $0 = .now }
        } else {
            // Lost to a commit sent before this turn: wait for such ones.
            try? await Task.sleep(for: .milliseconds(1))
        }
        _ = try await catchUp()
    }

    private static let mostRaces = 2_000
}
