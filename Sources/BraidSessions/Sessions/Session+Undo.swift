import BraidEngine
import BraidRuntime
import BraidStore

extension User {
    /// Whether the record's command is the user's: by the id, whatever the role. Without one, only a controller's are
    /// those of somebody.
    fileprivate func sent(_ record: JournalUndo) -> Bool {
        guard let sender = User(by: record.by), sender.id == id else { return false }
        return id != nil || role == .controller && sender.role == .controller
    }
}

/// The journal's records from the latest one back.
private struct UndoRecords {
    struct Record {
        let journal: JournalUndo
        /// The revision that it takes back.
        let undoes: Int?

        init(_ journal: JournalUndo) {
            self.journal = journal
            undoes = journal.command["undo"]?["revision"]?.intValue
        }

        var revision: Int { journal.revision }

        /// Reports of displayed rows are no acts of a user, and other descriptions are not taken back.
        var isAct: Bool { journal.command["displayedRows"] == nil && journal.command["table"] == nil }
    }

    private(set) var records: [Record] = []
    /// The journal has no more.
    var isWhole = false

    private(set) var bytes = 0

    mutating func add(_ page: [JournalUndo]) {
        records += page.map { Record($0) }
        bytes += page.reduce(0) { $0 + $1.bytes }
    }

    var next: Int? { records.last.map { $0.revision - 1 } }
    var revisions: [(revision: Int, undoes: Int?)] { records.map { ($0.revision, $0.undoes) } }

    func index(of revision: Int) -> Int? {
        guard let last = records.first?.revision, records.indices.contains(last - revision) else { return nil }
        return last - revision
    }

    /// `nil`: not in these records. An inner `nil`: there is none.
    func index(of undo: Undo, by requester: User) throws -> Int?? {
        if case .revision(let revision) = undo.target { return index(of: revision).map { .some($0) } }
        let undoneBy = RevisionUndo.undoneBy(revisions)
        for (index, record) in records.enumerated() where requester.sent(record.journal) && record.isAct {
            guard undoneBy[record.revision] == nil else { continue }
            if let target = record.undoes {
                guard undo.isRedo else { continue }
                guard let isRedo = isRedo(target) else { return nil }
                if !isRedo { return index }
            } else if undo.isRedo {
                return .some(nil)
            } else if try !StoredUndo(json: record.journal.undo).change.isEmpty {
                return index
            }
        }
        return nil
    }

    /// Whether the undone revision is an undo. `nil`: not known from these records.
    private func isRedo(_ undone: Int) -> Bool? {
        var isRedo = false, revision = undone
        while let index = index(of: revision) {
            guard let target = records[index].undoes else { return isRedo }
            isRedo.toggle()
            revision = target
        }
        return isWhole ? false : nil
    }

    func parsed() throws -> [RevisionUndo] {
        try records.map { record in
            RevisionUndo(
                revision: record.revision, undoes: record.undoes,
                change: try StoredUndo(json: record.journal.undo).change)
        }
    }
}

extension Session {
    /// Finds the revision, and what takes it back from the stored table. The caller holds `commands`. Throws
    /// `undoConflict`, `undoNotAllowed`, `revisionNotAvailable`, `unavailable`, `quotaExceeded`.
    func resolved(_ undo: Undo, for sender: Looker, on before: Committed) async throws -> Undo {
        let requester = sender.user
        let policy = before.bound.description?.undo
        guard requester.role == .controller || policy != nil else {
            throw Refusal(
                .undoNotAllowed,
                "Participants cannot take commands of this table back: its description has no member `undo`.")
        }
        // What is under way gets into the journal first.
        await underWay.settled()
        let lease = Quota.Lease(of: feed.limits.buffers, to: Quota.Account(resource: id))
        defer { lease.end() }
        var read = UndoRecords(), undo = undo
        while true {
            let found = try read.index(of: undo, by: requester)
            if let found, let index = found {
                let record = read.records[index]
                try check(record, policy, requester)
                let start = RevisionUndo.start(of: record.revision, in: read.revisions)
                if read.isWhole || read.index(of: start) != nil {
                    undo.target = .revision(record.revision)
                    undo.change = try change(of: record, read, on: before, for: sender)
                    return undo
                }
            } else if found != nil {
                return undo
            } else if read.isWhole {
                guard case .revision(let revision) = undo.target else { return undo }
                throw notAvailable(revision, now: before.snapshot.revision)
            }
            try await add(to: &read, from: before.snapshot.revision, lease)
        }
    }

    private func add(to read: inout UndoRecords, from latest: Int, _ lease: Quota.Lease) async throws {
        let next = read.next ?? latest
        let page = try await store.undos(
            of: number, from: next, limit: max(64, read.records.count), bytes: Memory.largeBytes)
        guard page.first?.revision == next else { return read.isWhole = true }
        read.add(page)
        do {
            // Parsed, a record needs several times the memory of its text.
            try lease.grow(to: 4 * read.bytes)
        } catch {
            throw SessionError(noRoomForAnswer: error)
        }
    }

    private func notAvailable(_ revision: Int, now: Int) -> SessionError {
        revision > now
            ? SessionError(.badRequest, "The session is only at revision \(now), so there is no revision \(revision).")
            : SessionError(
                .revisionNotAvailable,
                "The journal does not reach back to revision \(revision), so it cannot be taken back.")
    }

    private func check(_ record: UndoRecords.Record, _ policy: UndoPolicy?, _ requester: User) throws {
        if record.journal.command["table"] != nil {
            throw Refusal(
                .undoNotAllowed,
                """
                Revision \(record.revision) bound the session to another description. Bind it to the earlier version \
                instead.
                """
            )
        }
        guard requester.role != .controller, !requester.sent(record.journal) else { return }
        guard policy == .any else {
            throw Refusal(
                .undoNotAllowed,
                """
                Revision \(record.revision) is not yours: this table allows participants to take back only their own \
                commands.
                """
            )
        }
        // What they may not send they may not take back.
        let role = record.undoes == nil ? try Command(journalText: record.journal.command).role : .controller
        guard role <= requester.role else {
            throw Refusal(
                .undoNotAllowed,
                "Revision \(record.revision) is a command that only a controller may send or take back.")
        }
    }

    private func change(
        of record: UndoRecords.Record, _ read: UndoRecords, on before: Committed, for sender: Looker
    ) throws -> UndoChange {
        if let by = RevisionUndo.undoneBy(read.revisions)[record.revision] {
            throw Refusal(
                .undoConflict, "Revision \(record.revision) was taken back already, by revision \(by).",
                faults: [])
        }
        do {
            return try before.model.undo(record.revision, by: try read.parsed())
        } catch var refusal as Refusal where refusal.code == .undoConflict && sender.user.role != .controller {
            // What is hidden does not exist for them.
            let shown = try own(of: sender, at: before, for: Quota.Account(resource: id))?.snapshot ?? before.snapshot
            refusal.faults.removeAll { !shown.displays($0.pointer) }
            throw refusal
        }
    }
}

extension Snapshot {
    /// Whether it has the section, title or row at a conflict's pointer. The state is everybody's.
    fileprivate func displays(_ pointer: JSONPointer) -> Bool {
        let tokens = pointer.tokens
        if tokens.first == "state" { return true }
        guard tokens.count >= 2, tokens[0] == "sections",
            let section = sections.first(where: { $0.id == SectionID(tokens[1]) })
        else { return false }
        guard tokens.count == 4, tokens[2] == "rows" else { return true }
        return section.rows.contains { $0.id?.text == tokens[3] }
    }
}
