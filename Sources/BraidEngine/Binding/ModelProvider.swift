/// What a Swift program keeps: models, titles or cell counts, or the rule that decides which sections are displayed.
/// Every command reads it again, as Braid calls its `models: { … }` closures.
///
/// All providers are read before any places its models, so that a model that moves between two chains is recognized.
///
/// `Sendable` only so that a binder can hold it: the program's binder is not, and it alone calls its providers.
protocol ModelProvider: AnyObject, Sendable {
    /// Reads the source and finds out what changed since the last reading that was not rolled back.
    func read(_ table: TableModel, _ departures: inout Departures) throws
    /// Makes the table match what was read.
    func place(into editor: inout TableEditor, _ departures: inout Departures) throws
    /// Releases the models that left their places and did not reappear in the same reading.
    func settle(_ departures: Departures)
    /// The sections of the last reading, those with an empty list included.
    var sections: Set<SectionID> { get }
    func commit()
    func rollBack()
}

/// The models that left their places during one reading of all providers, as their numbers by id. One that reappears
/// unchanged keeps its number.
struct Departures {
    private var numbers: [RowID: JSONText] = [:]
    /// Further models with an id of `numbers`: several sections can contain it.
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
