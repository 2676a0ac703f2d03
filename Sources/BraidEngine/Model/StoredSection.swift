/// A section's models, whether or not it is displayed.
public struct StoredSection: Sendable {
    /// All but the rows.
    public internal(set) var summary: StoredSectionSummary
    /// Ascending by rank.
    public private(set) var rows = PersistentList<StoredRow>()
    /// From ids' hashes to ranks; a binary search leads to the index. Only rows with ids.
    private var ranks = RankIndex()

    /// As in ``summary``.
    public var id: SectionID { summary.id }

    init(summary: StoredSectionSummary) { self.summary = summary }

    /// The rows ascend by rank. Throws `duplicateRowID`. Expected O(rows).
    public init(summary: StoredSectionSummary, rows: [StoredRow]) throws(Refusal) {
        self.summary = summary
        self.rows = PersistentList(rows)
        try index(rows)
    }

    private mutating func index(_ rows: [StoredRow]) throws(Refusal) {
        let identified = rows.filter { $0.content.hasID }
        guard
            let ranks = RankIndex(
                identified.map { ($0.content.idHash, $0.rank) },
                areSame: { identified[$0].content.hasSameID(as: identified[$1].content) })
        else {
            var seen: Set<RowID> = []
            for id in identified.lazy.compactMap(\.id) where !seen.insert(id).inserted {
                throw .duplicateRow(id, in: summary.id)
            }
            return
        }
        self.ranks = ranks
    }

    /// Index in ``rows``. O(log rows).
    public func index(of id: RowID) -> Int? {
        ranks.first(of: RowHash.hash(id)) { rank in
            let index = index(ofRank: rank)
            return index < rows.count && rows[index].content.has(id) ? index : nil
        }
    }

    func contains(_ id: RowID) -> Bool { index(of: id) != nil }

    var isWhollyIdentified: Bool { ranks.count == rows.count }

    /// Where the row with this rank is, or would be inserted.
    func index(ofRank rank: Int) -> Int { rows.firstPosition { $0.rank >= rank } }

    /// Inserts a row and sets its rank, to `rank` if it fits. `relabel` gets, with its old rank, each row that has to
    /// make room. Returns the indices that those and the new row then have; `nil` if there was room.
    mutating func insert(
        _ row: StoredRow, at index: Int, preferring rank: Int? = nil, relabel: (StoredRow) -> Void
    ) -> Range<Int>? {
        var row = row
        if let rank, Self.places.contains(rank), index == 0 || rows[index - 1].rank < rank,
            index == rows.count || rank < rows[index].rank
        {
            row.rank = rank
            rows.insert(row, at: index)
            if row.content.hasID { ranks.insert(row.content.idHash, rank: rank) }
            return nil
        }
        let relabelled = makeRoom(at: index, relabel)
        row.rank = rankForInsert(at: index)
        rows.insert(row, at: index)
        if row.content.hasID { ranks.insert(row.content.idHash, rank: row.rank) }
        guard let relabelled else { return nil }
        return relabelled.lowerBound..<relabelled.upperBound + 1
    }

    @discardableResult
    mutating func remove(at index: Int) -> StoredRow {
        let removed = rows.remove(at: index)
        if removed.content.hasID { ranks.remove(removed.content.idHash, rank: removed.rank) }
        return removed
    }

    /// The new rows' ranks must fit, and their ids differ. Throws `duplicateRowID` for the id of a row that stays: the
    /// section is then invalid.
    mutating func replace(_ replacements: [PersistentList<StoredRow>.Replacement]) throws(Refusal) {
        var gone: [RankIndex.Row] = [], come: [RankIndex.Row] = [], arrived: [RowContent] = []
        var window = PersistentList.Window(rows)
        for (range, new) in replacements {
            for offset in 0..<max(range.count, new.count) {
                let old = offset < range.count ? window[range.lowerBound + offset] : nil,
                    new = offset < new.count ? new[offset] : nil
                if let old, let new, old.rank == new.rank, old.content.hasSameID(as: new.content) { continue }
                if let old, old.content.hasID { gone.append((old.content.idHash, old.rank)) }
                if let new, new.content.hasID {
                    come.append((new.content.idHash, new.rank))
                    arrived.append(new.content)
                }
            }
        }
        // `rows` changes last: until then, the old ranks lead into it.
        let before = rows
        let twin = ranks.replace(gone, with: come) { rank, place in
            let index = before.firstPosition { $0.rank >= rank }
            return index < before.count && window[index].content.hasSameID(as: arrived[place])
        }
        if let id = twin.flatMap({ arrived[$0].id }) { throw .duplicateRow(id, in: self.id) }
        rows.replace(replacements)
    }

