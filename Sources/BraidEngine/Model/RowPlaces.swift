/// By one or more members of the models. Equal rows keep their stored order.
struct SortOrder: Sendable, Equatable {
    private struct Key: Equatable {
        var member: JSONPointer
        var descends: Bool
    }

    /// Never empty.
    private let keys: [Key]

    static let mostKeys = 8
    static let rule =
        "it must give the name of a member, or a JSON Pointer such as \"/due/date\", with \"-\" in front for descending, or an array of 1 to \(mostKeys) of these"

    /// From a string or an array of strings.
    init?(_ json: JSONText) {
        let names = json.stringValue.map { [$0] } ?? (json.elements() ?? []).map { $0.stringValue ?? "" }
        guard (1...Self.mostKeys).contains(names.count) else { return nil }
        var keys: [Key] = []
        for name in names {
            let descends = name.hasPrefix("-"), path = descends ? String(name.dropFirst()) : name
            guard !path.isEmpty, let member = path.hasPrefix("/") ? JSONPointer(path) : .root.appending(path) else {
                return nil
            }
            keys.append(Key(member: member, descends: descends))
        }
        self.keys = keys
    }

    /// What a row is sorted by.
    struct Place {
        fileprivate var values: [Value]
        var rank: Int
    }

    /// Absent and null, false, true, numbers, strings by UTF-8, arrays and objects.
    fileprivate enum Value: Equatable {
        case nothing, bool(Bool), number(Double), text(String), other

        private var kind: Int {
            switch self {
            case .nothing: 0
            case .bool: 1
            case .number: 2
            case .text: 3
            case .other: 4
            }
        }

        /// Negative if this comes first.
        func comparison(to other: Value) -> Int {
            switch (self, other) {
            case (.bool(let mine), .bool(let others)): return (mine ? 1 : 0) - (others ? 1 : 0)
            case (.number(let mine), .number(let others)): return mine < others ? -1 : mine > others ? 1 : 0
            case (.text(let mine), .text(let others)):
                if mine.utf8.lexicographicallyPrecedes(others.utf8) { return -1 }
                return others.utf8.lexicographicallyPrecedes(mine.utf8) ? 1 : 0
            default: return kind - other.kind
            }
        }
    }

    func place(of row: StoredRow) -> Place {
        let model = row.model
        return Place(
            values: keys.map { key in
                guard let value = model[key.member] else { return .nothing }
                switch value.kind {
                case .null: return .nothing
                case .bool: return .bool(value.boolValue ?? false)
                case .number: return .number(value.doubleValue ?? 0)
                case .string: return .text(value.stringValue ?? "")
                case .array, .object: return .other
                }
            }, rank: row.rank)
    }

    func precedes(_ one: Place, _ other: Place) -> Bool {
        for (key, (mine, others)) in zip(keys, zip(one.values, other.values)) {
            let comparison = mine.comparison(to: others)
            if comparison != 0 { return key.descends ? comparison > 0 : comparison < 0 }
        }
        return one.rank < other.rank
    }
}

/// Which stored rows a section's rows are, if it can hide or sort some.
struct RowPlaces: Sendable {
    /// The displayed rows' ranks, in display order.
    var ranks: PersistentList<Int>
    /// Rows that exist for who looks, displayed or not.
    var count: Int
    let order: SortOrder?

    /// The displayed index, or where the row would be inserted; `section` has the rows at these ranks. O(log² rows).
    func position(for row: StoredRow, in section: StoredSection) -> Int {
        guard let order else { return ranks.firstPosition { $0 >= row.rank } }
        let place = order.place(of: row)
        return ranks.firstPosition { rank in
            let index = section.index(ofRank: rank)
            return index >= section.rows.count || !order.precedes(order.place(of: section.rows[index]), place)
        }
    }

    /// `nil` for a row that is not displayed.
    func index(of row: StoredRow, in section: StoredSection) -> Int? {
        let position = position(for: row, in: section)
        return position < ranks.count && ranks[position] == row.rank ? position : nil
    }

    func storedIndex(of row: Int, in section: StoredSection) -> Int? {
        guard ranks.indices.contains(row) else { return nil }
        let index = section.index(ofRank: ranks[row])
        return index < section.rows.count && section.rows[index].rank == ranks[row] ? index : nil
    }
}

/// A section's displayed rows.
struct SectionRows: Sendable {
    var rows: PersistentList<Row>
    var places: RowPlaces?
}
