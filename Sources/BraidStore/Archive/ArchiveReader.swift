import BraidEngine

extension Archive {
    /// After an error, discard what `target` has received.
    package static func read(_ next: () throws -> [UInt8]?, into target: any ArchiveTarget) throws -> Counts {
        var reader = Reader(target: target)
        while let line = try next() { try reader.read(line) }
        return try reader.end()
    }

    private struct Reader {
        let target: any ArchiveTarget
        private var number = 0
        private var summary: DatabaseSummary?
        private var counts = Counts()
        /// The last row's, as an index in `ArchiveTable.all`.
        private var table = 0
        private var isComplete = false

        init(target: any ArchiveTarget) { self.target = target }

        private func error(_ message: String) -> ArchiveError { ArchiveError(line: number, message) }

        mutating func read(_ line: [UInt8]) throws {
            number += 1
            let json: JSONText
            do {
                json = try JSONText(parsing: line, depthLimit: 1000)
            } catch {
                throw self.error("is not JSON: column \(error.column): \(error.message)")
            }
            guard let members = json.members(), let first = members.first else {
                throw self.error("must be a JSON object with a member")
            }
            if number == 1 { return try readHeader(json) }
            guard members.count == 1 else { throw self.error("must have one member, such as \"session\"") }
            guard !isComplete else { throw self.error("follows the line \"end\", which must be the last one") }
            switch first.name {
            case "database" where number == 2: try readSummary(first.value)
            case _ where number == 2: throw self.error("must be the line \"database\"")
            case "end": try readEnd(first.value)
            default: try readRow(first.name, first.value)
            }
        }

        private func readHeader(_ json: JSONText) throws {
            guard json["archive"]?.stringValue == Archive.name, let version = json["version"]?.intValue else {
                throw self.error("is not the first line of an archive that `braid-server export` has written")
            }
            guard version == Archive.version else {
                throw self.error(
                    "the archive has format version \(version), but this braid-server reads version \(Archive.version). Export and import with the same version of braid-server"
                )
            }
        }

        private mutating func readSummary(_ json: JSONText) throws {
            guard let suffix = json["epoch_suffix"]?.stringValue, let suffixed = json["suffixed_sessions"]?.intValue,
                let last = json["last_session"]?.intValue
            else { throw self.error("\"database\" must have epoch_suffix, suffixed_sessions and last_session") }
            let number = StoredNumber.answeredSession
            guard number.range.contains(suffixed), number.range.contains(last) else {
                throw self.error("suffixed_sessions and last_session must be \(number.rule)")
            }
            summary = DatabaseSummary(epochSuffix: suffix, suffixedSessions: suffixed, lastSession: last)
        }

        private mutating func readRow(_ name: String, _ json: JSONText) throws {
            guard let index = ArchiveTable.all.firstIndex(where: { $0.name == name }) else {
                throw self.error("\"\(name)\" is not a table of an archive")
            }
            guard index >= table else {
                throw self.error(
                    "a row of \"\(name)\" must come before the rows of \"\(ArchiveTable.all[table].name)\"")
            }
            table = index
            let row = try values(json, of: ArchiveTable.all[index])
            counts.rows[index] += 1
            try target.insert(row, into: ArchiveTable.all[index])
        }

        private func values(_ json: JSONText, of table: ArchiveTable) throws -> [ArchiveValue] {
            guard let members = json.members() else { throw self.error("\"\(table.name)\" must be an object") }
            var row = [ArchiveValue](repeating: .null, count: table.columns.count)
            var found = row.map { _ in false }
            for (name, value) in members {
                guard let index = table.columns.firstIndex(where: { $0.name == name }) else {
                    throw self.error("\"\(table.name)\" has no column \"\(name)\"")
                }
                row[index] = try self.value(value, of: table.columns[index], in: table)
                found[index] = true
            }
            for (column, isFound) in zip(table.columns, found) where !isFound && !column.isOptional {
                throw self.error("\"\(table.name)\" needs the column \"\(column.name)\"")
            }
            return row
        }

        private func value(_ json: JSONText, of column: ArchiveTable.Column, in table: ArchiveTable) throws
            -> ArchiveValue
        {
            switch column.kind {
            case .integer(let kind):
                if let number = json.intValue, kind.range.contains(number) { return .integer(number) }
            case .answerTime:
                if let number = json.intValue, StoredNumber.age.range.contains(number) { return .integer(number) }
            case .name:
                if let text = json.stringValue { return .text(text) }
            case .word:
                if let text = json.stringValue, !text.utf8.contains(0) { return .text(text) }
            case .json: return .json(json)
            }
            let expected =
                switch column.kind {
                case .integer(let kind): kind.rule
                case .answerTime: StoredNumber.age.rule
                case .name, .word, .json: "a string"
                }
            throw self.error("the column \"\(column.name)\" of \"\(table.name)\" must be \(expected)")
        }

        private mutating func readEnd(_ json: JSONText) throws {
            for (table, count) in zip(ArchiveTable.all, counts.rows) {
                guard let expected = json[table.name]?.intValue else {
                    throw self.error("\"end\" needs the number of rows of \"\(table.name)\"")
                }
                guard expected == count else {
                    throw self.error(
                        "\"end\" counts \(expected) rows of \"\(table.name)\", but the archive has \(count)")
                }
            }
            isComplete = true
        }

        func end() throws -> Counts {
            guard isComplete, let summary else {
                throw ArchiveError(
                    line: number + 1, "the archive is cut off: the line \"end\" is missing")
            }
            try target.finish(summary)
            return counts
        }
    }
}
