import BraidEngine
import BraidRuntime
import BraidStore

// Several servers can share a store. Each server that uses a session then has a copy of the stored session in its
// memory.
//
// - A command notices that the server's copy is behind when its commit is refused. A command that failed or changed
//   nothing asks the store for the current revision before it is answered. A request that reads a session first asks
//   the store for the current revision.
// - A copy catches up by applying the other servers' commands from the journal again. The cost of catching up depends
//   on the commands, not on the size of the session.

extension Session {
    /// Updates this server's copy of the session to the revision that is stored at the time of the call, or to a later
    /// one. Throws `StaleSession` if the copy cannot catch up.
    func refresh() async throws {
        guard let revision = try await storedRevision(), revision > self.revision else { return }
        try await commands.lock()
        do {
            try await follow(through: revision)
        } catch {
            await endTurn()
            throw error
        }
        await endTurn()
    }

    /// Updates this server's copy of the session in the background, for its streams and long polls. If the update
    /// fails, the next notice of another server starts another attempt.
    func refreshSoon() { Task { try? await refresh() } }

    /// Handles the notice that another server has committed `revision` of this session.
    func hear(revision: Int) {
        if feed.hear(revision: revision) { refreshSoon() }
    }

    /// Updates this server's copy of the session, for a caller that holds the session's lock. Returns whether the copy
    /// was behind the store.
    func catchUp() async throws -> Bool {
        guard let revision = try await storedRevision(), revision > self.revision else { return false }
        try await follow(through: revision)
        return true
    }

    /// Returns the session's latest revision in the store. Returns `nil` if servers cannot share the store.
    private func storedRevision() async throws -> Int? {
        guard let sharing = store.sharing else { return nil }
        let before = current
        if before.isStale { throw StaleSession() }
        guard let stored = try await sharing.revision(of: number) else {
            markStale(.ended)
            throw StaleSession()
        }
        // If the store is behind this server's copy, or has another revision with the same number, the database has
        // lost commits. For example, a standby without these commits took over. The stored state is authoritative, so
        // the copy is stale.
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
            if Command.isReset(journalText: record.command) {
                Command.reset(to: try before.bound.resetContent(of: try await opening()))
            } else {
                try Command(journalText: record.command, compiled: descriptions.compiled)
            }
        let now = Instant(millisecondsSince1970: record.at).text
        let outcome = try before.bound.binder.applying(
            command, to: before.model, shown: before.snapshot, unpublished: before.unpublished, now: now,
            ids: ids.source(revision: record.revision, at: now))
        guard outcome.kind == .applied, outcome.snapshot.revision == record.revision,
            outcome.update.json == record.update
        else { throw StaleSession() }
        metrics.revisionsOfOthers.add()
        publish(
            outcome, updateText: record.update, controllerEvents: record.controllerEvents?.elements() ?? [],
            at: record.at)
    }

    /// Returns the request that opened the session, for a reset.
    func opening() async throws -> SessionOpening {
        guard let stored = try await store.opening(id), stored.summary.number == number else { throw StaleSession() }
        return try SessionOpening(stored: stored.body, description: stored.description)
    }
}

// MARK: - Turns: locking a session against other servers

extension Session {
    /// Prepares the next attempt of a command that has lost `races` commits to other servers.
    ///
    /// After the first lost race, this server only updates its copy of the session. From the second lost race on, this
    /// server also locks the session (takes its turn), so that no other server can begin a commit to it.
    func makeWay(afterRaces races: Int) async throws {
        metrics.lostRaces.add()
        // Give up after very many lost races. Probably the machine of another server has failed in the middle of a
        // commit, and the database has not noticed this yet.
        guard races < Self.mostRaces else { throw StoreError.revisionConflict }
        guard let sharing = store.sharing, races >= 2 else { return _ = try await catchUp() }
        if sharedTurn.withLock({ $0 == nil }) {
            try await sharing.takeTurn(of: number)
            sharedTurn.withLock { $0 = .now }
        } else {
            // This server has the turn and still lost a race, to a commit that another server had sent before. Wait for
            // such commits to arrive.
            try? await Task.sleep(for: .milliseconds(1))
        }
        _ = try await catchUp()
    }

    /// Releases the lock `commands` of this session. Also ends this server's turn, its lock against other servers, if
    /// no other command waits or the turn has lasted longer than `longestTurn`. Then other servers can commit.
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

    /// Parses a command from the text with which the journal records it. The text of a reset does not contain the rows
    /// to which the session is reset, so callers must check `isReset` first.
    ///
    /// - Parameter compiled: returns the compiled table description for its text.
    package init(
        journalText text: JSONText,
        compiled: (JSONText) throws -> TableDescription = { try TableDescription(stored: $0) }
    ) throws {
        if let table = text["table"] {
            self = .rebind(try Rebinding(json: table, compiled: compiled))
        } else if let transaction = text["transactions"] {
            try self.init(kind: "transactions", body: transaction)
        } else {
            try self.init(json: text)
        }
    }
}
