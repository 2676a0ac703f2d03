/// Everything that a session stores: models, titles that commands set, displayed sections, registered cells and state.
/// A copy costs O(1), and shares what does not change.
public struct TableModel: Sendable {
    /// All sections, displayed or not: declared ones in declared order, dynamic ones in order of appearance unless
    /// rearranged.
    public internal(set) var sections: PersistentList<StoredSection> = [] { didSet { locator.noteChange() } }
    private(set) var locator = RowLocator()
    private var positions: [SectionID: Int] = [:]
    /// The sections that were chosen to be displayed, in display order. `nil` without a choice.
    public internal(set) var displayedSections: [SectionID]?
    /// A JSON object.
    public internal(set) var state: JSONText
    /// The cells that the session registered, as opposed to the description's.
    public internal(set) var cells: RegisteredCells
    /// The key of the next row. Keys are never reused.
    public internal(set) var nextKey = 1
    /// The number of the next section. Numbers are never reused.
    public internal(set) var nextSection = 1

    /// Creates a stored table; by default an empty one. `nextKey` must be greater than every row's key; `nextSection`
    /// is raised to the next free number.
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
        // Iterating would copy each section.
        for position in start..<sections.count { positions[sections[position].id] = position }
    }

    /// About the size of all sections, rows and the state as JSON, in bytes. O(rows).
    package var estimatedSize: Int {
        var size = state.count
        // Iterating would copy each section.
        for position in 0..<sections.count {
            size += sections[position].summary.estimatedSize
            let rows = sections[position].rows
            rows.forEach(in: 0..<rows.count) { _, row in size += row.estimatedSize }
        }
        return size
    }

    /// Stored rows. O(sections).
    var rowCount: Int {
        // Iterating would copy each section.
        sections.chunks.reduce(0) { count, chunk in chunk.indices.reduce(count) { $0 + chunk[$1].rows.count } }
    }

    /// The index in ``sections``. O(1).
    public func position(of id: SectionID) -> Int? { positions[id] }

    /// A section, displayed or not.
    public subscript(id: SectionID) -> StoredSection? { positions[id].map { sections[$0] } }

    /// Ascending, hidden ones included. O(log rows) in a table of many sections, once its `RowLocator` is built.
    func positions(ofSectionsWith id: RowID) -> [Int] {
        // Iterating would copy each section.
        guard sections.count > Self.fewSections else { return sections.indices.filter { sections[$0].contains(id) } }
        let positions = locator.sections(of: RowHash.hash(id), in: sections).compactMap { position(of: $0) }
        return positions.filter { sections[$0].contains(id) }.sorted()
    }

    /// Up to so many sections are searched one by one: that is fast, and needs no memory for an index.
    static let fewSections = 64

    /// `hashes` of the ids.
    mutating func noteArrivals(_ hashes: some Collection<UInt64>, in section: SectionID) {
        locator.noteArrivals(hashes, in: section)
    }

    /// At first, so that a section can come between two others without new ordinals.
    private static let ordinalGap = 1 << 16

    /// At a position in `0...count`. O(sections after it).
    ///
    /// - Returns: the new section, then the others with new ordinals.
    mutating func insertSection(_ id: SectionID, at position: Int) -> [SectionID] {
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
            StoredSection(summary: StoredSectionSummary(number: nextSection, id: id, ordinal: ordinal)), at: position)
        nextSection += 1
        notePositions(from: position)
        return [id] + raiseOrdinals(from: position)
    }

    /// Each id once. Returns the sections with new ordinals.
    mutating func arrangeSections(_ order: [SectionID]) -> [SectionID] {
        sections = PersistentList(order.compactMap { self[$0] })
        reindex()
        return raiseOrdinals(from: 1)
    }

    /// Raises ordinals that are not greater than the one before. If one leaves `StoredSection.places`, all get new
    /// ones. Returns the changed sections.
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

extension TableModel {
    /// The same table with models that share the bytes of the rows of its snapshot, so that each is in memory once.
    /// Sections that do not display all rows are unchanged. O(rows).
    public func sharingModels(with snapshot: Snapshot) -> TableModel {
        var table = self
        for shown in snapshot.sections {
            guard let position = position(of: shown.id), shown.rows.count == sections[position].rows.count else {
                continue
            }
            table.sections[position].shareModels(with: shown.rows)
        }
        return table
    }
}
