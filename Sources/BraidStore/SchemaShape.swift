/// Tables and indexes, as `schema.sql` or `schema-postgres.sql` makes them, or as a database's catalog lists them.
package struct SchemaShape: Equatable {
    package struct Column: Equatable {
        package var type: String
        package var isRequired: Bool
        package var hasDefault: Bool

        package init(type: String, isRequired: Bool, hasDefault: Bool) {
            self.type = type
            self.isRequired = isRequired
            self.hasDefault = hasDefault
        }

        fileprivate var text: String { type.uppercased() + (isRequired ? " NOT NULL" : "") }
    }

    /// Also of a primary key or a unique constraint. Names do not count.
    package struct Index: Hashable {
        package var table: String
        package var columns: String
        package var isUnique: Bool
        /// Of a partial index.
        package var condition: String?

        package init(table: String, columns: String, isUnique: Bool, condition: String?) {
            self.table = table
            self.columns = columns
            self.isUnique = isUnique
            self.condition = condition
        }
    }

    package var tables: [String: [String: Column]] = [:]
    /// With the statement that creates it. `nil` if it is part of a table, or from PostgreSQL's catalog: then set
    /// `.some(nil)`, because plain `nil` would remove the index.
    package var indexes: [Index: String?] = [:]

    package init() {}

    package mutating func add(_ column: Column, named name: String, to table: String) {
        tables[table, default: [:]][name] = column
    }

    /// Throws `differentSchema`.
    package func check(_ found: SchemaShape, path: String, version: Int) throws {
        let differences = differences(in: found)
        guard differences.isEmpty else {
            throw StoreError.differentSchema(path: path, version: version, differences: differences)
        }
    }

    /// Additions are allowed, except a column without which no row can be inserted.
    package func differences(in found: SchemaShape) -> [String] {
        var differences: [String] = []
        for (table, columns) in tables.sorted(by: { $0.key < $1.key }) {
            guard let there = found.tables[table] else {
                differences.append("the table \(table) is missing")
                continue
            }
            for (name, column) in columns.sorted(by: { $0.key < $1.key }) {
                guard let other = there[name] else {
                    differences.append("the column \(table).\(name) is missing")
                    continue
                }
                if other.type != column.type || other.isRequired != column.isRequired {
                    differences.append("the column \(table).\(name) is \(other.text) instead of \(column.text)")
                }
            }
            for (name, column) in there.sorted(by: { $0.key < $1.key })
            where columns[name] == nil && column.isRequired && !column.hasDefault {
                differences.append("the column \(table).\(name) is unknown, NOT NULL and has no default")
            }
        }
        for (index, statement) in indexes where found.tables[index.table] != nil && found.indexes[index] == nil {
            let condition = index.condition.map { " WHERE \($0)" } ?? ""
            differences.append(
                "the table \(index.table) has no \(index.isUnique ? "unique " : "")index on (\(index.columns))\(condition)"
                    + (statement.map { " (\($0))" } ?? ""))
        }
        return differences.sorted()
    }
}

extension SchemaShape {
    /// For the log. `found` is 0 for a new database.
    package static func notice(found: Int, known: Int) -> String? {
        if found == 0 || found == known { return nil }
        return found < known
            ? "upgraded the database from schema version \(found) to \(known)"
            : "the database has schema version \(found), made by a newer Braid Server; this one knows versions up to \(known), and can use it"
    }
}

extension SchemaShape {
    /// `before` gets the number of earlier calls: before each statement, and after `check`.
    package static func upgrade(
        by statements: [String], before: ((Int) throws -> Void)?, execute: (String) throws -> Void,
        check: () throws -> Void
    ) throws {
        for (index, statement) in statements.enumerated() {
            try before?(index)
            try execute(statement)
        }
        try check()
        try before?(statements.count)
    }
}

// Understands only the SQL of the two schemas. The tests compare with catalogs.
extension SchemaShape {
    package init(schema: String) {
        let lines = schema.split(separator: "\n").map { line in
            line.split(separator: " ").prefix { !$0.hasPrefix("--") }.joined(separator: " ")
        }
        for statement in lines.joined(separator: " ").split(separator: ";") {
            let words = statement.split(separator: " ")
            guard words.count > 3, words[0] == "CREATE" else { continue }
            let text = words.joined(separator: " ")
            if let place = words.firstIndex(of: "TABLE") {
                for part in Self.parts(text) { add(part, to: String(words[place + 1])) }
            } else if let place = words.firstIndex(of: "ON") {
                let index = Index(
                    table: String(words[place + 1]), columns: Self.parts(text).joined(separator: ", "),
                    isUnique: words[1] == "UNIQUE", condition: Self.condition(of: text))
                indexes[index] = text
            }
        }
    }

    static func condition(of statement: String) -> String? {
        let words = statement.split(whereSeparator: \.isWhitespace)
        return words.firstIndex(of: "WHERE").map { words[($0 + 1)...].joined(separator: " ") }
    }

    private mutating func add(_ part: String, to table: String) {
        let words = part.split(separator: " ")
        guard words.count > 1 else { return }
        let isKey = words.contains("PRIMARY")
        func unique(_ columns: String) {
            indexes[Index(table: table, columns: columns, isUnique: true, condition: nil)] = .some(nil)
        }
        if ["PRIMARY", "UNIQUE", "FOREIGN"].contains(words[0]) {
            if words[0] != "FOREIGN" { unique(Self.parts(part).joined(separator: ", ")) }
            return
        }
        let column = Column(
            type: words[1].lowercased(), isRequired: isKey || words.contains("NOT"),
            hasDefault: words.contains("DEFAULT") || words.contains("GENERATED"))
        add(column, named: String(words[0]), to: table)
        if isKey || words.contains("UNIQUE") { unique(String(words[0])) }
    }

    /// What is in the first parentheses, split at outer commas.
    private static func parts(_ text: String) -> [String] {
        var parts: [String] = [], depth = 0, part = ""
        for character in text {
            if character == ")" { depth -= 1 }
            if depth == 0, character == ")" { break }
            if depth == 1, character == "," {
                parts.append(part)
                part = ""
            } else if depth > 0, depth > 1 || character != " " || !part.isEmpty {
                part.append(character)
            }
            if character == "(" { depth += 1 }
        }
        return parts + [part]
    }
}
