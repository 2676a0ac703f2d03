import BraidEngine

/// All data of a database as JSON lines (docs/data-tools.md).
package enum Archive {
    static let name = "braid-server"
    static let version = 1

    /// Rows by table, in the order of ``ArchiveTable/all``.
    package struct Counts: Sendable, Equatable {
        var rows = [Int](repeating: 0, count: ArchiveTable.all.count)

        package subscript(_ table: String) -> Int {
            zip(ArchiveTable.all, rows).first { $0.0.name == table }?.1 ?? 0
        }
    }
}

/// What belongs to all sessions together.
package struct DatabaseSummary: Sendable, Equatable {
    /// Ends the epochs of sessions up to the number `suffixedSessions`.
    package var epochSuffix: String
    package var suffixedSessions: Int
    /// Of the last opened session; later ones get larger numbers.
    package var lastSession: Int

    package init(epochSuffix: String, suffixedSessions: Int, lastSession: Int) {
        self.epochSuffix = epochSuffix
        self.suffixedSessions = suffixedSessions
        self.lastSession = lastSession
    }
}

package struct ArchiveError: Error, CustomStringConvertible {
    package let description: String
    package init(_ message: String) { description = message }
    init(line: Int, _ message: String) { self.init("line \(line): \(message)") }
}

extension Archive {
    package static func write(_ data: any StoredData, to write: ([UInt8]) throws -> Void) throws -> Counts {
        var counts = Counts(), buffer: [UInt8] = []
        func line(_ body: (inout JSONWriter) -> Void) throws {
            var writer = JSONWriter()
            writer.object(body)
            buffer += writer.bytes
            buffer.append(UInt8(ascii: "\n"))
            guard buffer.count >= 64 << 10 else { return }
            try write(buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        try line {
            $0.member("archive", name)
            $0.member("version", version)
        }
        let summary = try data.summary()
        try line {
            $0.object("database") {
                $0.member("epoch_suffix", summary.epochSuffix)
                $0.member("suffixed_sessions", summary.suffixedSessions)
                $0.member("last_session", summary.lastSession)
            }
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
        try line {
            $0.object("end") {
                for (table, count) in zip(ArchiveTable.all, counts.rows) { $0.member(table.name, count) }
            }
        }
        try write(buffer)
        return counts
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ row: [ArchiveValue], of table: ArchiveTable) {
        name(table.name)
        object {
            for (column, value) in zip(table.columns, row) {
                switch value {
                case .null, .damaged: continue
                case .integer(let number): $0.member(column.name, number)
                case .text(let text): $0.member(column.name, text)
                case .json(let json): $0.member(column.name, json)
                }
            }
        }
    }
}
