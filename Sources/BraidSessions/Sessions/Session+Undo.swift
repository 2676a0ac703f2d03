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

extension JournalUndo {
    /// The revision that it takes back.
    fileprivate var undoes: Int? { command["undo"]?["revision"]?.intValue }

    /// Reports of displayed rows are no acts of a user, and other descriptions are not taken back.
    fileprivate var isAct: Bool { command["displayedRows"] == nil && command["table"] == nil }

    fileprivate func undo() throws -> RevisionUndo {
        RevisionUndo(
            revision: revision, undoes: undoes, by: try command["undo"].flatMap { try Undo(json: $0).change },
            change: try StoredUndo(json: undo).change)
    }
}

extension Session {
    /// Finds the revision, and what takes it back from the stored table. The caller holds `commands`. Throws
    /// `undoConflict`, `undoNotAllowed`, `revisionNotAvailable`, `unavailable`, `quotaExceeded`.
    func resolved(_ undo: Undo, for requester: User, on before: Committed) async throws -> Undo {
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
        var undo = undo, records: [JournalUndo] = [], bytes = 0, next = before.snapshot.revision
        var isWhole = false
        while true {
            if let found = try found(undo, in: records, isWhole: isWhole, requester) {
                guard let index = found.index else { return undo }
                undo.target = .revision(records[index].revision)
                try check(records[index], policy, requester)
                undo.change = try change(of: index, in: records, on: before, for: requester)
                return undo
            }
            let page = try await store.undos(of: number, from: next, limit: 64, bytes: Memory.largeBytes)
            guard let last = page.last, page.first?.revision == next else {
                if !isWhole, !records.isEmpty {
                    isWhole = true
                    continue
                }
                guard case .revision(let revision) = undo.target else { return undo }
                throw notAvailable(revision, now: before.snapshot.revision)
            }
            records += page
            next = last.revision - 1
            // Parsed, a record needs several times the memory of its text.
            bytes += page.reduce(0) { $0 + $1.bytes }
            do {
                try lease.grow(to: 4 * bytes)
            } catch {
                throw SessionError(noRoomForAnswer: error)
            }
        }
    }

    /// `nil`: not in these records, which descend. An inner `nil`: there is none.
    private func found(_ undo: Undo, in records: [JournalUndo], isWhole: Bool, _ requester: User) throws -> (
        index: Int?, Void
    )? {
        if case .revision(let revision) = undo.target {
            return records.firstIndex { $0.revision == revision }.map { ($0, ()) }
        }
        let undoneBy = RevisionUndo.undoneBy(records.map { ($0.revision, $0.undoes) })
        for (index, record) in records.enumerated() where requester.sent(record) && record.isAct {
            guard undoneBy[record.revision] == nil else { continue }
            if let target = record.undoes {
                guard undo.isRedo else { continue }
                guard let isRedo = isRedo(target, in: records) ?? (isWhole ? false : nil) else { return nil }
                if !isRedo { return (index, ()) }
            } else if undo.isRedo {
                return (nil, ())
            } else if try !StoredUndo(json: record.undo).change.isEmpty {
                return (index, ())
            }
        }
        return nil
    }

    /// Whether the undone revision is an undo. `nil`: not known from these records.
    private func isRedo(_ undone: Int, in records: [JournalUndo]) -> Bool? {
        var isRedo = false, revision = undone
        while let record = records.first(where: { $0.revision == revision }) {
            guard let target = record.undoes else { return isRedo }
            isRedo.toggle()
            revision = target
        }
        return nil
    }

    private func notAvailable(_ revision: Int, now: Int) -> SessionError {
        revision > now
            ? SessionError(.badRequest, "The session is only at revision \(now), so there is no revision \(revision).")
            : SessionError(
                .revisionNotAvailable,
                "The journal does not reach back to revision \(revision), so it cannot be taken back.")
    }

    private func check(_ record: JournalUndo, _ policy: UndoPolicy?, _ requester: User) throws {
        if record.command["table"] != nil {
            throw Refusal(
                .undoNotAllowed,
                "Revision \(record.revision) bound the session to another description. Bind it to the earlier version instead."
            )
        }
        guard requester.role != .controller, !requester.sent(record) else { return }
        guard policy == .any else {
            throw Refusal(
                .undoNotAllowed,
                "Revision \(record.revision) is not yours: this table allows participants to take back only their own commands."
            )
        }
        // What they may not send they may not take back.
        let role = record.undoes == nil ? try Command(journalText: record.command).role : .controller
        guard role <= requester.role else {
            throw Refusal(
                .undoNotAllowed,
                "Revision \(record.revision) is a command that only a controller may send or take back.")
        }
    }

    private func change(
        of index: Int, in records: [JournalUndo], on before: Committed, for requester: User
    ) throws -> UndoChange {
        let record = records[index]
        if let by = RevisionUndo.undoneBy(records[..<index].map { ($0.revision, $0.undoes) })[record.revision] {
            throw Refusal(
                .undoConflict, "Revision \(record.revision) was taken back already, by revision \(by).",
                faults: [])
        }
        do {
            return try before.model.undo(try record.undo(), after: try records[..<index].map { try $0.undo() })
        } catch var refusal as Refusal where refusal.code == .undoConflict && requester.role != .controller {
            // What is hidden does not exist for them.
            refusal.faults.removeAll { !before.snapshot.displays($0.pointer) }
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
