import BraidEngine
import BraidStore
import TestSupport
import Testing

/// A session loaded from the store must equal the one in memory.
@Suite struct StorePropertyTests {
    @Test(
        "After random commits, the store returns the present and the earlier states of a session as committed",
        arguments: StoreKind.forTests, 1...6)
    func randomCommits(kind: StoreKind, seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let place = try kind.place()
        var store = try kind.open(at: place, journalLimit: 7)
        var oracle: [String: StoredSession] = [:]
        /// Earlier states by session id, at the index of their revision.
        var history: [String: [StoredSession]] = [:]
        for step in 1...150 {
            let id = "s\(Int.random(in: 0..<4, using: &random))"
            if var session = oracle[id] {
                if Int.random(in: 0..<25, using: &random) == 0 {
                    #expect(try await store.deleteSession(id) != nil)
                    oracle[id] = nil
                } else {
                    let old = session
                    let before =
                        session.published
                        ?? PublishedTable(
                            updated: session.summary.updated, displayedSections: session.displayedSections,
                            sections: session.sections)
                    let change = randomChange(of: &session, using: &random)
                    session.summary.revision += 1
                    session.summary.updated = step
                    session.summary.totalRowCount = session.sections.map(\.rows.count).reduce(0, +)
                    let publishes = change.state != nil || Int.random(in: 0..<2, using: &random) == 0
                    session.published = publishes ? nil : before
                    try await store.commit(
                        SessionCommit(
                            session: session.summary.number, from: session.summary.revision - 1,
                            record: JournalRecord(
                                revision: session.summary.revision, at: step, command: "\(step)",
                                update: "[\(step)]"),
                            change: change, publishes: publishes, nextKey: session.nextKey,
                            nextSection: session.nextSection,
                            totalRowCount: session.summary.totalRowCount,
                            undo: undo(of: change, from: old)))
                    oracle[id] = session
                    history[id, default: []].append(session)
                }
            } else {
                let new = NewSession.make(id, state: "\(step)", rows: (1...3).map { (1, .make($0, id: "r\($0)")) })
                // With another session.
                let isShared = Bool.random(using: &random)
                let number = try await store.createSession(isShared ? new.sharing("\"opening \(step)\"") : new)
                #expect(try await store.opening(id)?.body == (isShared ? "\"opening \(step)\"" : new.opening))
                oracle[id] = StoredSession(
                    summary: SessionSummary(
                        id: id, number: number, table: nil, tableVersion: nil, epoch: new.summary.epoch, revision: 0,
                        created: 1000, updated: 1000, totalRowCount: 3),
                    description: new.description, state: new.state,
                    displayedSections: nil, cells: nil, nextKey: new.nextKey, nextSection: new.nextSection,
                    sections: [(new.sections[0], new.rows.map(\.row))])
                history[id] = oracle[id].map { [$0] }
            }
            #expect(dump(try await store.session(id)) == dump(oracle[id]))
            if let session = oracle[id], let states = history[id] {
                // The earliest state that the journal can restore, or the next without unpublished changes.
                let cut = max(0, session.summary.revision - 7)
                var start = cut == 0 ? nil : states[cut...].first { $0.published == nil } ?? session
                start?.summary.totalRowCount = session.summary.totalRowCount
                #expect(dump(try await store.journalStart(of: id)) == dump(start), "step \(step)")
                for revision in 0...session.summary.revision + 1 {
                    let seen = Self.seen(at: revision, in: states, from: cut)
                    #expect(dump(try await store.session(id, at: revision)) == dump(seen), "step \(step), \(revision)")
                }
            } else {
                #expect(try await store.journalStart(of: id) == nil)
                #expect(try await store.session(id, at: 0) == nil)
            }
            if kind != .memory, step % 50 == 0 {
                await store.close()
                store = try kind.open(at: place, journalLimit: 7)
            }
        }
        for number in 0..<4 {
            #expect(dump(try await store.session("s\(number)")) == dump(oracle["s\(number)"]))
            guard let summary = oracle["s\(number)"]?.summary else { continue }
            #expect(
                try await store.journal(of: summary.number, after: 0, limit: 100).map(\.revision)
                    == (0..<min(7, summary.revision)).map { summary.revision - $0 }.reversed())
        }
        await store.close()
    }

    /// As clients saw it. `cut` is the revision before the journal's first record.
    private static func seen(at revision: Int, in states: [StoredSession], from cut: Int) -> StoredSession? {
        guard states.indices.contains(revision), let last = states.last else { return nil }
        var seen: StoredSession
        if let published = states[...revision].last(where: { $0.published == nil }), published.summary.revision >= cut {
            seen = published
        } else if let published = last.published, revision >= cut,
            states[min(cut, revision)...].allSatisfy({ $0.published != nil })
        {
            // Nothing was published since the journal's beginning.
            seen = states[cut]
            seen.sections = published.sections
            seen.displayedSections = published.displayedSections
            seen.summary.updated = published.updated
            seen.published = nil
        } else {
            return nil
        }
        seen.summary.revision = revision
        seen.summary.totalRowCount = last.summary.totalRowCount
        return seen
    }

    /// Leads back to `session`.
    private func undo(of change: TableChange, from session: StoredSession) -> JSONText {
        var undo = TableChange()
        for key in Set(change.removedRows + change.writtenRows.map(\.row.key) + change.placedRows.map(\.key)).sorted() {
            let section = session.sections.first { $0.rows.contains { $0.key == key } }
            if let section, let row = section.rows.first(where: { $0.key == key }) {
                if change.placedRows.contains(where: { $0.key == key }) {
                    undo.placedRows.append((section.summary.number, key, row.rank))
                } else {
                    undo.writtenRows.append((section.summary.number, row))
                }
            } else {
                undo.removedRows.append(key)
            }
        }
        undo.writtenSections = session.sections.map(\.summary).filter { change.removedSections.contains($0.number) }
        undo.removedSections = change.writtenSections.map(\.number)
        if change.state != nil { undo.state = session.state }
        return StoredUndo(
            change: undo, updated: session.summary.updated, nextKey: session.nextKey, nextSection: session.nextSection,
            isPublished: session.published == nil
        ).json
    }

    /// As the engine could. Returns what a store has to write.
    private func randomChange(of session: inout StoredSession, using random: inout SeededGenerator) -> TableChange {
        var change = TableChange()
        func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        for _ in 0...pick(3) {
            let section = session.sections.isEmpty ? nil : pick(session.sections.count)
            switch (pick(7), section) {
            case (0...2, let section?):
                let id = pick(2) == 0 ? nil : "r\(session.nextKey)"
                let row = StoredRow.make(session.nextKey, rank: pick(1 << 40) - 1 << 39, id: id, "[\(pick(100))]")
                session.nextKey += 1
                session.sections[section].rows.append(row)
                change.writtenRows.append((session.sections[section].summary.number, row))
            case (3, let section?) where !session.sections[section].rows.isEmpty:
                let row = session.sections[section].rows.remove(at: pick(session.sections[section].rows.count))
                change.removedRows.append(row.key)
                change.writtenRows.removeAll { $0.row.key == row.key }
                change.placedRows.removeAll { $0.key == row.key }
            case (4, let section?) where !session.sections[section].rows.isEmpty:
                var row = session.sections[section].rows.remove(at: pick(session.sections[section].rows.count))
                guard !change.writtenRows.contains(where: { $0.row.key == row.key }) else {
                    session.sections[section].rows.append(row)
                    break
                }
                let target = pick(session.sections.count)
                row.rank = pick(1 << 40) - 1 << 39
                session.sections[target].rows.append(row)
                change.placedRows.removeAll { $0.key == row.key }
                change.placedRows.append((session.sections[target].summary.number, row.key, row.rank))
            case (5, _):
                let number = session.nextSection
                session.nextSection += 1
                let summary = StoredSectionSummary(
                    number: number, id: SectionID("id\(number)"), ordinal: number * 2,
                    header: pick(2) == 0 ? nil : "null")
                session.sections.append((summary, []))
                change.writtenSections.append(summary)
            case (6, let section?) where session.sections[section].rows.isEmpty && change.writtenSections.isEmpty:
                change.removedSections.append(session.sections.remove(at: section).summary.number)
            default:
                session.state = "{\"n\":\(pick(100))}"
                change.state = session.state
            }
        }
        for index in session.sections.indices { session.sections[index].rows.sort { $0.rank < $1.rank } }
        session.sections.sort { $0.summary.ordinal < $1.summary.ordinal }
        return change
    }
}
