import BraidEngine

/// A table, the same in SQLite and PostgreSQL (the tests compare both schemas). A change of these declarations must
/// raise ``Archive/version``.
package struct ArchiveTable: Sendable {
    package struct Column: Sendable {
        package enum Kind: Sendable {
            case integer(StoredNumber)
            /// Milliseconds since the newest answer, 0 or negative, because an ``AnswerClock`` is of one database.
            case answerTime
            /// A text that may contain U+0000.
            case name
            /// A text without U+0000.
            case word
            case json
        }

        package let name: String
        package let kind: Kind
        /// A row leaves NULL out.
        package let isOptional: Bool
    }

    package let name: String
    package let columns: [Column]
    /// The first columns are the primary key.
    let keyCount: Int
    /// SQLite stores the first two columns as one (`Key`).
    package let hasSessionKey: Bool

    private init(_ name: String, key: Int, hasSessionKey: Bool = false, _ columns: [Column]) {
        self.name = name
        self.columns = columns
        keyCount = key
        self.hasSessionKey = hasSessionKey
    }

    package var sessionColumn: Int? { columns.firstIndex { $0.name == "session" } }

    /// A row refers only to rows of earlier tables.
    package static let all = [
        ArchiveTable(
            "table_description", key: 2,
            [.name("name"), .integer("version", .version), .integer("updated", .time), .json("description")]),
        ArchiveTable(
            "session", key: 1,
            [
                .integer("number", .session), .name("id"), .name("table_name", isOptional: true),
                .integer("table_version", .version, isOptional: true), .name("epoch"), .integer("revision", .revision),
                .integer("created", .time), .integer("updated", .time), .integer("next_key", .nextKey),
                .integer("next_section", .nextKey), .integer("total_row_count", .count),
                .integer("journal_bytes", .bytes), .integer("unused_limit", .unusedLimit, isOptional: true),
                .integer("used", .time, isOptional: true),
            ]),
        ArchiveTable(
            "opening", key: 1, [.integer("session", .session), .json("body"), .json("description", isOptional: true)]),
        ArchiveTable(
            "state", key: 1,
            [
                .integer("session", .session), .json("state"), .json("displayed_sections", isOptional: true),
                .json("cells", isOptional: true), .json("description", isOptional: true),
            ]),
        ArchiveTable("section", key: 2, hasSessionKey: true, sectionColumns(isPublished: false)),
        ArchiveTable("model", key: 2, hasSessionKey: true, rowColumns(isPublished: false)),
        ArchiveTable(
            "published", key: 1,
            [.integer("session", .session), .integer("updated", .time), .json("displayed_sections", isOptional: true)]),
        ArchiveTable("published_section", key: 2, hasSessionKey: true, sectionColumns(isPublished: true)),
        ArchiveTable("published_model", key: 2, hasSessionKey: true, rowColumns(isPublished: true)),
        ArchiveTable(
            "journal", key: 2, hasSessionKey: true,
            [
                .integer("session", .session), .integer("revision", .revision), .integer("at", .time), .json("command"),
                .json("changes"),
                .json("cell_events", isOptional: true), .json("hidden", isOptional: true), .json("undo"),
                .json("author", isOptional: true),
            ]),
        ArchiveTable(
            "answer", key: 3,
            [
                .integer("session", .answeredSession), .name("requester"), .name("key"), .answerTime("at"),
                .integer("request", .hash),
                .json("answer"), .integer("cost_before", .bytes), .integer("cost", .bytes),
            ]),
        ArchiveTable(
            "token", key: 1,
            [
                .name("id"), .integer("session", .answeredSession), .word("role"), .integer("created", .time),
                .integer("expires", .time),
                .word("hash"), .json("grants", isOptional: true),
            ]),
    ]

    private static func sectionColumns(isPublished: Bool) -> [Column] {
        [
            .integer("session", .session), .integer("key", .key), .integer("ordinal", .place, isOptional: isPublished),
            .name("id", isOptional: isPublished), .json("header", isOptional: true), .json("footer", isOptional: true),
            .integer("prefetched", .count, isOptional: true),
        ]
    }

    private static func rowColumns(isPublished: Bool) -> [Column] {
        [
            .integer("session", .session), .integer("key", .key), .integer("section", .key, isOptional: isPublished),
            .integer("rank", .place, isOptional: isPublished), .name("id", isOptional: true),
            .json("body", isOptional: isPublished),
        ]
    }
}

