/// A window's sections and rows at one revision.
public struct WindowedSnapshot: Sendable {
    /// With the anchor, if any, at this revision.
    public let window: TableWindow
    /// The window's sections, with ``Section/extent``. `totalRowCount` and the like are those of the whole table.
    public let snapshot: Snapshot
    /// How many displayed rows come before, in the window's section or in the whole table.
    public let offset: Int
    /// In the whole table.
    let anchorPath: RowPath?
    /// Of the whole table (``WindowSource/starts``).
    let starts: [Int]

    /// The row that the window keeps showing while others come, go and move. `nil` for a fixed offset, or if no row
    /// with an id was found.
    public var anchor: TableWindow.Anchor? {
        if case .around(let anchor, _, _) = window.run { anchor } else { nil }
    }

    /// The window at the next revision.
    ///
    /// A fixed offset stays. An anchor stays, also if the update replaces its row and one with its id is displayed.
    /// Otherwise the nearest remaining row with an id becomes the anchor, of two the later one; if there is none within
    /// 1,000 rows, the row that is now at its index, or the last one. If that has no id, the first row does, if it has
    /// one.
    ///
    /// O(log rows + log operations of the update); for a lost anchor, up to 2,000 other rows.
    public func following(_ follower: RowFollower, to source: WindowSource) -> WindowedSnapshot {
        source.cut(window, anchorAt: nextAnchor(follower, source), sharing: self)
    }

    /// In display order, within the window's section or the table.
    var anchorIndex: Int? {
        anchorPath.map { window.section == nil ? starts[$0.section] + $0.row : $0.row }
    }

    private func nextAnchor(_ follower: RowFollower, _ source: WindowSource) -> RowPath? {
        guard let anchorPath else { return nil }
        func place(of path: RowPath) -> RowPath? {
            guard let place = follower.following(path), source.contains(place) else { return nil }
            let section = source.snapshot.sections[place.section]
            // The anchor must have an id, and be in the window's section.
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
                let section = starts.firstPosition { $0 > candidate } - 1
                if let place = place(of: RowPath(section: section, row: candidate - starts[section])) { return place }
            }
            if !bounds.contains(index + distance), !bounds.contains(index - distance) { break }
        }
        return source.path(near: anchorIndex ?? 0, window)
    }

    /// How far around a lost anchor.
    static let searchedDistance = 1_000
}

/// Where a window is at one revision: enough to cut it again out of that revision's table, without its rows.
public struct WindowPlace: Sendable, Hashable {
    /// With the anchor at the revision.
    public let window: TableWindow
    let anchorPath: RowPath?
    let anchorIndex: Int?
}

extension WindowSource {
    func contains(_ path: RowPath) -> Bool {
        snapshot.sections.indices.contains(path.section)
            && snapshot.sections[path.section].rows.indices.contains(path.row)
    }

    /// In the window's section or the table; the last row if `index` is too high. `nil` without rows.
    func path(near index: Int, _ window: TableWindow) -> RowPath? {
        let all = bounds(of: window, near: nil)
        return all.isEmpty ? nil : path(at: all.lowerBound + min(index, all.count - 1))
    }
}

extension WindowedSnapshot {
    /// Where the window is at the revision of its snapshot.
    public var place: WindowPlace { WindowPlace(window: window, anchorPath: anchorPath, anchorIndex: anchorIndex) }

    /// The window as UTF-8 JSON, the API's snapshot of a window. `nil` leaves a member out. O(bytes of the result).
    public func encoded(session: String? = nil, table: String? = nil, epoch: String? = nil) -> [UInt8] {
        snapshot.encoded(session: session, table: table, epoch: epoch, place: writePlace)
    }

    /// `{"offset": …, "anchor"?: {"section": …, "id": …}}`.
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
