extension TableEditor {
    typealias Stretch = (old: Range<Int>, new: Range<Int>)
    typealias Model = (id: RowID?, model: JSONText)

    /// Replaces all models. One with an old row's id keeps its key, and is written only if it changed. O(n log n) in
    /// old and new rows.
    mutating func setModels(_ models: [Model], in section: SectionID) throws(Refusal) {
        let position = try position(of: section), stored = table.sections[position].rows
        var rows = PersistentList.Window(stored)
        func isSame(_ row: StoredRow, _ new: Model) -> Bool { row.content.has(new.id) && row.model == new.model }

        let shorter = min(stored.count, models.count)
        var prefix = 0, suffix = 0
        while prefix < shorter, isSame(rows[prefix], models[prefix]) { prefix += 1 }
        if prefix == stored.count, prefix == models.count { return }
        while suffix < shorter - prefix, isSame(rows[stored.count - 1 - suffix], models[models.count - 1 - suffix]) {
            suffix += 1
        }
        let new = prefix..<models.count - suffix
        try replace([(prefix..<stored.count - suffix, new)], with: models[new], in: section)
        try noteFilled(section, rows: models.count)
    }

    /// As `setModels`, in stretches that ascend and are disjoint; `models` are those of all stretches. A refill is a
    /// whole list.
    ///
    /// - Complexity: O(n log n) in the rows of the stretches, and that of `PersistentList.replace`.
    mutating func replace(
        _ stretches: [Stretch], with models: ArraySlice<Model>, in section: SectionID, isRefill: Bool = true
    ) throws(Refusal) {
        let position = try position(of: section)
        var stored = table.sections[position]
        let arrivals = try Arrivals(models, at: stretches, in: stored)
        let ranks: [Int]
        do throws(NoRoom) {
            ranks = try arrivals.ranks(stretches, in: stored)
        } catch {
            makeRoom(for: models.count, in: error.ranges, of: position)
            return try replace(stretches, with: models, in: section, isRefill: isRefill)
        }
        noteGone(arrivals.gone, from: stored.summary.number)
        var replacements: [PersistentList<StoredRow>.Replacement] = [], pieces: [RowPieces.Piece] = [], passed = 0
        func change(_ old: Range<Int>, to rows: ContiguousArray<StoredRow>, _ piece: RowPieces.Piece) {
            if passed < old.lowerBound { pieces.append(.init(start: passed, count: old.lowerBound - passed)) }
            if piece.count > 0 { pieces.append(piece) }
            passed = old.upperBound
            replacements.append((old, rows))
        }
        var place = 0, arrived: [UInt64] = []
        if stored.rows.isEmpty { written.reserveCapacity(written.count + models.count) }
        for stretch in stretches {
            var start = stretch.old.lowerBound, coming = ContiguousArray<StoredRow>()
            func close(_ end: Int) {
                if start < end || !coming.isEmpty {
                    change(start..<end, to: coming, .init(start: nil, count: coming.count))
                }
                coming = []
            }
            for new in models[(models.startIndex + place)...].prefix(stretch.new.count) {
                let source = arrivals.source(of: place)
                if source == nil { try check(new.id, in: section) }
                let (row, isEqual) = arrive(new, from: source, rank: ranks[place], in: stored.summary.number)
                if source == nil, row.content.hasID { arrived.append(row.content.idHash) }
                if let index = arrivals.staysAt[place] {
                    close(index)
                    if !isEqual {
                        change(index..<index + 1, to: [row], .init(start: index, count: 1, isReplaced: true))
                    }
                    start = index + 1
                } else {
                    coming.append(row)
                }
                place += 1
            }
            close(stretch.old.upperBound)
        }
        if replacements.isEmpty { return }
        pieces.append(.init(start: passed, count: RowPieces.endless - passed))
        try stored.replace(replacements)
        table.sections[position] = stored
        table.noteArrivals(arrived, in: section)
        noteRows(section, TouchedRows.Edits(pieces), isRefill: isRefill)
    }

    private mutating func makeRoom(for count: Int, in ranges: [Range<Int>], of position: Int) {
        for range in ranges {
            var relabelled: [StoredRow] = []
            let indices = table.sections[position].makeRoom(for: count, in: range) { relabelled.append($0) }
            for row in relabelled { keepOriginal(row, of: table.sections[position].summary.number) }
            for index in indices { noteRank(at: index, in: position) }
        }
    }

    private mutating func noteGone(_ rows: [StoredRow], from section: Int) {
        for row in rows {
            keepOriginal(row, of: section)
            placed[row.key] = nil
            written[row.key] = nil
            if row.key < firstNewKey { removed.insert(row.key) }
        }
    }