extension ArchiveTable.Column {
    fileprivate static func integer(_ name: String, _ number: StoredNumber, isOptional: Bool = false) -> Self {
        Self(name: name, kind: .integer(number), isOptional: isOptional)
    }
    fileprivate static func answerTime(_ name: String) -> Self {
        Self(name: name, kind: .answerTime, isOptional: false)
    }
    fileprivate static func name(_ name: String, isOptional: Bool = false) -> Self {
        Self(name: name, kind: .name, isOptional: isOptional)
    }
    fileprivate static func word(_ name: String) -> Self { Self(name: name, kind: .word, isOptional: false) }
    fileprivate static func json(_ name: String, isOptional: Bool = false) -> Self {
        Self(name: name, kind: .json, isOptional: isOptional)
    }
}

extension ArchiveTable {
    /// SQL for each column.
    package func expressions(_ dialect: SQLDialect) -> [String] {
        let names = columns.map { column in
            guard case .answerTime = column.kind else { return column.name }
            // A damaged time gets the age 1, which no answer has.
            let isTime = StoredNumber.time.condition(column.name)
            return
                "CASE WHEN \(isTime) THEN \(column.name) - (SELECT max(\(column.name)) FROM \(name) WHERE \(isTime)) ELSE 1 END"
        }
        guard hasSessionKey, dialect == .sqlite else { return names }
        return ["(\(name).key >> \(Key.bits))", "(\(name).key & \(Key.largest))"] + names.dropFirst(2)
    }

    package func select(_ dialect: SQLDialect) -> String {
        let keys = hasSessionKey && dialect == .sqlite ? ["key"] : columns.prefix(keyCount).map(\.name)
        return
            "SELECT \(expressions(dialect).joined(separator: ", ")) FROM \(name) ORDER BY \(keys.joined(separator: ", "))"
    }

    package func values(_ row: some StoredColumns) -> [ArchiveValue] {
        columns.enumerated().map { ArchiveValue(row, CInt($0), $1) }
    }

    package func place(of row: [ArchiveValue]) -> String {
        let key = zip(columns, row).prefix(keyCount).map { column, value in
            switch value {
            case .integer(let number): "\(column.name) \(number)"
            case .text(let text): "\(column.name) \"\(text)\""
            default: column.name
            }
        }
        return (["table \(name)"] + key).joined(separator: ", ")
    }
}

package enum SQLDialect: Sendable { case sqlite, postgres }

package enum ArchiveValue: Sendable {
    case null
    case integer(Int)
    case text(String)
    case json(JSONText)
    case damaged(String)

    fileprivate init(_ row: some StoredColumns, _ index: CInt, _ column: ArchiveTable.Column) {
        if row.isNull(index) {
            self = column.isOptional ? .null : .damaged("is null")
            return
        }
        switch column.kind {
        case .integer(let number):
            let value = row.int(index)
            self = number.range.contains(value) ? .integer(value) : .damaged("is \(value), not \(number.rule)")
        case .answerTime:
            let age = row.int(index)
            self = StoredNumber.age.range.contains(age) ? .integer(age) : .damaged("is not a time")
        case .name, .word:
            self = String(validating: row.bytes(index), as: UTF8.self).map { .text($0) } ?? .damaged("is not UTF-8")
        case .json:
            do {
                self = .json(try JSONText(parsing: [UInt8](row.bytes(index)), depthLimit: 1000))
            } catch {
                self = .damaged("is not JSON: \(error)")
            }
        }
    }
}
