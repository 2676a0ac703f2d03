/// The tables, columns and indexes of a database. The server reads the shape that it expects from the text of
/// `schema.sql` or `schema-postgres.sql`. The server reads the shape that a database has from the database's catalog.
package struct SchemaShape: Equatable {
    package struct Column: Equatable {
        /// The column's type in lower case, such as `bigint`.
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

    /// An index of a table, which may also belong to a primary key or a unique constraint. Two indexes with different
    /// names can be equal.
    package struct Index: Hashable {
        package var table: String
        package var columns: String
        package var isUnique: Bool
        /// The WHERE condition of a partial index. `nil` if the index contains all rows.
        package var condition: String?

        package init(table: String, columns: String, isUnique: Bool, condition: String?) {
            self.table = table
            self.columns = columns
            self.isUnique = isUnique
            self.condition = condition
        }
    }

    package var tables: [String: [String: Column]] = [:]
    /// The table indexes, each with the SQL statement that creates it. The statement is `nil` for an index that belongs
    /// to a table's definition, and for each index that was read from PostgreSQL's catalog.
    package var indexes: [Index: String?] = [:]

    package init() {}

    package mutating func add(_ column: Column, named name: String, to table: String) {
        tables[table, default: [:]][name] = column
    }

    /// Returns texts that say what is missing or different in a database with the shape `found`, for a server that
    /// expects this shape. The result is empty if the server can use the database. The database may have additional
    /// tables, indexes and columns, except a column without which no row can be inserted.
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
    /// Returns the text that a server logs after it has opened a database with the schema version `found`. Returns
    /// `nil` if `found` is the server's own version, or 0 for a new database.
    package static func notice(found: Int, known: Int) -> String? {
        if found == 0 || found == known { return nil }
        return found < known
            ? "upgraded the database from schema version \(found) to \(known)"
            : "the database has schema version \(found), made by a newer Braid Server; this one knows versions up to \(known), and can use it"
    }
}

// Reads the shape of a database (its tables, columns and indexes) from the text of an SQL schema. This code understands
// only the SQL that schema.sql and schema-postgres.sql use. The tests compare its results with the catalogs of new
// databases.
extension SchemaShape {
    /// Creates the shape (tables, columns and indexes) that a new database has after the SQL statements of `schema`
    /// were executed.
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

    /// Returns the WHERE condition of a partial index, from the SQL statement that creates the index.
    static func condition(of statement: String) -> String? {
        let words = statement.split(whereSeparator: \.isWhitespace)
        return words.firstIndex(of: "WHERE").map { words[($0 + 1)...].joined(separator: " ") }
    }

    /// Adds a column or a constraint to this shape, from one part of a table's definition.
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

    /// Returns the text between the first opening parenthesis and its closing parenthesis, split at commas. Commas
    /// inside inner parentheses do not split the text.
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
