/// What a Swift program keeps: models, titles, cell counts, or which sections are displayed. Every command reads it
/// again, as Braid does with its `models: { … }` closures.
///
/// All are read before any is placed, so that a model that moves between two chains is recognized. `Sendable` only so
/// that `Binder` can hold it: the program's binder is not, and it alone calls its providers.
protocol ModelProvider: AnyObject, Sendable {
    /// Finds what changed since the last reading that was not rolled back.
    func read(_ table: TableModel, _ departures: inout Departures) throws
    func place(into editor: inout TableEditor, _ departures: inout Departures) throws
    /// Releases the models that left and did not reappear in the same reading.
    func settle(_ departures: Departures)
    /// Those of the last reading, empty ones included.
    var sections: Set<SectionID> { get }
    func commit()
    func rollBack()
}

/// Numbers of the models that left their places during one reading, by id. One that reappears unchanged keeps its
/// number.
struct Departures {
    private var numbers: [RowID: JSONText] = [:]
    /// Further ones with an id of `numbers`, from other sections.
    private var others: [RowID: [JSONText]] = [:]
    private var kept: Set<JSONText> = []

    mutating func add(_ row: StoredRow) {
        guard let id = row.id else { return }
        if numbers[id] == nil { numbers[id] = row.model } else { others[id, default: []].append(row.model) }
    }

    mutating func take(_ id: RowID, where isSame: (JSONText) -> Bool) -> JSONText? {
        if let number = numbers[id], isSame(number) {
            numbers[id] = others[id]?.popLast()
            kept.insert(number)
            return number
        }
        guard let index = others[id]?.firstIndex(where: isSame), let number = others[id]?.remove(at: index) else {
            return nil
        }
        kept.insert(number)
        return number
    }

    mutating func keep(_ number: JSONText) -> JSONText {
        kept.insert(number)
        return number
    }

    func isKept(_ number: JSONText) -> Bool { kept.contains(number) }
}
