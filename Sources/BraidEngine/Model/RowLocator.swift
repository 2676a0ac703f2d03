import Synchronization

/// Which sections may contain a row with an id: hints from hashes to sections. Rows that left may have one, too; the
/// caller checks.
///
/// Built when first needed. Copies of a table share it, so it survives a command that is refused.
struct RowLocator: Sendable {
    /// Half of the hash; 24 bytes in all.
    struct Entry {
        var hash: UInt32
        var section: SectionID

        init(_ hash: UInt64, _ section: SectionID) {
            self.hash = UInt32(truncatingIfNeeded: hash >> 32)
            self.section = section
        }

        func isBefore(_ other: Entry) -> Bool { hash == other.hash ? section < other.section : hash < other.hash }
    }

    /// Ascending by hash, then section; distinct.
    struct Entries {
        var list: PersistentList<Entry>
        /// Above this many, a new index is built: rows that left keep their entries.
        let most: Int
    }

    /// Shared by copies of a table; `nil` until built.
    final class Index: Sendable {
        let entries: Mutex<Entries?>

        init(_ entries: Entries? = nil) { self.entries = Mutex(entries) }
    }

    private(set) var index = Index()

    /// O(rows log rows) for the call that builds the index, then O(log rows). `sections` are the table's.
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
        var distinct = ContiguousArray<Entry>()
        distinct.reserveCapacity(entries.count)
        for entry in entries where distinct.last?.isBefore(entry) != false { distinct.append(entry) }
        return Entries(list: PersistentList(distinct), most: 2 * distinct.count + 1_024)
    }

    /// Stops sharing an index that is not built: other copies have other rows. Arrivals need `noteArrivals`, too.
    mutating func noteChange() {
        guard !isKnownUniquelyReferenced(&index), index.entries.withLock({ $0 == nil }) else { return }
        index = Index()
    }

    mutating func noteArrivals(_ hashes: some Collection<UInt64>, in section: SectionID) {
        guard let made = index.entries.withLock({ $0 }) else { return noteChange() }
        // Too large; the next lookup builds one without removed rows.
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