    /// Shares the bytes of displayed rows that have the same index, id and model.
    mutating func shareModels(with shown: PersistentList<Row>) {
        rows = PersistentList(
            zip(rows, shown).lazy.map { stored, shown in
                guard shown.content.holds(stored.content) else { return stored }
                var row = stored
                row.content = shown.content
                return row
            })
    }

    /// Key and rank stay.
    mutating func replace(at index: Int, id: RowID?, model: JSONText) {
        var row = rows[index]
        if !row.content.has(id) {
            if row.content.hasID { ranks.remove(row.content.idHash, rank: row.rank) }
            if let id { ranks.insert(RowHash.hash(id), rank: row.rank) }
        }
        row.content = RowContent(id: id, model: model)
        rows[index] = row
    }
}

// Ranks, a simple form of Dietz and Sleator's order maintenance, are 2^24 apart at first; a row between two gets the
// middle. Without a gap, rows around are spread evenly, twice as many each time, until there is one.
extension StoredSection {
    static let rankGap = 1 << 24
    /// For ranks and ordinals. Differences fit an `Int`, and so does what one command can add. Whatever would leave the
    /// range relabels the whole list.
    package static let places = -(1 << 61)...(1 << 61)

    private func rankForInsert(at index: Int) -> Int {
        switch (index == 0, index == rows.count) {
        case (true, true): 0
        case (true, false): rows[0].rank - Self.rankGap
        case (false, true): rows[index - 1].rank + Self.rankGap
        case (false, false): rows[index - 1].rank + (rows[index].rank - rows[index - 1].rank) / 2
        }
    }

    private mutating func makeRoom(at index: Int, _ relabel: (StoredRow) -> Void) -> Range<Int>? {
        let rank = rankForInsert(at: index)
        if Self.places.contains(rank), index == 0 || rows[index - 1].rank < rank { return nil }
        return makeRoom(for: 1, in: index..<index, relabel)
    }

    /// Makes room for `count` rows between any two of a range, and at the section's ends if they are in it. Calls
    /// `relabel` as `insert` does; returns the indices of those rows.
    mutating func makeRoom(for count: Int, in range: Range<Int>, _ relabel: (StoredRow) -> Void) -> Range<Int> {
        var reach = 32
        while true {
            let window = max(0, range.lowerBound - reach)..<min(rows.count, range.upperBound + reach)
            let isWhole = window.count == rows.count, gap = max(Self.rankGap, count + 1)
            // Beyond the ends, any rank in `places` is free.
            var low =
                window.lowerBound == 0
                ? rows[window.upperBound - 1].rank - window.count * gap : rows[window.lowerBound - 1].rank
            var high = window.upperBound == rows.count ? low + (window.count + 1) * gap : rows[window.upperBound].rank
            let isOut =
                window.lowerBound == 0 && low - count * gap < Self.places.lowerBound
                || window.upperBound == rows.count && high + count * gap > Self.places.upperBound
            if isOut, isWhole {
                low = -(window.count + 1) / 2 * gap
                high = low + (window.count + 1) * gap
            }
            let step = (high - low) / (window.count + 1)
            if isWhole || !isOut && step >= max(1 << 12, count + 1) {
                for (count, position) in window.enumerated() {
                    var row = rows[position]
                    relabel(row)
                    let rank = low + (count + 1) * step
                    if row.content.hasID { ranks.change(row.content.idHash, rank: row.rank, to: rank) }
                    row.rank = rank
                    rows[position] = row
                }
                return window
            }
            reach *= 2
        }
    }
}
