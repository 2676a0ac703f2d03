extension Command {
    /// The command with other row references; moves (which have two), data source calls and transactions stay
    /// unchanged. `orEnd` says that the place after the last row is allowed.
    func replacingRows<Failure: Error>(
        _ replacement: (_ row: RowReference, _ orEnd: Bool) throws(Failure) -> RowReference
    ) throws(Failure) -> Command {
        switch self {
        case .delete(let row): return .delete(try replacement(row, false))
        case .insert(let row, let model): return .insert(try replacement(row, true), model: model)
        case .tap(let row): return .tap(try replacement(row, false))
        case .event(let row, let name, let parameters):
            return .event(try replacement(row, false), name: name, parameters: parameters)
        case .displayedRows(let rows):
            var replaced: [RowReference] = []
            for row in rows { replaced.append(try replacement(row, false)) }
            return .displayedRows(replaced)
        case .move, .setModels, .setHeaders, .setFooters, .setDisplayedSections, .setState, .dataSource, .reset,
            .rebind, .undo, .transaction:
            return self
        }
    }

    /// For the journal, which needs the command as it was executed: `original`, from before it was rebased, with this
    /// command's references. Transactions and reports of displayed rows stay unchanged.
    public func rewriting(_ original: JSONText) -> JSONText {
        switch self {
        case .delete(let row): original.replacing(["edits", "delete"], by: row.json)
        case .insert(let row, _): original.replacing(["edits", "insert"], by: row.json)
        case .move(let row, let target):
            original.replacing(["moves", "from"], by: row.json).replacing(["moves", "to"], by: target.json)
        case .tap(let row): original.replacing(["taps", "at"], by: row.json)
        case .event(let row, _, _): original.replacing(["events", "at"], by: row.json)
        case .dataSource(let call, _): call.rewriting(original)
        case .displayedRows, .setModels, .setHeaders, .setFooters, .setDisplayedSections, .setState, .reset, .rebind,
            .undo, .transaction:
            original
        }
    }
}

extension DataSourceCommand {
    fileprivate func rewriting(_ original: JSONText) -> JSONText {
        guard let name = original["dataSource"]?.members()?.first?.name else { return original }
        let at = ["dataSource", name, "at"], inSection = ["dataSource", name, "section"]
        switch self {
        case .addRow(_, let row), .updateRow(_, let row), .removeRow(let row):
            return original.replacing(at, by: row.dataSourceJSON)
        case .updateRowsOfSection(_, let section), .updateSectionData(_, _, let section),
            .updateSection(_, let section), .removeSection(let section):
            return original.replacing(at, by: section.json)
        case .addSection(_, let section?): return original.replacing(at, by: .number(section))
        case .insertRow(_, _, let section), .insertRows(_, _, let section), .putRow(_, _, let section),
            .putRows(_, _, let section, _), .patchRow(_, _, let section), .deleteRow(_, let section):
            return original.replacing(inSection, by: section.json)
        case .updateRows(let rows):
            var writer = JSONWriter()
            writer.array(of: rows) { writer, row in
                writer.object {
                    $0.member("at", row.at.dataSourceJSON)
                    $0.member("model", row.model)
                }
            }
            return original.replacing(["dataSource", name, "rows"], by: writer.text)
        case .addSection, .updateAllSections, .removeAllSections, .registerCell: return original
        }
    }
}

extension RowReference {
    /// As in data source calls, an index path as `[section, row]`.
    fileprivate var dataSourceJSON: JSONText {
        guard case .at(.displayed(let section), let row) = self else { return json }
        return JSONText(RowPath(section: section, row: row))
    }

    package var json: JSONText {
        switch self {
        case .at(let section, let row):
            .object {
                $0.member("section", section.json)
                $0.member("row", row)
            }
        case .id(let id, let section):
            .object {
                $0.member("id", id)
                $0.member("section", section?.json)
            }
        }
    }
}

extension SectionReference {
    package var json: JSONText {
        switch self {
        case .id(let id): .string(id.text)
        case .displayed(let index): .number(index)
        }
    }
}

extension JSONText {
    /// All members of the path must exist.
    fileprivate func replacing(_ path: [String], by value: JSONText) -> JSONText {
        guard let name = path.first, let members = members() else { return value }
        return .object(capacity: count + value.count) {
            for member in members {
                $0.member(
                    member.name,
                    member.name == name ? member.value.replacing(Array(path.dropFirst()), by: value) : member.value)
            }
        }
    }
}
