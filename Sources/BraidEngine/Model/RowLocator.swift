import Synchronization

/// Finds the sections that may contain a row with an id, without a look at every section.
///
/// It is an index from hashes of row ids to sections. Its entries are hints: every row of the table has an entry, and
/// rows that have left their sections may have one as well. The caller verifies each hint in the section itself.
///
/// The index is made when it is first needed. All copies of a table share it, so that the commands that follow find it
/// made, even if the command that needed it is refused. A value: a changed copy shares the entries that did not change.
struct RowLocator: Sendable {
    /// 24 bytes, half a hash and a section.
    private struct Entry {
        var hash: UInt32
        var section: SectionID

        init(_ hash: UInt64, _ section: SectionID) {
            self.hash = UInt32(truncatingIfNeeded: hash >> 32)
            self.section = section
        }

        func isBefore(_ other: Entry) -> Bool { hash == other.hash ? section < other.section : hash < other.hash }
    }

    /// Ascending by hash and section, without repetitions.
    private struct Entries {
        var list: PersistentList<Entry>
        /// With more entries than this most of them may be of rows that are gone.
        let most: Int
    }

    /// Made from the rows of the tables that share it.
    private final class Index: Sendable {
        let entries: Mutex<Entries?>

        init(_ entries: Entries? = nil) { self.entries = Mutex(entries) }
    }

    private var index = Index()

    /// `nil` if the index is not made.
    var entryCount: Int? { index.entries.withLock { $0?.list.count } }

    /// The sections that may contain a row with an id of this hash, in no order of the table's.
    ///
    /// - Parameter sections: the sections of the table. Complexity: O(rows) for the first call, then O(log rows).
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
        return Entries(list: PersistentList(entries), most: 2 * entries.count + 1_024)
    }

    /// The table's sections have changed: an index that is made from now on is not that of the table before. Rows that
    /// came must be noted as well.
    mutating func noteChange() {
        guard !isKnownUniquelyReferenced(&index), index.entries.withLock({ $0 == nil }) else { return }
        index = Index()
    }

    /// Rows with ids of these hashes came to the section. O(log rows) for each of them.
    mutating func noteArrivals(_ hashes: some Collection<UInt64>, in section: SectionID) {
        guard let made = index.entries.withLock({ $0 }) else { return noteChange() }
        // To make the index again later costs less than to insert many.
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
