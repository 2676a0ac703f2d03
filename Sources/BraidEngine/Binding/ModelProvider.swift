/// A source of models, titles or cell counts that a Swift program keeps, or the program's rule that decides which
/// sections are displayed. Every command reads the source again, like Braid's `models: { … }` closures.
///
/// A command reads all providers before it places any model. A command therefore recognizes a model that moved from one
/// chain's section to another chain's section.
protocol ModelProvider: AnyObject, Sendable {
    /// Reads the source, and finds out what changed since the last reading that was not rolled back.
    func read(_ table: TableModel, _ departures: inout Departures) throws
    /// Updates the table to match what `read` has read.
    func place(into editor: inout TableEditor, _ departures: inout Departures) throws
    /// Releases the Swift models that left their places in the table and did not reappear anywhere in the same reading.
    func settle(_ departures: Departures)
    /// The sections for which the source gave models, titles or counts at the last reading. A section with an empty
    /// list counts.
    var sections: Set<SectionID> { get }
    func commit()
    func rollBack()
}

/// The models with ids that left their places in the table during one reading of all providers, by model id. Each Swift
/// model is represented by a number in the table. If such a model reappears unchanged, it keeps its number.
struct Departures {
    private var numbers: [RowID: JSONText] = [:]
    /// The models that left their places and whose id already has an entry in `numbers`. Several sections can contain
    /// the same id.
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
