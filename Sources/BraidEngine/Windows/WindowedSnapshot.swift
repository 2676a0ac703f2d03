/// A window at one revision.
public struct WindowedSnapshot: Sendable {
    /// With the anchor at this revision.
    public let window: TableWindow
    /// Of the window; `totalRowCount` and the like are the whole table's.
    public private(set) var snapshot: Snapshot
    /// Displayed rows before it, in its section or in the table.
    public let offset: Int
    /// In the whole table.
    let anchorPath: RowPath?
    /// ``WindowSource/starts``.
    let starts: [Int]

    /// `nil` for a fixed offset, or if no row with an id was found.
    public var anchor: TableWindow.Anchor? {
        if case .around(let anchor, _, _) = window.run { anchor } else { nil }
    }

    /// The window at the next revision. An offset stays. So does an anchor, even if its row is replaced by one with its
    /// id; otherwise the nearest row with an id, of two the later, becomes it. If there is none within 1,000 rows, it
    /// is the row now at its index or the last, or else the first one with an id. O(log rows + log operations).
    public func following(_ follower: RowFollower, to source: WindowSource) -> WindowedSnapshot {
        source.cut(window, anchorAt: nextAnchor(follower, source), sharing: self)
    }

    var anchorIndex: Int? {
        anchorPath.map { window.section == nil ? starts[$0.section] + $0.row : $0.row }
    }

    private func nextAnchor(_ follower: RowFollower, _ source: WindowSource) -> RowPath? {
        guard let anchorPath else { return nil }
        func place(of path: RowPath) -> RowPath? {
            guard let place = follower.following(path), source.contains(place) else { return nil }
            let section = source.snapshot.sections[place.section]
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

    /// In rows, around a lost anchor.
    static let searchedDistance = 1_000
}

/// Enough to cut a window again out of its revision's table.
public struct WindowPlace: Sendable, Hashable {
    /// With the anchor at that revision.
    public let window: TableWindow
    let anchorPath: RowPath?
    let anchorIndex: Int?
}

extension WindowSource {
    func contains(_ path: RowPath) -> Bool {
        snapshot.sections.indices.contains(path.section)
            && snapshot.sections[path.section].rows.indices.contains(path.row)
    }

    /// The last row if `index` is too high.
    func path(near index: Int, _ window: TableWindow) -> RowPath? {
        let all = bounds(of: window, near: nil)
        return all.isEmpty ? nil : path(at: all.lowerBound + min(index, all.count - 1))
    }
}

extension WindowedSnapshot {
    /// With its rows' JSON in memory, until they have so many bytes or have taken so long: each use would render the
    /// others again.
    package func rendered(bytes: Int, time: Duration) -> WindowedSnapshot {
        let end = ContinuousClock.now + time
        var rest = bytes, window = self
        for place in snapshot.sections.indices where snapshot.sections[place].rows.contains(where: \.isOnDemand) {
            let rows = snapshot.sections[place].rows.map { row in
                guard row.isOnDemand, rest > 0, .now < end else { return row }
                let rendered = row.rendered
                rest -= rendered.leastSize
                return rendered
            }
            window.snapshot.sections[place].rows = PersistentList(rows)
        }
        return window
    }

    /// Where it is, without its rows.
    public var place: WindowPlace { WindowPlace(window: window, anchorPath: anchorPath, anchorIndex: anchorIndex) }

    /// UTF-8 JSON, the API's snapshot of a window. `nil` leaves a member out.
    public func encoded(session: String? = nil, table: String? = nil, epoch: String? = nil) -> [UInt8] {
        snapshot.encoded(session: session, table: table, epoch: epoch, place: writePlace)
    }

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
