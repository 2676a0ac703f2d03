/// The change of a window between two revisions, or to another window. The paths of ``update`` count within the window:
/// a row that enters it is an insert, one that leaves it a delete.
public struct WindowUpdate: Sendable {
    /// `totalRowCount`, `state` and `empty` are those of the whole table.
    public let update: BatchUpdate
    /// The changed extents of sections that stay in the window. `section` is the index in it after the update.
    public let extents: [(section: Int, extent: Section.Extent)]
    /// Of the whole table.
    private let changesTotal: Bool
    /// After the update. `nil` if neither offset nor anchor changed.
    private let place: WindowedSnapshot?

    /// The update from one window to another. O(rows of both).
    ///
    /// - `revision`: the one before, if the window showed `old` at it.
    /// - Throws: ``Refusal`` for the faults of ``BatchUpdate/init(from:to:)``.
    public init(
        from old: WindowedSnapshot, to new: WindowedSnapshot, since revision: Int? = nil
    ) throws(Refusal) {
        var update = try BatchUpdate(from: old.snapshot, to: new.snapshot)
        if let revision { update.from = revision }
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

    /// Nothing changes for a client: no section, row, row count, offset, anchor, `state` or `empty`.
    public var isEmpty: Bool { update.isEmpty && extents.isEmpty && place == nil && !changesTotal }

    /// The members of an update, then `extents` and `window` where they changed.
    public var json: JSONText { update.json { writeMembers(to: &$0) } }

    /// The same with `operations` in place of `stages`.
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
