/// Everything that a session stores: the models of every section, displayed or not, the titles that were set, the
/// sections that are displayed, the state. A value: a copy is cheap, and a changed copy shares what did not change.
public struct TableModel: Sendable {
    /// In declared order, or, for dynamic sections, in order of first appearance.
    public internal(set) var sections: [StoredSection] = []
    private var positions: [SectionID: Int] = [:]
    /// The sections displayed under manual management, in that order; nil while none were set.
    public internal(set) var displayedSections: [SectionID]?
    public internal(set) var state: JSONText
    /// The next row's key; keys are never used again.
    public internal(set) var nextKey = 1
    /// The next section's number; numbers are never used again.
    private(set) var nextNumber = 1

    public init(
        sections: [StoredSection] = [], displayedSections: [SectionID]? = nil, state: JSONText = .emptyObject,
        nextKey: Int = 1
    ) {
        self.sections = sections
        self.displayedSections = displayedSections
        self.state = state
        self.nextKey = nextKey
        nextNumber = (sections.map(\.facts.number).max() ?? 0) + 1
        reindex()
    }

    private mutating func reindex() {
        positions.removeAll(keepingCapacity: true)
        for (position, section) in sections.enumerated() { positions[section.id] = position }
    }

    /// Stored rows of all sections.
    var rowCount: Int { sections.reduce(0) { $0 + $1.rows.count } }

    /// The section's place in `sections`.
    public func position(of id: SectionID) -> Int? { positions[id] }

    public subscript(id: SectionID) -> StoredSection? { positions[id].map { sections[$0] } }

    mutating func appendSection(_ id: SectionID) -> StoredSectionFacts {
        let facts = StoredSectionFacts(number: nextNumber, id: id, ordinal: (sections.last?.facts.ordinal ?? 0) + 1)
        nextNumber += 1
        positions[id] = sections.count
        sections.append(StoredSection(facts: facts))
        return facts
    }

    mutating func removeSection(at position: Int) -> StoredSection {
        defer { reindex() }
        return sections.remove(at: position)
    }
}
