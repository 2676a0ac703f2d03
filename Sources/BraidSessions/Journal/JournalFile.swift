import BraidEngine
import BraidStore

/// A session's journal as lines of JSON (NDJSON). The first is the opening, each other one a revision:
///
/// ```
/// {"session", "epoch", "created", "opening", "description"?, "checkpoint"?}
/// {"revision", "at", "command", "update", "emitted"?}
/// ```
///
/// `opening` is the request's body; for a fork, `from` and the copied table. `checkpoint` is there if the journal does
/// not reach back to the opening: the table before the first record, with its description if that is another one by
/// then.
package struct JournalFile {
    package static let mediaType = "application/x-ndjson"

    static func opening(of session: StoredOpening, checkpoint: StoredSession?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.member("session", session.summary.id)
            $0.member("epoch", session.summary.epoch)
            $0.member("created", Instant(millisecondsSince1970: session.summary.created))
            $0.member("opening", session.body)
            if session.summary.table != nil, let description = session.description {
                $0.member("description", description)
            }
            if let checkpoint {
                $0.object("checkpoint") { checkpoint.writeCheckpoint(openedWith: session.description, to: &$0) }
            }
        }
        writer.raw("\n")
        return writer.bytes
    }

    package static func lines(of records: [JournalRecord]) -> [UInt8] {
        var writer = JSONWriter()
        for record in records {
            writer.value(record)
            writer.raw("\n")
        }
        return writer.bytes
    }

    /// Executes the commands again and returns the last snapshot as JSON. Deterministic: templates read the record's
    /// time, and new ids derive from it (``CommandIDs``).
    package static func replay(_ lines: some Sequence<[UInt8]>) throws -> [UInt8] {
        var replay: Replay?
        var number = 0
        for line in lines {
            number += 1
            if line.isEmpty { continue }
            do {
                let json = try JSONText(parsing: line, depthLimit: 1000)
                if replay == nil { replay = try Replay(opening: json) } else { try replay?.execute(json) }
            } catch let fault as JournalFault {
                throw JournalFault("line \(number): \(fault)")
            } catch {
                throw JournalFault("line \(number): \((error as? Refusal)?.detail ?? "\(error)")")
            }
        }
        guard let replay else { throw JournalFault("the journal is empty") }
        return replay.snapshot.encoded(session: replay.session, table: replay.bound.stored?.table, epoch: replay.epoch)
    }

    private struct Replay {
        let session: String
        let epoch: String
        let request: SessionOpening
        var bound: BoundTable
        var model: TableModel
        var snapshot: Snapshot
        var unpublished: Unpublished?
        let ids: CommandIDs

        init(opening line: JSONText) throws {
            guard let session = line["session"]?.stringValue, let epoch = line["epoch"]?.stringValue,
                let created = line["created"]?.stringValue,
                let body = line["opening"]
            else {
                throw JournalFault(
                    "the first line must describe the session's opening: `session`, `epoch`, `created`, `opening`"
                )
            }
            self.session = session
            self.epoch = epoch
            ids = CommandIDs(session: session, epoch: epoch, created: created)
            request = try SessionOpening(stored: body, description: line["description"])
            let checkpoint = line["checkpoint"]
            if let text = checkpoint?["description"] ?? line["description"] {
                // No output contains the version.
                bound = BoundTable(try TableDescription(stored: text), version: nil)
            } else {
                bound = BoundTable(showing: request.empty)
            }
            // The limit was applied when the commands were committed, and may be lower now.
            bound.limits.templateSteps = .max
            if let start = try checkpoint.map({ try StoredSession(checkpoint: $0) }) ?? request.fork {
                (model, snapshot, unpublished) = try start.restored(by: bound.binder, rendersAll: true)
            } else {
                model = try bound.content(of: request)
                snapshot = try bound.binder.snapshot(of: model, revision: 0, now: created)
            }
        }

        mutating func execute(_ record: JSONText) throws {
            guard let revision = record["revision"]?.intValue, let at = record["at"]?.stringValue,
                let text = record["command"]
            else {
                throw JournalFault("a record must contain `revision`, `at` and `command`")
            }
            guard revision == snapshot.revision + 1 else {
                throw JournalFault("revision \(snapshot.revision + 1) is missing")
            }
            guard let sender = Looker(by: record["by"]) else {
                throw JournalFault("a record's `by` must contain a `role`, and `claims` must be an object")
            }
            var command = try Command(journalText: text)
            if case .reset = command { command = .reset(to: try bound.resetContent(of: request)) }
            let user = sender.user, seen = unpublished?.published ?? model
            let own = try bound.viewer(sender).map { viewer in
                OwnTable(
                    viewer: viewer,
                    snapshot: try bound.binder.seen(by: viewer).ownSnapshot(of: seen, sharing: snapshot))
            }
            let outcome = try bound.binder.applying(
                command, to: model, shown: snapshot, unpublished: unpublished, now: at,
                ids: ids.source(revision: revision, at: at), by: user, seeing: own)
            guard outcome.kind == .applied else { throw JournalFault("the command no longer changes anything") }
            if let update = record["update"], update != outcome.update.json {
                throw JournalFault("the command leads to another update than the record's")
            }
            let emitted = outcome.controllerEvents.compactMap { event in
                if case .emitted = event { event.json(by: user) } else { nil }
            }
            if record["update"] != nil, (record["emitted"]?.elements() ?? []) != emitted {
                throw JournalFault("the command emits other events than the record's")
            }
            (model, snapshot, unpublished) = (outcome.table, outcome.snapshot, outcome.unpublished)
            bound = bound.rebound(by: outcome.rebinding)
        }
    }
}

extension Command {
    /// A journaled reset has no table: the session must complete it.
    package init(
        journalText text: JSONText,
        compiled: (JSONText) throws -> TableDescription = { try TableDescription(stored: $0) }
    ) throws {
        if text["reset"] != nil {
            self = .reset(to: nil)
        } else if let table = text["table"] {
            self = .rebind(try Rebinding(json: table, compiled: compiled))
        } else if let undo = text["undo"] {
            self = .undo(try Undo(json: undo))
        } else if let transaction = text["transactions"] {
            try self.init(kind: "transactions", body: transaction)
        } else {
            try self.init(json: text)
        }
    }
}

package struct JournalFault: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
