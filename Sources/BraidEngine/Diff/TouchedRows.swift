/// Which rows a series of edits touched, kept up in command order without looking at the table: from it the update is
/// made without diffing what was not touched.
///
/// Indices count in the section's rows at the time of the call. Each call is O(touched rows of the section); a section
/// with too many is given up and diffed whole. It is trusted: an edit that is not noted is not in the update.
public struct TouchedRows: Sendable {
    /// One section's net edits. Rows not named here stand in the same order before and after.
    struct Edits: Sendable {
        /// Before, ascending.
        var removed: [Int] = []
        /// After, ascending.
        var inserted: [Int] = []
        /// After, ascending; none of them stands in `inserted`.
        var replaced: [Int] = []
    }

    enum Rows: Sendable {
        case untouched
        case edits(Edits)
        /// Nothing is known.
        case whole
    }

    private var sections: [SectionID: Rows] = [:]
    private static let limit = 512

    public init() {}

    func rows(in section: SectionID) -> Rows { sections[section] ?? .untouched }

    public mutating func wholeSection(_ section: SectionID) { sections[section] = .whole }

    public mutating func insert(in section: SectionID, at index: Int) {
        edit(section) { edits in
            Self.shift(&edits.inserted, from: index, by: 1)
            Self.shift(&edits.replaced, from: index, by: 1)
            Self.add(index, to: &edits.inserted)
        }
    }

    public mutating func remove(in section: SectionID, at index: Int) {
        edit(section) { edits in
            if let place = edits.inserted.firstIndex(of: index) {
                edits.inserted.remove(at: place)
            } else {
                // Its place among the old rows that are left, then among all old rows.
                var old = index - edits.inserted.prefix { $0 < index }.count
                for removed in edits.removed where removed <= old { old += 1 }
                Self.add(old, to: &edits.removed)
                edits.replaced.removeAll { $0 == index }
            }
            Self.shift(&edits.inserted, from: index + 1, by: -1)
            Self.shift(&edits.replaced, from: index + 1, by: -1)
        }
    }

    public mutating func replace(in section: SectionID, at index: Int) {
        edit(section) { edits in
            if !edits.inserted.contains(index), !edits.replaced.contains(index) { Self.add(index, to: &edits.replaced) }
        }
    }

    private mutating func edit(_ section: SectionID, _ body: (inout Edits) -> Void) {
        var edits: Edits
        // Taken out while it is changed, so that its arrays are not copied.
        switch sections.removeValue(forKey: section) ?? .untouched {
        case .untouched: edits = Edits()
        case .edits(let known): edits = known
        case .whole: return sections[section] = .whole
        }
        body(&edits)
        let count = edits.removed.count + edits.inserted.count + edits.replaced.count
        sections[section] = count > Self.limit ? .whole : .edits(edits)
    }

    private static func shift(_ list: inout [Int], from index: Int, by distance: Int) {
        for place in list.indices where list[place] >= index { list[place] += distance }
    }

    private static func add(_ index: Int, to list: inout [Int]) {
        list.insert(index, at: list.firstIndex { $0 > index } ?? list.count)
    }
}
