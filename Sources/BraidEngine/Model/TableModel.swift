/// All that a session stores. A copy costs O(1), and shares what does not change.
public struct TableModel: Sendable {
    /// Displayed or not: declared ones in declared order, dynamic ones as they came, unless rearranged.
    public internal(set) var sections: PersistentList<StoredSection> = [] { didSet { locator.noteChange() } }
    private(set) var locator = RowLocator()
    private var positions: [SectionID: Int] = [:]
    /// Chosen by a command, in display order; `nil` without a choice.
    public internal(set) var displayedSections: [SectionID]?
    /// A JSON object.
    public internal(set) var state: JSONText
    /// Registered by the session, in addition to the description's.
    public internal(set) var cells: RegisteredCells
    /// Never reused.
    public internal(set) var nextKey = 1
    /// Never reused.
    public internal(set) var nextSection = 1

    /// `nextKey` must be greater than every row's key; `nextSection` is raised if needed.
    public init(
        sections: [StoredSection] = [], displayedSections: [SectionID]? = nil, state: JSONText = .emptyObject,
        cells: RegisteredCells = RegisteredCells(), nextKey: Int = 1, nextSection: Int = 1
    ) {
        self.sections = PersistentList(sections)
        self.displayedSections = displayedSections
        self.state = state
        self.cells = cells
        self.nextKey = nextKey
        self.nextSection = max(nextSection, (sections.map(\.summary.number).max() ?? 0) + 1)
        reindex()
    }

    private mutating func reindex() {
        positions.removeAll(keepingCapacity: true)
        notePositions(from: 0)
    }

    private mutating func notePositions(from start: Int) {
        // By index: an iterator copies each section.
        for position in start..<sections.count { positions[sections[position].id] = position }
    }

    package var estimatedSize: Int {
        var size = state.count
        for position in 0..<sections.count {
            size += sections[position].summary.estimatedSize
            let rows = sections[position].rows
            rows.forEach(in: 0..<rows.count) { _, row in size += row.estimatedSize }
        }
        return size
    }

    var rowCount: Int {
        var count = 0
        sections.forEachBuffer(in: 0..<sections.count) { _, sections in
            for section in sections.indices { count += sections[section].rows.count }
        }
        return count
    }

    /// Index in ``sections``. O(1).
    public func position(of id: SectionID) -> Int? { positions[id] }

    /// Displayed or not.
    public subscript(id: SectionID) -> StoredSection? { positions[id].map { sections[$0] } }

    /// Ascending, hidden ones included. With many sections O(log rows), once `RowLocator` is built.
    func positions(ofSectionsWith id: RowID) -> [Int] {
        guard sections.count > Self.fewSections else { return sections.indices.filter { sections[$0].contains(id) } }
        let positions = locator.sections(of: RowHash.hash(id), in: sections).compactMap { position(of: $0) }
        return positions.filter { sections[$0].contains(id) }.sorted()
    }

    /// Up to here, searching one by one is fast and needs no index.
    static let fewSections = 64

    mutating func noteArrivals(_ hashes: some Collection<UInt64>, in section: SectionID) {
        locator.noteArrivals(hashes, in: section)
    }

    /// Between two sections at first, so that most new ones fit between them.
    private static let ordinalGap = 1 << 16

    /// O(sections after it). `number` is that of a section which comes back. Returns the new section, and those with
    /// new ordinals.
    mutating func insertSection(_ id: SectionID, at position: Int, number: Int? = nil) -> [SectionID] {
        let before = position > 0 ? sections[position - 1].summary.ordinal : nil
        let after = position < sections.count ? sections[position].summary.ordinal : nil
        let ordinal =
            switch (before, after) {
            case (nil, nil): Self.ordinalGap
            case (let before?, nil): before + Self.ordinalGap
            case (nil, let after?): after - Self.ordinalGap
            case (let before?, let after?): before + (after - before) / 2
            }
        sections.insert(
            StoredSection(summary: StoredSectionSummary(number: number ?? nextSection, id: id, ordinal: ordinal)),
            at: position)
        if number == nil { nextSection += 1 }
        notePositions(from: position)
        return [id] + raiseOrdinals(from: position)
    }

    /// `order` has each id once. Returns those with new ordinals.
    mutating func arrangeSections(_ order: [SectionID]) -> [SectionID] {
        sections = PersistentList(order.compactMap { self[$0] })
        reindex()
        return raiseOrdinals(from: 1)
    }

    /// Raises ordinals that are not above the one before; all get new ones if one leaves `StoredSection.places`.
    /// Returns the sections that changed.
    private mutating func raiseOrdinals(from position: Int) -> [SectionID] {
        var raised: [SectionID] = []
        for position in max(1, position)..<max(1, position, sections.count) {
            let least = sections[position - 1].summary.ordinal
            guard sections[position].summary.ordinal <= least else { continue }
            sections[position].summary.ordinal = least + Self.ordinalGap
            raised.append(sections[position].id)
        }
        guard !sections.isEmpty,
            !StoredSection.places.contains(sections[0].summary.ordinal)
                || !StoredSection.places.contains(sections[sections.count - 1].summary.ordinal)
        else { return raised }
        for position in 0..<sections.count { sections[position].summary.ordinal = (position + 1) * Self.ordinalGap }
        return sections.map(\.id)
    }

    mutating func removeSections(_ ids: Set<SectionID>) {
        sections = PersistentList(sections.lazy.filter { !ids.contains($0.id) })
        reindex()
    }
}
