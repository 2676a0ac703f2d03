import BraidEngine

/// The format of archives: all data of a database as JSON lines (docs/data-tools.md).
package enum Archive {
    static let name = "braid-server"
    static let version = 1

    /// Rows of each table, in the order of ``ArchiveTable/all``.
    package struct Counts: Sendable, Equatable {
        var rows = [Int](repeating: 0, count: ArchiveTable.all.count)

        /// 0 for an unknown table.
        package subscript(_ table: String) -> Int {
            zip(ArchiveTable.all, rows).first { $0.0.name == table }?.1 ?? 0
        }
    }
}

/// What a database stores for all of its sessions together.
package struct DatabaseSummary: Sendable, Equatable {
    /// Appended to the epochs of the sessions with numbers up to `suffixedSessions`.
    package var epochSuffix: String
    package var suffixedSessions: Int
    /// The number of the session that was opened last. Later ones get larger numbers.
    package var lastSession: Int

    package init(epochSuffix: String, suffixedSessions: Int, lastSession: Int) {
        self.epochSuffix = epochSuffix
        self.suffixedSessions = suffixedSessions
        self.lastSession = lastSession
    }
}

/// A fault in the content of an archive.
package struct ArchiveError: Error, CustomStringConvertible {
    package let description: String
    package init(_ message: String) { description = message }
    init(line: Int, _ message: String) { self.init("line \(line): \(message)") }
}

extension Archive {
    /// Writes a database as an archive, row by row, in parts of about 64 KiB. Throws a `StoreError` for a damaged value.
    package static func write(_ data: any StoredData, to write: ([UInt8]) throws -> Void) throws -> Counts {
        var counts = Counts(), buffer: [UInt8] = []
        func line(_ body: (inout JSONWriter) -> Void) throws {
            var writer = JSONWriter()
            writer.beginObject()
            body(&writer)
            writer.endObject()
            buffer += writer.bytes
            buffer.append(UInt8(ascii: "\n"))
            guard buffer.count >= 64 << 10 else { return }
            try write(buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        try line { writer in
            writer.name("archive")
            writer.value(name)
            writer.name("version")
            writer.value(version)
        }
        let summary = try data.summary()
        try line { writer in
            writer.name("database")
            writer.beginObject()
            writer.name("epoch_suffix")
            writer.value(summary.epochSuffix)
            writer.name("suffixed_sessions")
            writer.value(summary.suffixedSessions)
            writer.name("last_session")
            writer.value(summary.lastSession)
            writer.endObject()
        }
        for (index, table) in ArchiveTable.all.enumerated() {
            try data.rows(of: table) { row in
                for case (let column, .damaged(let reason)) in zip(table.columns, row) {
                    throw StoreError.corrupt("\(table.place(of: row)): \(column.name) \(reason)")
                }
                counts.rows[index] += 1
                try line { $0.write(row, of: table) }
            }
        }
        try line { writer in
            writer.name("end")
            writer.beginObject()
            for (table, count) in zip(ArchiveTable.all, counts.rows) {
                writer.name(table.name as String)
                writer.value(count)
            }
            writer.endObject()
        }
        try write(buffer)
        return counts
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ row: [ArchiveValue], of table: ArchiveTable) {
        name(table.name as String)
        beginObject()
        for (column, value) in zip(table.columns, row) {
            switch value {
            case .null, .damaged: continue
            case .integer(let number):
                name(column.name as String)
                self.value(number)
            case .text(let text):
                name(column.name as String)
                self.value(text)
            case .json(let json):
                name(column.name as String)
                self.value(json)
            }
        }
        endObject()
    }
}
