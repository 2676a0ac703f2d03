/// One step of an update for clients that apply one operation after another (RecyclerView, NSTableView, the DOM): each
/// index counts in the table as the operations before it left it.
public enum TableOperation: Sendable {
    case deleteSection(Int)
    case insertSection(at: Int, Section)
    /// `to` counts after the section has been taken out.
    case moveSection(from: Int, to: Int)
    case reloadSection(at: Int, Section)
    case updateSection(BatchUpdate.SectionUpdate)
    case deleteRow(IndexPath)
    case insertRow(at: IndexPath, Row)
    /// `to` counts after the row has been taken out.
    case moveRow(from: IndexPath, to: IndexPath, Row?)
    case reloadRow(at: IndexPath, Row)
    case updateRow(at: IndexPath, Row)
}

extension BatchUpdate {
    /// The update's stages as operations to be applied one after the other. O(k log k) for k operations, and
    /// O(sections) for each section that comes, goes or moves.
    public func sequential() -> [TableOperation] {
        stages.flatMap { $0.sequential() }
    }

    /// As `json`, with `operations` in place of `stages`.
    public var sequentialJSON: JSONText {
        var writer = JSONWriter()
        writeFrame(to: &writer) { writer in
            writer.name("operations")
            writer.beginArray()
            for operation in sequential() { operation.write(to: &writer) }
            writer.endArray()
        }
        return writer.text
    }
}

extension BatchUpdate.Stage {
    /// Content first, where every index still counts before the stage; then rows; then sections, of which those with
    /// row operations neither come, go nor move.
    func sequential() -> [TableOperation] {
        var operations: [TableOperation] = []
        operations += reloadSections.map { .reloadSection(at: $0.at, $0.section) }
        operations += updateSections.map { .updateSection($0) }
        operations += reloadRows.map { .reloadRow(at: $0.at, $0.row) }
        operations += updateRows.map { .updateRow(at: $0.at, $0.row) }
        operations += deleteRows.sorted().reversed().map { .deleteRow($0) }
        operations += arrivals()
        operations += sectionOperations()
        return operations
    }

    /// Sections before the stage by their place after it, for those that stay.
    private func sectionBefore() -> (Int) -> Int {
        let gone = (deleteSections + moveSections.map(\.from)).sorted(), came = (insertSections.map(\.at) + moveSections.map(\.to)).sorted()
        return { after in
            var before = after - came.prefix { $0 < after }.count
            for section in gone where section <= before { before += 1 }
            return before
        }
    }

    /// Rows that come and rows that move, in the order of their targets: when a row's turn comes, all that stands
    /// before it in the end stands there already, and among it only rows that have yet to leave.
    private func arrivals() -> [TableOperation] {
        struct Arrival {
            var to: IndexPath
            var from: IndexPath?
            var row: Row?
        }
        guard !insertRows.isEmpty || !moveRows.isEmpty else { return [] }
        let before = sectionBefore()
        let all = (insertRows.map { Arrival(to: $0.at, from: nil, row: $0.row) } + moveRows.map { Arrival(to: $0.to, from: $0.from, row: $0.row) })
            .map { Arrival(to: IndexPath(section: before($0.to.section), row: $0.to.row), from: $0.from, row: $0.row) }
            .sorted { $0.to < $1.to }
        var sections: [Int: SectionProgress] = [:]
        for section in Set(all.map(\.to.section) + moveRows.map(\.from.section)) {
            sections[section] = SectionProgress(
                deleted: deleteRows.filter { $0.section == section }.map(\.row).sorted(),
                leaving: moveRows.map(\.from).filter { $0.section == section }.map(\.row).sorted())
        }
        var operations: [TableOperation] = []
        for arrival in all {
            var from: IndexPath?
            if let source = arrival.from, let place = sections[source.section]?.take(source.row) {
                from = IndexPath(section: source.section, row: place)
            }
            guard let place = sections[arrival.to.section]?.put(at: arrival.to.row) else { continue }
            let to = IndexPath(section: arrival.to.section, row: place)
            if let from { operations.append(.moveRow(from: from, to: to, arrival.row)) } else if let row = arrival.row { operations.append(.insertRow(at: to, row)) }
        }
        return operations
    }

