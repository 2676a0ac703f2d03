/// Which sections are displayed, in which order: Braid's `sectionDisplayBehavior`.
public struct SectionDisplay: Sendable {
    /// Raw values are the names in JSON.
    public enum Behavior: String, Sendable, CaseIterable {
        /// Show, in this order: the sections that were set, as they were set (all until then); those with displayed
        /// rows; those with displayed rows, a header or a footer.
        case manuallyManaged, hidesSectionsWithNoCellData, hidesSectionsWithNoData

        var whyNotSet: String? {
            self == .manuallyManaged ? nil : "The sections' display is automatic (\(rawValue)): it cannot be set."
        }

        func shows(_ section: SectionInput) -> Bool {
            section.displayedCount > 0
                || self == .hidesSectionsWithNoData && !(section.header.isNull && section.footer.isNull)
        }
    }

    enum Order: Sendable {
        case declared
        case sorting(@Sendable ([SectionID]) throws -> [SectionID])
        /// Equal sections keep the table's order.
        case by(reads: Reads, @Sendable (SectionInput, Evaluation) throws -> JSONValue)

        var reads: Reads { if case .by(let reads, _) = self { reads } else { [] } }
    }

    /// `order` matters only if it is automatic.
    public var behavior: Behavior = .manuallyManaged
    var order: Order = .declared
    /// Those shown until a command sets others. `nil` for all.
    var displayed: [SectionID]?

    init() {}

    /// Positions in `table.sections`, in display order. O(sections log sections).
    func displayedPositions(
        in table: TableModel, _ evaluation: Evaluation, input: (Int) throws -> SectionInput
    ) throws -> [Int] {
        let all = Array(table.sections.indices)
        switch behavior {
        case .manuallyManaged:
            guard let ids = table.displayedSections ?? displayed else { return all }
            return ids.compactMap { table.position(of: $0) }
        case .hidesSectionsWithNoCellData, .hidesSectionsWithNoData:
            return try ordered(all.filter { behavior.shows(try input($0)) }, in: table, evaluation, input)
        }
    }

    private func ordered(
        _ positions: [Int], in table: TableModel, _ evaluation: Evaluation, _ input: (Int) throws -> SectionInput
    ) throws -> [Int] {
        switch order {
        case .declared: return positions
        case .sorting(let sort):
            let ids = positions.map { table.sections[$0].id }
            let sorted = try sort(ids)
            guard sorted.count == ids.count, Set(sorted) == Set(ids) else {
                throw Refusal(
                    .templateFailed,
                    "The sections cannot be ordered: the function must return the sections that it received, each once."
                )
            }
            return sorted.compactMap { table.position(of: $0) }
        case .by(let reads, let key):
            let keyed = try positions.map { position in
                let input = try input(position)
                let key = try evaluation.value(reading: reads, else: .number(.infinity)) {
                    try SortKey(try Refusal.naming(input.id) { try key(input, evaluation) })
                }
                return (position: position, key: key)
            }
            if !evaluation.isLenient(reads), let first = keyed.first,
                keyed.contains(where: { !$0.key.isComparable(with: first.key) })
            {
                throw Refusal(
                    .templateFailed,
                    "The sections cannot be ordered: the expression of `order` must be a number for every section, or a string for every section."
                )
            }
            return keyed.sorted { $0.key == $1.key ? $0.position < $1.position : $0.key < $1.key }.map(\.position)
        }
    }

    private enum SortKey: Comparable {
        case number(Double), text(SectionID)

        init(_ value: JSONValue) throws(Refusal) {
            switch value {
            case .number(let number): self = .number(number.doubleValue)
            case .string(let text): self = .text(SectionID(text))
            default: throw Refusal(.templateFailed, "The expression of `order` must give a number or a string.")
            }
        }

        func isComparable(with other: SortKey) -> Bool {
            switch (self, other) {
            case (.number, .number), (.text, .text): true
            default: false
            }
        }
    }
}