    private mutating func arrive(_ new: Model, from source: StoredRow?, rank: Int, in section: Int) -> (
        row: StoredRow, isEqual: Bool
    ) {
        guard var row = source else {
            let row = StoredRow(key: table.nextKey, rank: rank, id: new.id, model: new.model)
            table.nextKey += 1
            written[row.key] = (section, row)
            return (row, false)
        }
        let isEqual = row.model == new.model, staysPut = row.rank == rank
        if !isEqual || !staysPut { keepOriginal(row, of: section) }
        if !staysPut { moved.insert(row.key) }
        row.rank = rank
        if !isEqual { row.content = RowContent(id: new.id, model: new.model) }
        if !isEqual || written[row.key] != nil {
            written[row.key] = (section, row)
            placed[row.key] = nil
        } else if !staysPut {
            placed[row.key] = (section, rank)
        }
        return (row, isEqual)
    }
}

private struct NoRoom: Error {
    var ranges: [Range<Int>] = []
}

/// Which new models keep the key, or key and rank, of an old row.
private struct Arrivals {
    private var rows = ContiguousArray<StoredRow>()
    /// For each model, the place in `rows` of the row whose key it keeps.
    private var sources: [Int?]
    /// For each model that keeps key and rank, its old index.
    private(set) var staysAt: [Int?]
    private(set) var gone: [StoredRow] = []

    init(_ models: ArraySlice<TableEditor.Model>, at stretches: [TableEditor.Stretch], in section: StoredSection)
        throws(Refusal)
    {
        sources = Array(repeating: nil, count: models.count)
        staysAt = sources
        var places = RowTable(capacity: models.count)
        for (place, model) in models.enumerated() {
            guard let id = model.id else { continue }
            if places.findOrInsert(place, RowHash.hash(id), { models[models.startIndex + $0].id == id }) != nil {
                throw .duplicateRow(id, in: section.id)
            }
        }
        var start = (old: 0, new: 0)
        for stretch in stretches {
            section.rows.forEach(in: stretch.old) { rows.append($1) }
            // The n-th model without an id gets the n-th old row's key, if that has no id either.
            var nameless = start.old
            for place in start.new..<start.new + stretch.new.count where models[models.startIndex + place].id == nil {
                if nameless < rows.count, !rows[nameless].content.hasID { sources[place] = nameless }
                nameless += 1
            }
            start = (rows.count, start.new + stretch.new.count)
        }
        for (index, row) in rows.enumerated() where row.content.hasID {
            guard let place = places.find(row.content.idHash, { row.content.has(models[models.startIndex + $0].id) })
            else { continue }
            sources[place] = index
        }
        var isKept = ContiguousArray(repeating: false, count: rows.count)
        for case let source? in sources { isKept[source] = true }
        for (index, row) in rows.enumerated() where !isKept[index] { gone.append(row) }

        // Those that keep their order in a stretch keep their ranks.
        start = (0, 0)
        for stretch in stretches {
            let rowsHere = start.old..<start.old + stretch.old.count
            let known = (start.new..<start.new + stretch.new.count).filter {
                sources[$0].map(rowsHere.contains) ?? false
            }
            for position in IncreasingSubsequence.heaviest(
                known.map { sources[$0] ?? 0 }, weights: known.map { _ in 1 })
            {
                let place = known[position]
                staysAt[place] = sources[place].map { stretch.old.lowerBound + $0 - start.old }
            }
            start = (rowsHere.upperBound, start.new + stretch.new.count)
        }
    }

    func source(of place: Int) -> StoredRow? { sources[place].map { rows[$0] } }

    /// Rows that stay keep theirs; the others' are spread evenly in the gaps. Throws the stretches without room.
    func ranks(_ stretches: [TableEditor.Stretch], in section: StoredSection) throws(NoRoom) -> [Int] {
        var ranks: [Int] = [], noRoom = NoRoom()
        ranks.reserveCapacity(sources.count)
        for stretch in stretches {
            let start = ranks.count, end = start + stretch.new.count
            var low = stretch.old.lowerBound > 0 ? section.rows[stretch.old.lowerBound - 1].rank : nil
            func fill(upTo end: Int, before high: Int?) {
                let count = end - ranks.count, gap = StoredSection.rankGap, places = StoredSection.places
                guard count > 0 else { return }
                func check(_ hasRoom: Bool) {
                    if !hasRoom, noRoom.ranges.last != stretch.old { noRoom.ranges.append(stretch.old) }
                }
                switch (low, high) {
                case (let low?, let high?):
                    let step = (high - low) / (count + 1)
                    check(step > 0)
                    ranks += (1...count).lazy.map { low + $0 * step }
                case (let low?, nil):
                    check(low + count * gap <= places.upperBound)
                    ranks += (1...count).lazy.map { low + $0 * gap }
                case (nil, let high?):
                    check(high - count * gap >= places.lowerBound)
                    ranks += (0..<count).lazy.map { high - (count - $0) * gap }
                case (nil, nil): ranks += (0..<count).lazy.map { $0 * gap }
                }
            }
            for place in start..<end {
                guard staysAt[place] != nil, let rank = source(of: place)?.rank else { continue }
                fill(upTo: place, before: rank)
                ranks.append(rank)
                low = rank
            }
            let high = stretch.old.upperBound < section.rows.count ? section.rows[stretch.old.upperBound].rank : nil
            fill(upTo: end, before: high)
        }
        if !noRoom.ranges.isEmpty { throw noRoom }
        return ranks
    }
}
