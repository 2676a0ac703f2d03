/// Stored rows one after the other, hidden ones and those of hidden sections included.
package struct ModelPage: Sendable {
    package private(set) var rows: [(section: SectionID, row: StoredRow)] = []
    /// About as many as its JSON has.
    package private(set) var bytes = 0
    /// Of the last row, if there are more.
    package fileprivate(set) var next: Place?

    /// Where a row is, or was: it may have moved or gone.
    package struct Place: Sendable {
        /// The section's number and ordinal.
        package let section, ordinal: Int
        /// The row's.
        package let key, rank: Int

        package init(section: Int, ordinal: Int, key: Int, rank: Int) {
            self.section = section
            self.ordinal = ordinal
            self.key = key
            self.rank = rank
        }
    }

    fileprivate mutating func append(_ row: StoredRow, in section: SectionID) {
        rows.append((section, row))
        bytes += row.estimatedSize + section.text.utf8.count
    }
}

extension TableModel {
    /// Up to `limit` rows after a place, by default all sections'. Ends early, behind the row that fills `bytes`.
    /// `keepsOrder`: no command since the place was read has `changedPlaces`. Otherwise the row must still be there:
    /// returns `nil` if it is not. Throws `sectionNotFound`. O(sections + page + log rows).
    package func modelPage(
        of section: SectionID?, after place: ModelPage.Place?, keepsOrder: Bool, limit: Int, bytes: Int
    ) throws(Refusal) -> ModelPage? {
        var positions = 0..<sections.count, start = (position: 0, row: 0)
        if let section {
            guard let position = position(of: section) else {
                throw .noSection(section, among: sections.lazy.map(\.id))
            }
            positions = position..<position + 1
        }
        if let place {
            guard let found = self.start(after: place, keepsOrder: keepsOrder) else { return nil }
            start = found
        }
        var page = ModelPage(), last: ModelPage.Place?
        for position in positions.clamped(to: start.position..<sections.count) {
            let section = sections[position]
            var rows = PersistentList.Window(section.rows)
            for index in (position == start.position ? start.row : 0)..<section.rows.count {
                if page.rows.count == limit || page.bytes >= bytes {
                    page.next = last
                    return page
                }
                let row = rows[index]
                page.append(row, in: section.id)
                last = ModelPage.Place(
                    section: section.summary.number, ordinal: section.summary.ordinal, key: row.key, rank: row.rank)
            }
        }
        return page
    }

    private func start(after place: ModelPage.Place, keepsOrder: Bool) -> (position: Int, row: Int)? {
        let position = sections.firstPosition { $0.summary.ordinal >= place.ordinal }
        guard position < sections.count, sections[position].summary.number == place.section,
            sections[position].summary.ordinal == place.ordinal
        else { return keepsOrder ? (position, 0) : nil }
        let section = sections[position], row = section.index(ofRank: place.rank)
        if row < section.rows.count, section.rows[row].key == place.key, section.rows[row].rank == place.rank {
            return (position, row + 1)
        }
        return keepsOrder ? (position, row) : nil
    }
}

extension TableChange {
    /// Of an undo: whether the command gave rows new ranks that did not move, or sections new ordinals. `table` is that
    /// after the command.
    package func changedPlaces(in table: TableModel) -> Bool {
        let moved = Set(movedRows)
        return placedRows.contains { !moved.contains($0.key) }
            || writtenSections.contains { old in table[old.id].map { $0.summary.ordinal != old.ordinal } ?? false }
    }
}
