/// The content of a window at one revision: the sections and rows that the window shows.
public struct WindowedSnapshot: Sendable {
    /// The window that was cut out of the table. If the window has an anchor, `window` contains the anchor at this
    /// revision.
    public let window: TableWindow
    /// The sections that the window touches, with the window's rows only and with ``Section/extent``. The snapshot's
    /// other members, such as `totalRowCount`, are those of the whole table.
    public let snapshot: Snapshot
    /// The number of displayed rows before the window's first row, in the window's section or in the whole table.
    public let offset: Int
    /// The index path of the window's anchor in the whole table.
    let anchorPath: RowPath?
    /// The number of rows before each section of the whole table (``WindowSource/starts``).
    let starts: [Int]

    /// The anchor: the row that the window keeps showing while other rows of the table are inserted, deleted and moved.
    /// `nil` if the window has a fixed offset, or if the window could find no anchor row with an id.
    public var anchor: TableWindow.Anchor? {
        if case .around(let anchor, _, _) = window.run { anchor } else { nil }
    }

    /// Returns the window at the next revision.
    ///
    /// A window with a fixed offset keeps its offset. A window with an anchor stays with its anchor, also if the update
    /// replaces the row and a row with its id is still displayed. If the anchor was deleted, hidden or moved out of the
    /// window's section, the nearest remaining row with an id becomes the new anchor. If two remaining rows are at the
    /// same distance, the later one becomes the anchor. If no such row remains within 1,000 rows of the old anchor, the
    /// row that is now at the old anchor's index becomes the anchor. If that index is too high, the last row becomes
    /// the anchor. If the chosen row has no id, the first row becomes the anchor if it has an id.
    ///
    /// - Parameters:
    ///   - follower: the update that leads from this revision to the next one.
    ///   - source: the table at the next revision.
    /// - Complexity: O(log rows + log operations of the update). If the anchor was deleted, hidden or moved
    ///   out of the window's section, the method looks for up to 2,000 other rows.
    public func following(_ follower: RowFollower, to source: WindowSource) -> WindowedSnapshot {
        source.cut(window, anchorAt: nextAnchor(follower, source), sharing: self)
    }

    /// The anchor's index in display order, counted in the window's section or in the table.
    var anchorIndex: Int? {
        anchorPath.map { window.section == nil ? starts[$0.section] + $0.row : $0.row }
    }

    private func nextAnchor(_ follower: RowFollower, _ source: WindowSource) -> RowPath? {
        guard let anchorPath else { return nil }
        func place(of path: RowPath) -> RowPath? {
            guard let place = follower.following(path), source.contains(place) else { return nil }
            let section = source.snapshot.sections[place.section]
            // A window's anchor must have an id, and must be in the window's section.
            guard window.section == nil || window.section == section.id, section.rows[place.row].marks.idHash != 0
            else { return nil }
            return place
        }
        if let place = place(of: anchorPath) ?? source.displayedAnchor(of: window) { return place }
        let index = starts[anchorPath.section] + anchorPath.row
        let bounds =
            window.section == nil
            ? 0..<starts[starts.count - 1] : starts[anchorPath.section]..<starts[anchorPath.section + 1]
        for distance in 1...Self.searchedDistance {
            for candidate in [index + distance, index - distance] where bounds.contains(candidate) {
                let section = starts.partitionIndex { $0 > candidate } - 1
                if let place = place(of: RowPath(section: section, row: candidate - starts[section])) { return place }
            }
            if !bounds.contains(index + distance), !bounds.contains(index - distance) { break }
        }
        return source.path(near: anchorIndex ?? 0, window)
    }

    /// How many rows before and after a lost anchor are searched for the nearest remaining row.
    static let searchedDistance = 1_000
}

/// Where a window is at one revision: enough to cut the window again out of that revision's table. It keeps no rows in
/// memory.
public struct WindowPlace: Sendable, Hashable {
    /// The window, with the anchor that it has at the revision.
    public let window: TableWindow
    let anchorPath: RowPath?
    let anchorIndex: Int?
}

extension WindowedSnapshot {
    /// Where the window is at the revision of its snapshot.
    public var place: WindowPlace {
        WindowPlace(window: window, anchorPath: anchorPath, anchorIndex: anchorIndex)
    }
}

extension WindowSource {
    func contains(_ path: RowPath) -> Bool {
        snapshot.sections.indices.contains(path.section)
            && snapshot.sections[path.section].rows.indices.contains(path.row)
    }

    /// Returns the index path of the row at `index` in the window's section or in the table. If `index` is too high,
    /// returns the index path of the last row. Returns `nil` if the section or table has no rows.
    func path(near index: Int, _ window: TableWindow) -> RowPath? {
        let all = bounds(of: window, near: nil)
        return all.isEmpty ? nil : path(at: all.lowerBound + min(index, all.count - 1))
    }
}

extension WindowedSnapshot {
    /// Returns the window as UTF-8 JSON: the object that the HTTP API calls the snapshot of a window. O(bytes of the
    /// result).
    ///
    /// - Parameters:
    ///   - session: the session's id, or `nil` to leave the member out.
    ///   - table: the name of the session's table description, or `nil` to leave the member out.
    ///   - epoch: the session's epoch, or `nil` to leave the member out.
    public func encoded(session: String? = nil, table: String? = nil, epoch: String? = nil) -> [UInt8] {
        snapshot.encoded(session: session, table: table, epoch: epoch, place: writePlace)
    }

    /// Writes the member `window`, which says which rows of the table the window shows. `offset` is the number of rows
    /// before the window; `anchor` is the row with which the window moves, if there is one.
    func writePlace(to writer: inout JSONWriter) {
        writer.object("window") {
            $0.member("offset", offset)
            if let anchor {
                $0.object("anchor") {
                    $0.member("section", anchor.section)
                    $0.member("id", anchor.id)
                }
            }
        }
    }
}
