import BraidEngine
import BraidStore

/// A session's journal as lines of JSON (NDJSON).
///
/// - The first line: `{"session", "epoch", "created", "opening", "description"?, "checkpoint"?}`.
/// - Each further line is the record of one revision: `{"revision", "at", "command", "update", "emitted"?}`.
///
/// `opening` is the body of the request that opened the session; for a fork, `from` and the copied table. `description`
/// is the table description with which it was opened. If the journal does not reach back to the opening, `checkpoint`
/// is the stored table at the revision before the first record, with its description if that differs.
package struct JournalFile {
    package static let mediaType = "application/x-ndjson"

    /// Returns the first line, line feed included.
    static func opening(of session: StoredOpening, checkpoint: StoredSession?) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("session")
        writer.value(session.facts.id)
        writer.name("epoch")
        writer.value(session.facts.epoch)
        writer.name("created")
        writer.value(Instant(millisecondsSince1970: session.facts.created).text)
        writer.name("opening")
        writer.value(session.body)
        if session.facts.table != nil, let description = session.description {
            writer.name("description")
            writer.value(description)
        }
        if let checkpoint {
            writer.name("checkpoint")
            checkpoint.writeCheckpoint(openedWith: session.description, to: &writer)
        }
        writer.endObject()
        writer.raw("\n")
        return writer.bytes
    }

    /// Returns the lines of journal records, line feeds included.
    package static func lines(of records: [JournalRecord]) -> [UInt8] {
        var writer = JSONWriter()
        for record in records {
            record.write(to: &writer)
            writer.raw("\n")
        }
        return writer.bytes
    }

    /// Executes the commands of a journal file again, and returns the snapshot after the last one, as JSON. Commands are
    /// deterministic: templates read the record's time, and new ids are derived from it (``CommandIDs``).
    ///
    /// - Throws: `JournalFault` with the number of the faulty line, or without a number if the journal is empty.
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
                // Snapshots and updates do not contain the version of the description.
                bound = BoundTable(try TableDescription(stored: text), version: nil)
            } else {
                bound = BoundTable(showing: request.empty)
            }
            // The server that committed the commands has applied its limit.
            bound.limits.templateSteps = .max
            if let start = try checkpoint.map({ try StoredSession(checkpoint: $0) }) ?? request.fork {
                (model, snapshot, unpublished) = try start.restored(by: bound.binder)
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
            var command = try Command(journalText: text)
            if case .reset = command { command = .reset(to: try bound.resetContent(of: request)) }
            let outcome = try bound.binder.applying(
                command, to: model, shown: snapshot, unpublished: unpublished, now: at,
                ids: ids.source(revision: revision, at: at))
            guard outcome.kind == .applied else { throw JournalFault("the command no longer changes anything") }
            if let update = record["update"], update != outcome.update.json {
                throw JournalFault("the command leads to another update than the record's")
            }
            let emitted = outcome.controllerEvents.compactMap { event in
                if case .emitted(let event) = event { event.json } else { nil }
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
    /// Parses a command from the text with which the journal records it. A reset does not contain its table.
    ///
    /// - Parameter compiled: returns the compiled table description for its text.
    package init(
        journalText text: JSONText,
        compiled: (JSONText) throws -> TableDescription = { try TableDescription(stored: $0) }
    ) throws {
        if text["reset"] != nil {
            self = .reset(to: nil)
        } else if let table = text["table"] {
            self = .rebind(try Rebinding(json: table, compiled: compiled))
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
