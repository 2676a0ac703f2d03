import BraidEngine
import BraidRuntime
import BraidStore

// A session of a store that other servers use, too. What is in memory is a copy then: who commands it is told by the
// commit that it is behind, who reads it asks first. It catches up by doing again what the journal says the others did,
// which costs what the commands cost, and not what the session is large.

extension Session {
    /// Makes the copy what the session was when this was called, or later. Throws `StaleSession` where that cannot be.
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

    /// The same, for those who follow the session; if it cannot be now, the next notice comes.
    func refreshSoon() { Task { try? await refresh() } }

    /// Another server has come to that revision.
    func hear(revision: Int) {
        if feed.hear(revision: revision) { refreshSoon() }
    }

    /// The same for who has the turn already. Returns whether there was something to catch up with.
    func catchUp() async throws -> Bool {
        guard let revision = try await storedRevision(), revision > current.snapshot.revision else { return false }
        try await follow(through: revision)
        return true
    }

    /// Nil where nobody else can have changed it.
    private func storedRevision() async throws -> Int? {
        guard let sharing = store.sharing else { return nil }
        let before = current
        if before.isStale { throw StaleSession() }
        guard let stored = try await sharing.revision(of: number) else {
            markStale(.ended)
            throw StaleSession()
        }
        // The database has lost what was committed: a standby took over that had not heard of it. What is stored holds.
        guard stored.number > before.snapshot.revision || stored == before.stored else {
            markStale()
            throw StaleSession()
        }
        return stored.number
    }

    private func follow(through revision: Int) async throws {
        while case let position = current.stored, position.number < revision {
            if isStale { throw StaleSession() }
            // With the revision that the copy is at, to see that it is the same one. (The first, 0, is the epoch's.)
            var records = try await history(
                after: max(0, position.number - 1), limit: feed.limits.historyPage, bytes: Self.pageBytes)
            // That one alone may fill the page.
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
                // The journal does not reach back so far, or leads elsewhere here: what is stored holds.
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

    /// The table as the session was opened with it.
    package func openingTable() async throws -> TableModel {
        guard let stored = try await store.opening(id), stored.facts.number == number else { throw StaleSession() }
        let opening = try SessionOpening(stored.body)
        guard opening.table != nil, let description = stored.description else {
            return try binder.openingTable(opening.sections, cells: opening.cells)
        }
        return try descriptions.compiled(description).openingTable(models: opening.models, state: opening.state)
    }
}

// MARK: - Turns among servers

extension Session {
    /// Before a command is tried once more that has lost `races` to other servers' commands: from the second on, alone.
    func makeWay(afterRaces races: Int) async throws {
        metrics.lostRaces.add()
        // The machine of another server has gone in the middle of a commit: the database will find out.
        guard races < Self.mostRaces else { throw StoreError.revisionConflict }
        guard let sharing = store.sharing, races >= 2 else { return _ = try await catchUp() }
        if sharedTurn.withLock({ $0 == nil }) {
            try await sharing.takeTurn(of: number)
            sharedTurn.withLock { $0 = .now }
        } else {
            // What was on its way before is still to arrive.
            try? await Task.sleep(for: .milliseconds(1))
        }
        _ = try await catchUp()
    }

    /// Lets the next of this server have its turn, and after a while the other servers.
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

    /// A command as the journal has it; not for a reset, which brings no table along.
    package init(journalText text: JSONText) throws {
        if let transaction = text["transactions"] {
            try self.init(resource: "transactions", body: transaction)
        } else {
            try self.init(json: text)
        }
    }
}
