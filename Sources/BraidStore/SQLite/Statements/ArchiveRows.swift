import BraidEngine
import BraidRuntime

extension SQLiteQueries: StoredData {
    package var dialect: SQLDialect { .sqlite }

    package func rows(of table: ArchiveTable, _ body: ([ArchiveValue]) throws -> Void) throws {
        try db.query(table.select(.sqlite)) { try body(table.values($0)) }
    }

    package func summary() throws -> DatabaseSummary {
        let found = try db.first("SELECT suffix, last_session, is_due FROM epoch_suffix") {
            guard (0...1).contains($0.int(2)) else {
                throw StoreError.corrupt("table epoch_suffix: is_due is \($0.int(2)), not 0 or 1")
            }
            return ($0.text(0), try $0.number(1, .answeredSession, "table epoch_suffix: last_session"))
        }
        guard let (suffix, suffixed) = found else { throw StoreError.corrupt("it has no epoch_suffix") }
        let minimum = try db.first("SELECT minimum_version FROM compatibility") { $0.int(0) } ?? 0
        guard (1...SQLiteSchema.version).contains(minimum) else {
            throw StoreError.corrupt("table compatibility: minimum_version is \(minimum)")
        }
        let last = try db.first("SELECT seq FROM sqlite_sequence WHERE name = 'session'") {
            try $0.number(0, .answeredSession, "table sqlite_sequence: seq")
        }
        return DatabaseSummary(epochSuffix: suffix, suffixedSessions: suffixed, lastSession: last ?? 0)
    }

    package func integrityFaults() throws -> [String] { try texts("PRAGMA integrity_check").filter { $0 != "ok" } }

    package func texts(_ sql: String) throws -> [String] { try db.texts(sql) }
}

extension SQLiteQueries: ArchiveTarget {
    package func insert(_ row: [ArchiveValue], into table: ArchiveTable) throws {
        let names = table.columns.map(\.name), parameters = names.indices.map { "?\($0 + 1)" }
        let isCombined = table.hasSessionKey
        let columns = isCombined ? ["key"] + names.dropFirst(2) : names
        let values = isCombined ? ["?1 << \(Key.bits) | ?2"] + parameters.dropFirst(2) : parameters
        let statement = try db.take(
            "INSERT INTO \(table.name) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))")
        defer { db.release(statement) }
        for (index, value) in row.enumerated() { try value.bind(to: statement, at: CInt(index + 1)) }
        do {
            _ = try statement.step()
        } catch {
            guard error.code.primary == .constraint else { throw error }
            throw ArchiveError("\(table.place(of: row)): \(error.message)")
        }
    }

    package func finish(_ summary: DatabaseSummary) throws {
        try db.run(
            "UPDATE epoch_suffix SET suffix = ?, last_session = ?", summary.epochSuffix, summary.suffixedSessions)
        try setNewEpochsDue(true)
        try db.run("DELETE FROM sqlite_sequence WHERE name = 'session'")
        try db.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('session', ?)", summary.lastSession)
        // The newest answer is at 0. It gets the machine's time, with which the next `AnswerClock` starts.
        try db.run("UPDATE answer SET at = at + ?", systemMilliseconds())
        if let fault = try danglingReferences().first { throw ArchiveError(fault) }
    }
}

extension ArchiveValue: SQLiteBindable {
    func bind(to statement: SQLiteStatement, at index: CInt) throws(SQLiteError) {
        switch self {
        case .null, .damaged: try statement.bindNull(at: index)
        case .integer(let number): try number.bind(to: statement, at: index)
        case .text(let text): try text.bind(to: statement, at: index)
        case .json(let json): try json.bind(to: statement, at: index)
        }
    }
}
