import BraidEngine
import BraidStore

/// Checks all data of a database:
///
/// 1. SQLite checks its file.
/// 2. Every reference leads to a row.
/// 3. Every value has its column's form, every description compiles, every fork's opening can be read.
/// 4. Every session loads and renders. Its journal has no gap, reaches its revision, and leads back to the table before
///    its first record.
package final class Verification {
    private let data: any StoredData
    private let report: (String) -> Void
    private let descriptions = CompiledDescriptions()
    package private(set) var faults = 0
    package private(set) var sessions = 0

    package init(of data: any StoredData, report: @escaping (String) -> Void) {
        self.data = data
        self.report = report
    }

    /// `progress` gets the sessions checked so far; if it throws, the checks end.
    package func run(progress: (Int) throws -> Void) throws {
        found(reading("the database", { try data.integrityFaults() }) ?? [])
        found(reading("the references", { try data.danglingReferences() }) ?? [])
        for table in ArchiveTable.all {
            try progress(0)
            checkRows(of: table)
        }
        var after: String?
        repeat {
            let page = reading("the list of sessions", { try data.sessions(of: nil, after: after, limit: 500) }) ?? []
            for summary in page {
                check(summary)
                sessions += 1
                try progress(sessions)
            }
            after = page.last?.id
        } while after != nil
    }

    private func found(_ messages: [String]) {
        faults += messages.count
        for message in messages { report(message) }
    }

    /// If `body` throws, reports a fault at `place` and returns `nil`.
    private func reading<Value>(_ place: String, _ body: () throws -> Value) -> Value? {
        do {
            return try body()
        } catch let refusal as Refusal {
            let faults = refusal.faults.map { "\(place): \($0.pointer): \($0.detail)" }
            found(faults.isEmpty ? ["\(place): \(refusal.detail)"] : faults)
        } catch StoreError.corrupt(let detail) {
            found(["\(place): \(detail)"])
        } catch {
            found(["\(place): \((error as? SessionError)?.message ?? "\(error)")"])
        }
        return nil
    }

    private func checkRows(of table: ArchiveTable) {
        var messages: [String] = []
        _ = reading("table \(table.name)") {
            try data.rows(of: table) { row in
                for case (let column, .damaged(let reason)) in zip(table.columns, row) {
                    messages.append("\(table.place(of: row)): \(column.name) \(reason)")
                }
                do {
                    for case (let column, .json(let text)) in zip(table.columns, row) {
                        try check(text, "\(table.name).\(column.name)")
                    }
                } catch {
                    messages.append("\(table.place(of: row)): \((error as? Refusal)?.detail ?? "\(error)")")
                }
            }
        }
        found(messages)
    }

    /// What must be more than JSON.
    private func check(_ text: JSONText, _ column: String) throws {
        switch column {
        case "table_description.description": _ = try TableDescription(stored: text)
        case "journal.undo": _ = try StoredUndo(json: text)
        case "journal.author" where User(by: text) == nil:
            throw StoreError.corrupt("author is no user with a role")
        case "opening.body" where text["checkpoint"] != nil: _ = try SessionOpening(stored: text, description: nil)
        default: break
        }
    }

    private func check(_ summary: SessionSummary) {
        let place = "session \"\(summary.id)\""
        // A server may have ended it meanwhile.
        guard let session = reading(place, { try data.session(summary.id) }) ?? nil else { return }
        _ = reading(place) { try render(session) }
        _ = reading("\(place), journal") { try checkJournal(of: session) }
        _ = reading("\(place), journal") { try data.journalStart(of: summary.id) }
    }

    private func render(_ session: StoredSession) throws {
        var binder = try session.boundTable(descriptions).binder
        binder.limits.templateSteps = .max
        let rows = try session.restored(by: binder, rendersAll: true).snapshot.totalRowCount
        guard rows == session.summary.totalRowCount else {
            throw StoreError.corrupt(
                "total_row_count is \(session.summary.totalRowCount), but clients see \(rows) rows")
        }
    }

    private func checkJournal(of session: StoredSession) throws {
        var last: Int?
        while true {
            let records = try data.journal(of: session.summary.number, after: last ?? 0, limit: 1000, bytes: 1 << 20)
            for record in records {
                if let last, record.revision != last + 1 {
                    throw StoreError.corrupt("revision \(last + 1) is missing")
                }
                last = record.revision
            }
            if records.isEmpty { break }
        }
        // A server may commit meanwhile: the journal may be ahead.
        guard session.summary.revision == 0 || last ?? 0 >= session.summary.revision else {
            throw StoreError.corrupt(
                "it ends at revision \(last ?? 0), but the session is at \(session.summary.revision)")
        }
        if let last, last > session.summary.revision, let now = try data.session(session.summary.id),
            now.summary.number == session.summary.number, last > now.summary.revision
        {
            throw StoreError.corrupt("it goes on to revision \(last), but the session is at \(now.summary.revision)")
        }
    }
}
