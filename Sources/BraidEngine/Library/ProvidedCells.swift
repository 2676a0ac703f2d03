/// The cells of a chain's cell provider, and their names.
///
/// A row contains its cell's name, so rendering makes the cell; the same model at the same index keeps the name. Cells
/// are kept for views until the next command, then made anew, as when a `UITableView` scrolls a row back into view.
final class ProvidedCells {
    private let make: (RowInput) throws -> any ReuseIdentifiable
    private var names: [SectionID: [Named?]] = [:]
    /// Cells made since the models were last read.
    private var made: [SectionID: [Int: any ReuseIdentifiable]] = [:]

    private struct Named {
        var model: JSONText
        /// A JSON string.
        var name: JSONText
    }

    init(_ make: @escaping (RowInput) throws -> any ReuseIdentifiable) { self.make = make }

    /// Makes the cell unless the name is known.
    func name(of row: RowInput) throws -> JSONText { try known(row) ?? newName(of: row) }

    /// Always makes the cell.
    func newName(of row: RowInput) throws -> JSONText {
        let cell = try make(row), name = JSONText.string(type(of: cell).reuseIdentifier)
        made[row.section, default: [:]][row.row] = cell
        let count = names[row.section]?.count ?? 0
        if count <= row.row { names[row.section, default: []] += Array(repeating: nil, count: row.row + 1 - count) }
        names[row.section]?[row.row] = Named(model: row.model, name: name)
        return name
    }

    /// The one that rendering made, or a new one.
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

    /// In a new command, what the provider reads may have changed.
    func dropCells() { made = [:] }

    /// Forgets the names of rows that are gone.
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