    private func sectionOperations() -> [TableOperation] {
        var operations = deleteSections.sorted().reversed().map { TableOperation.deleteSection($0) }
        guard !moveSections.isEmpty || !insertSections.isEmpty else { return operations }
        // Sections by their index before the stage, as they stand; those that have yet to leave are in `leaving`.
        let deleted = Set(deleteSections)
        var leaving = Set(moveSections.map(\.from))
        let count = (moveSections.map(\.from) + updateSections.map(\.at) + deleteSections).max() ?? -1
        var arrivals: [Int: (from: Int?, section: Section?)] = [:]
        for insert in insertSections { arrivals[insert.at] = (nil, insert.section) }
        for move in moveSections { arrivals[move.to] = (move.from, nil) }
        // What lies behind the last section that is named, and behind the last target, stays in order.
        let last = max(count, (arrivals.keys.max() ?? -1) + deleteSections.count)
        var current = (0...max(last, 0)).filter { !deleted.contains($0) }
        var place = 0
        for target in 0...(arrivals.keys.max() ?? 0) {
            while place < current.count, leaving.contains(current[place]) { place += 1 }
            if let arrival = arrivals[target] {
                if let from = arrival.from, let index = current.firstIndex(of: from) {
                    current.remove(at: index)
                    leaving.remove(from)
                    if index < place { place -= 1 }
                    current.insert(from, at: min(place, current.count))
                    operations.append(.moveSection(from: index, to: place))
                } else if let section = arrival.section {
                    current.insert(-1, at: min(place, current.count))
                    operations.append(.insertSection(at: place, section))
                }
            }
            place += 1
        }
        return operations
    }
}

/// One section's rows while rows leave and come one by one.
///
/// Rows that come are put right behind what stands before them in the end, so they stand before all rows that have yet
/// to leave there.
private struct SectionProgress {
    /// Rows, as before the stage, that have yet to leave; ascending.
    private var leaving: [Int]
    /// Rows that have been deleted, as before the stage; ascending.
    private let deleted: [Int]
    /// For each row that came: how many of the rows that stay stand before it. Ascending.
    private var came: [Int] = []
    /// All rows that ever leave, ascending.
    private let allLeaving: [Int]

    init(deleted: [Int], leaving: [Int]) {
        self.deleted = deleted
        self.leaving = leaving
        allLeaving = leaving
    }

    /// Takes out a row that leaves; returns its index.
    mutating func take(_ row: Int) -> Int? {
        let position = Self.count(of: leaving, below: row)
        guard position < leaving.count, leaving[position] == row else { return nil }
        leaving.remove(at: position)
        // Before it: the rows that stay, those that have yet to leave, and those that came at one of the places up to it.
        let staying = row - Self.count(of: deleted, below: row) - Self.count(of: allLeaving, below: row)
        return staying + position + Self.count(of: came, below: staying + 1)
    }

    /// Puts a row at an index as in the end, all before it being there; returns the index at which it comes.
    mutating func put(at index: Int) -> Int {
        // Those before it in the end are rows that came and rows that stay.
        let staying = index - came.count
        came.append(staying)
        return index + leavingBefore(staying)
    }

    /// How many rows that have yet to leave stand before the place behind the first `staying` rows that stay.
    private func leavingBefore(_ staying: Int) -> Int {
        guard staying > 0 else { return 0 }
        // A row that leaves stands before that place when fewer than `staying` rows that stay stand before it.
        var low = 0, high = leaving.count
        while low < high {
            let middle = (low + high) / 2
            let row = leaving[middle]
            let before = row - Self.count(of: deleted, below: row) - Self.count(of: allLeaving, below: row)
            if before < staying { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func count(of list: [Int], below limit: Int) -> Int {
        var low = 0, high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < limit { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension TableOperation {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .deleteSection(let section):
            writer.name("deleteSection")
            writer.value(section)
        case .insertSection(let at, let section):
            writer.name("insertSection")
            writer.object(at: at, section: section)
        case .moveSection(let from, let to):
            writer.name("moveSection")
            writer.beginObject()
            writer.name("from")
            writer.value(from)
            writer.name("to")
            writer.value(to)
            writer.endObject()
        case .reloadSection(let at, let section):
            writer.name("reloadSection")
            writer.object(at: at, section: section)
        case .updateSection(let update):
            writer.name("updateSection")
            update.write(to: &writer)
        case .deleteRow(let path):
            writer.name("deleteRow")
            writer.value(path)
        case .insertRow(let at, let row):
            writer.name("insertRow")
            writer.object(at: at, row: row)
        case .moveRow(let from, let to, let row):
            writer.name("moveRow")
            writer.object(from: from, to: to, row: row)
        case .reloadRow(let at, let row):
            writer.name("reloadRow")
            writer.object(at: at, row: row)
        case .updateRow(let at, let row):
            writer.name("updateRow")
            writer.object(at: at, row: row)
        }
        writer.endObject()
    }
}
