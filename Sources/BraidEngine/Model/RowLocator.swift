import Synchronization

/// Finds the sections that may contain a row with a given id, without searching every section.
///
/// A `RowLocator` is an index from hashes of row ids to sections. The index's entries are hints: every row with an id
/// has an entry, and rows that have left their sections may still have one. The caller checks whether the section of a
/// hint does contain the row.
///
/// The index is built when it is first needed. Copies of a table can share the index, so later commands find the index
/// ready even if the command that needed it is refused. A `RowLocator` behaves as a value: a changed copy shares the
/// entries that did not change.
struct RowLocator: Sendable {
    /// A hint that a section may contain a row: half of the hash of the row's id, and the section's id. 24 bytes.
    private struct Entry {
        var hash: UInt32
        var section: SectionID

        init(_ hash: UInt64, _ section: SectionID) {
            self.hash = UInt32(truncatingIfNeeded: hash >> 32)
            self.section = section
        }

        func isBefore(_ other: Entry) -> Bool { hash == other.hash ? section < other.section : hash < other.hash }
    }

    /// The index's entries, ascending by the hash of the row's id and then by section, without duplicates.
    private struct Entries {
        var list: PersistentList<Entry>
        /// The maximum number of entries in the index. The maximum limits the number of entries of rows that have left
        /// their sections.
        let most: Int
    }

    /// An index that several copies of a table can share. The index is built when it is first needed, from the rows of
    /// one of the copies. `entries` is `nil` until the index is built.
    private final class Index: Sendable {
        let entries: Mutex<Entries?>

        init(_ entries: Entries? = nil) { self.entries = Mutex(entries) }
    }

    private var index = Index()

    /// The number of entries in the index, or `nil` if the index is not built yet.
    var entryCount: Int? { index.entries.withLock { $0?.list.count } }

    /// Returns the ids of the sections that may contain a row whose id has this hash.
    ///
    /// - Parameter sections: the sections of the table.
    /// - Complexity: O(rows log rows) for the call that builds the index, O(log rows) for other calls.
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
        // If two ids of a section have the same half of their hashes, their entries are equal. The index contains such
        // an entry once.
        var distinct = ContiguousArray<Entry>()
        distinct.reserveCapacity(entries.count)
        for entry in entries where distinct.last?.isBefore(entry) != false { distinct.append(entry) }
        return Entries(list: PersistentList(distinct), most: 2 * distinct.count + 1_024)
    }

    /// Notes that the table's sections have changed. If the shared index is not built yet, the changed table gets a new
    /// index, because the copies that share the old index have other rows. Rows that arrived must also be noted with
    /// `noteArrivals`.
    mutating func noteChange() {
        guard !isKnownUniquelyReferenced(&index), index.entries.withLock({ $0 == nil }) else { return }
        index = Index()
    }

    /// Notes that a section has received rows whose ids have these hashes. O(log rows) for each row.
    mutating func noteArrivals(_ hashes: some Collection<UInt64>, in section: SectionID) {
        guard let made = index.entries.withLock({ $0 }) else { return noteChange() }
        // If the index would exceed its maximum size, it is dropped. The next lookup builds a new index, without
        // entries for removed rows.
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
