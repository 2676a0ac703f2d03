/// Models that a program keeps, read anew with every command: what Braid's `models: { … }` closures are.
///
/// One command reads all of them before it places any, so that a model that left one chain's section for another's is
/// known to be the same.
protocol ModelProvider: AnyObject {
    /// Reads the models and finds out what changed since the last command that succeeded.
    func read(_ table: TableModel, _ departures: inout Departures) throws
    /// Brings the table up to date with what was read.
    func place(into editor: inout TableEditor, _ departures: inout Departures) throws
    /// Gives up the models that left, and turned up nowhere.
    func settle(_ departures: Departures)
    /// The sections that the program named when the provider was last read, with models or without.
    var sections: Set<SectionID> { get }
    func commit()
    func rollBack()
}

/// Models that left their places in this command, by id: those that turn up elsewhere keep their numbers.
struct Departures {
    private var numbers: [RowID: JSONText] = [:]
    /// Of ids that several sections hold, those that left later.
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
