/// The cells that a chain's cell provider makes, and their names.
///
/// A row in the snapshot contains the name of its cell. If the chain does not bind one cell type, the provider is
/// therefore called when a row is rendered. If the chain binds models, a row with the same model at the same index
/// keeps the name without another call.
///
/// The cell itself is kept until the next command, in case a view asks for the cell. A view that asks after the next
/// command gets a new cell, as `UITableView` does when a row scrolls into view again.
final class ProvidedCells {
    private let make: (RowInput) throws -> any ReuseIdentifiable
    private var names: [SectionID: [Named?]] = [:]
    /// The cells that the cell provider made for rendering since the program's models were last read, by section and
    /// row index.
    private var made: [SectionID: [Int: any ReuseIdentifiable]] = [:]

    private struct Named {
        var model: JSONText
        /// The cell's name, its reuse identifier, as a JSON string.
        var name: JSONText
    }

    init(_ make: @escaping (RowInput) throws -> any ReuseIdentifiable) { self.make = make }

    /// Returns the name of the row's cell. Makes the cell unless the name that is known at the row's index belongs to
    /// the same model.
    func name(of row: RowInput) throws -> JSONText { try known(row) ?? newName(of: row) }

    /// Makes the row's cell, even if its name is known, and returns the cell's name.
    func newName(of row: RowInput) throws -> JSONText {
        let cell = try make(row), name = JSONText.string(type(of: cell).reuseIdentifier)
        made[row.section, default: [:]][row.row] = cell
        let count = names[row.section]?.count ?? 0
        if count <= row.row { names[row.section, default: []] += Array(repeating: nil, count: row.row + 1 - count) }
        names[row.section]?[row.row] = Named(model: row.model, name: name)
        return name
    }

    /// Returns the row's cell: the cell that was made when the row was rendered, or a new cell.
    func cell(for row: RowInput) throws -> any ReuseIdentifiable {
        if known(row) != nil, let cell = made[row.section]?[row.row] { return cell }
        return try make(row)
    }

    private func known(_ row: RowInput) -> JSONText? {
        guard let names = names[row.section], row.row < names.count, let known = names[row.row],
            known.model == row.model
        else { return nil }
        return known.name
    }

    /// Drops all cells that were made, because the values that the cell provider reads may change with the new command.
    func dropCells() { made = [:] }

    /// Drops the cell names of rows that no longer exist. `count` returns the number of rows of a section.
    func dropNames(count: (SectionID) -> Int) {
        for (section, known) in names {
            let count = count(section)
            if count == 0 {
                names[section] = nil
            } else if count < known.count {
                names[section]?.removeLast(known.count - count)
            }
        }
    }
}
