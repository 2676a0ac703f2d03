/// A window's change between two revisions, or to another window. Paths count within it: a row that enters is an
/// insert, one that leaves a delete.
public struct WindowUpdate: Sendable {
    /// `totalRowCount`, `state` and `empty` are the whole table's.
    public let update: BatchUpdate
    /// Of sections that stay; `section` is the index in the window after the update.
    public let extents: [(section: Int, extent: Section.Extent)]
    private let changesTotal: Bool
    /// `nil` if offset and anchor stay.
    private let place: WindowedSnapshot?

    /// O(rows of both). `revision` is the one to start from, if the window showed the same as `old` then. `change`, the
    /// table's update, says who made it. Throws as ``BatchUpdate/init(from:to:)``.
    public init(
        from old: WindowedSnapshot, to new: WindowedSnapshot, since revision: Int? = nil,
        in change: BatchUpdate? = nil
    ) throws(Refusal) {
        var update = try BatchUpdate(from: old.snapshot, to: new.snapshot)
        if let revision { update.from = revision }
        if let change, change.from == update.from, change.to == update.to { update.by = change.by }
        self.update = update
        changesTotal = old.snapshot.totalRowCount != new.snapshot.totalRowCount
        place = old.offset == new.offset && old.anchor == new.anchor ? nil : new
        extents = Self.changedExtents(old.snapshot.sections, new.snapshot.sections)
    }

    private static func changedExtents(_ old: PersistentList<Section>, _ new: PersistentList<Section>)
        -> [(section: Int, extent: Section.Extent)]
    {
        var known: [SectionID: Section.Extent]?
        var changed: [(section: Int, extent: Section.Extent)] = []
        for (index, section) in new.enumerated() {
            guard let extent = section.extent else { continue }
            let before: Section.Extent?
            if index < old.count, old[index].id == section.id {
                before = old[index].extent
            } else {
                let extents =
                    known
                    ?? Dictionary(old.map { ($0.id, $0.extent) }) { first, _ in first }
                    .compactMapValues { $0 }
                known = extents
                before = extents[section.id]
            }
            if let before, before != extent { changed.append((index, extent)) }
        }
        return changed
    }

    /// Nothing changes for a client.
    public var isEmpty: Bool { update.isEmpty && extents.isEmpty && place == nil && !changesTotal }

    /// An update's members, then `extents` and `window` where they changed.
    public var json: JSONText { update.json { writeMembers(to: &$0) } }

    /// ``json`` with `operations` in place of `stages`.
    public var sequentialJSON: JSONText { update.sequentialJSON { writeMembers(to: &$0) } }

    private func writeMembers(to writer: inout JSONWriter) {
        writer.nonEmptyArray("extents", of: extents) { writer, change in
            writer.object {
                $0.member("section", change.section)
                $0.member("offset", change.extent.offset)
                $0.member("rowCount", change.extent.rowCount)
            }
        }
        place?.writePlace(to: &writer)
    }
}
