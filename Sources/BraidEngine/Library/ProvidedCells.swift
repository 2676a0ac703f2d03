/// The cells of a chain's cell provider, and their names.
///
/// A row contains the name of its cell, so rendering calls the provider. A row with the same model at the same index
/// keeps the name. The cell is kept until the next command, for a view that asks; later there is a new one, as when a
/// row of a `UITableView` scrolls into view again.
final class ProvidedCells {
    private let make: (RowInput) throws -> any ReuseIdentifiable
    private var names: [SectionID: [Named?]] = [:]
    /// Since the program's models were last read.
    private var made: [SectionID: [Int: any ReuseIdentifiable]] = [:]

    private struct Named {
        var model: JSONText
        /// As a JSON string.
        var name: JSONText
    }

    init(_ make: @escaping (RowInput) throws -> any ReuseIdentifiable) { self.make = make }

    /// Makes the cell unless the name is known for this model.
    func name(of row: RowInput) throws -> JSONText { try known(row) ?? newName(of: row) }

    /// Makes the cell anyway.
    func newName(of row: RowInput) throws -> JSONText {
        let cell = try make(row), name = JSONText.string(type(of: cell).reuseIdentifier)
        made[row.section, default: [:]][row.row] = cell
        let count = names[row.section]?.count ?? 0
        if count <= row.row { names[row.section, default: []] += Array(repeating: nil, count: row.row + 1 - count) }
        names[row.section]?[row.row] = Named(model: row.model, name: name)
        return name
    }

    /// That of the rendering, or a new one.
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

    /// A new command: what the provider reads may change.
    func dropCells() { made = [:] }

    /// Of rows that are gone; `count` is that of a section.
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
