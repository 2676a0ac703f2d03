import Synchronization

/// Finds the sections that may contain a row with an id: an index of hints, from hashes of ids to sections. Every row
/// with an id has one; so may rows that left their sections, so the caller checks.
///
/// Built when first needed. Copies of a table can share it, so it is ready for later commands even if the one that
/// needed it is refused. A value: a changed copy shares what did not change.
struct RowLocator: Sendable {
    /// Half of the id's hash, and the section. 24 bytes.
    struct Entry {
        var hash: UInt32
        var section: SectionID

        init(_ hash: UInt64, _ section: SectionID) {
            self.hash = UInt32(truncatingIfNeeded: hash >> 32)
            self.section = section
        }

        func isBefore(_ other: Entry) -> Bool { hash == other.hash ? section < other.section : hash < other.hash }
    }

    /// Ascending by hash, then section, without duplicates.
    struct Entries {
        var list: PersistentList<Entry>
        /// Limits the entries of rows that left their sections.
        let most: Int
    }

    /// Shared by copies of a table, and built from the rows of one of them; `entries` is `nil` until then.
    final class Index: Sendable {
        let entries: Mutex<Entries?>

        init(_ entries: Entries? = nil) { self.entries = Mutex(entries) }
    }

    private(set) var index = Index()

    /// - Parameter sections: those of the table.
    /// - Complexity: O(rows log rows) for the call that builds the index, O(log rows) for others.
    func sections(of hash: UInt64, in sections: PersistentList<StoredSection>) -> [SectionID] {
        let entries = index.entries.withLock { made in
            let entries = made ?? Self.entries(of: sections)
            made = entries
            return entries.list
        }
        let half = Entry(hash, "").hash
        var position = entries.firstPosition { $0.hash >= half }, window = PersistentList.Window(entries),
            found: [SectionID] = []
        while position < entries.count {
            let entry = window[position]
            guard entry.hash == half else { break }
            found.append(entry.section)
            position += 1
        }
        return found
    }

    private static func entries(of sections: PersistentList<StoredSection>) -> Entries {
        var entries = ContiguousArray<Entry>()
        for section in sections {
            for row in section.rows where row.content.hasID { entries.append(Entry(row.content.idHash, section.id)) }
        }
        entries.sort { $0.isBefore($1) }
        // Two ids of a section with the same half hash have one entry.
        var distinct = ContiguousArray<Entry>()
        distinct.reserveCapacity(entries.count)
        for entry in entries where distinct.last?.isBefore(entry) != false { distinct.append(entry) }
        return Entries(list: PersistentList(distinct), most: 2 * distinct.count + 1_024)
    }

    /// The sections have changed. An index that is not built yet is not shared any more, because the other copies have
    /// other rows. For rows that arrived, call `noteArrivals` as well.
    mutating func noteChange() {
        guard !isKnownUniquelyReferenced(&index), index.entries.withLock({ $0 == nil }) else { return }
        index = Index()
    }

    /// O(log rows) for each row.
    mutating func noteArrivals(_ hashes: some Collection<UInt64>, in section: SectionID) {
        guard let made = index.entries.withLock({ $0 }) else { return noteChange() }
        // Too large, so the next lookup builds another, without removed rows.
        guard made.list.count + hashes.count <= made.most else { return index = Index() }
        var entries = made
        for hash in hashes {
            let entry = Entry(hash, section), position = entries.list.firstPosition { !$0.isBefore(entry) }
            if position < entries.list.count, !entry.isBefore(entries.list[position]) { continue }
            entries.list.insert(entry, at: position)
        }
        index = Index(entries)
    }
}
