extension Binder {
    /// Returns the estimated cost of a command, as a number of rows that the engine renders and compares.
    ///
    /// The estimate does not include what handlers do and how expensive a template is.
    ///
    /// - Parameters:
    ///   - command: the command whose cost is estimated.
    ///   - rowCount: the number of rows of the table before the command.
    /// - Complexity: O(sections and commands that the command lists).
    public func estimatedCost(of command: Command, rowCount: Int) -> Int {
        switch command {
        case .delete, .insert, .move, .tap, .event:
            // If expressions read row indexes, row counts, models of the session or the time, any change may render
            // every row again.
            reads.isDisjoint(with: [.row, .count, .models, .now]) ? 1 : rowCount
        case .setModels(let sections, let merging):
            sections.reduce(merging ? 0 : rowCount) { $0 + 1 + $1.models.count }
        case .setHeaders(let titles, _), .setFooters(let titles, _): 1 + titles.count
        case .setDisplayedSections(let ids): 1 + ids.count
        case .setState: reads.contains(.state) ? rowCount : 1
        case .displayedRows(let rows): 1 + rows.count
        case .dataSource(let call, _):
            call.bringsRows
                + (call.concernsAllRows || !reads.isDisjoint(with: [.row, .count, .models, .now]) ? rowCount : 1)
        case .reset, .rebind: rowCount
        case .transaction(let commands):
            commands.reduce(1) { $0.saturatingAdd(estimatedCost(of: $1, rowCount: rowCount)) }
        }
    }
}

extension DataSourceCommand {
    /// The number of rows in the list of rows that the data source call contains. 0 for a call without such a list.
    fileprivate var bringsRows: Int {
        switch self {
        case .updateRowsOfSection(let rows, _), .insertRows(let rows, _, _), .putRows(let rows, _, _, _): rows.count
        case .updateRows(let rows): rows.count
        case .addSection(let section, _), .updateSection(let section, _): section.rows.count
        case .updateAllSections(let sections): sections.reduce(0) { $0 + $1.rows.count }
        case .addRow, .updateRow, .removeRow, .insertRow, .putRow, .patchRow, .deleteRow, .updateSectionData,
            .removeSection, .removeAllSections, .registerCell:
            0
        }
    }

    /// Whether the data source call replaces, removes or re-renders many of the existing rows.
    fileprivate var concernsAllRows: Bool {
        switch self {
        case .updateRowsOfSection, .updateSection, .updateAllSections, .removeSection, .removeAllSections,
            .registerCell:
            true
        case .addRow, .updateRow, .updateRows, .removeRow, .insertRow, .insertRows, .putRow, .putRows, .patchRow,
            .deleteRow, .addSection, .updateSectionData:
            false
        }
    }
}
