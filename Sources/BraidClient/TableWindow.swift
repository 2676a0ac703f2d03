/// A run of displayed rows that a client reads and follows in place of the whole table. See
/// docs/http-api/sessions-and-snapshots.md, "Windows".
public struct TableWindow: Sendable, Hashable {
    /// `nil` for a window across all displayed sections.
    public var section: String?
    /// The rows that the window shows.
    public var run: Run

    /// A range of indexes, or the rows around one row.
    public enum Run: Sendable, Hashable {
        /// At most `limit` rows from `offset`, in the section or the whole table. A negative offset counts from the
        /// end.
        case rows(offset: Int, limit: Int)
        /// The row with an id, the anchor, with at most `before` and `after` rows around it. `section` is the anchor's,
        /// needed only if several displayed sections contain the id.
        case around(id: String, section: String?, before: Int, after: Int)
    }

    /// Creates a window.
    public init(section: String? = nil, run: Run) {
        self.section = section
        self.run = run
    }

    /// A window with a fixed offset, or with a fixed distance from the end.
    ///
    /// - Parameters:
    ///   - offset: of the first row, in the section or the whole table. -100 means the first of the last 100.
    ///   - limit: at most 10,000.
    ///   - section: `nil` for all displayed sections.
    public static func rows(offset: Int = 0, limit: Int = 100, ofSection section: String? = nil) -> TableWindow {
        TableWindow(section: section, run: .rows(offset: offset, limit: limit))
    }

    /// A window around a row, its anchor, which keeps its rows when others are inserted above.
    ///
    /// - Parameters:
    ///   - anchorSection: needed if several displayed sections have the id.
    ///   - before: at most 10,000.
    ///   - after: at most 10,000.
    ///   - section: `nil` for all displayed sections.
    public static func around(
        _ id: String, inSection anchorSection: String? = nil, before: Int = 50, after: Int = 50,
        ofSection section: String? = nil
    ) -> TableWindow {
        TableWindow(section: section, run: .around(id: id, section: anchorSection, before: before, after: after))
    }

    /// Where a window is in the table, at one revision.
    public struct Place: Codable, Sendable, Hashable {
        /// The rows before the window, in its section or the whole table.
        public var offset: Int
        /// `nil` for a fixed offset, or if no row with an id can be the anchor, as in an empty window.
        public var anchor: Anchor?

        /// Creates a place.
        public init(offset: Int, anchor: Anchor? = nil) {
            self.offset = offset
            self.anchor = anchor
        }
    }

    /// The row around which a window stays when others are inserted or deleted.
    public struct Anchor: Codable, Sendable, Hashable {
        /// The id of the row's section.
        public var section: String
        /// The row's id.
        public var id: String

        /// Creates an anchor.
        public init(section: String, id: String) {
            self.section = section
            self.id = id
        }
    }
}

extension TableWindow {
    var parameters: [String: String?] {
        switch run {
        case .rows(let offset, let limit):
            ["section": section, "offset": String(offset), "limit": String(limit)]
        case .around(let id, let place, let before, let after):
            [
                "section": section, "around": id, "aroundSection": place, "before": String(before),
                "after": String(after),
            ]
        }
    }

    /// Also the value of the query parameter `from`.
    var query: String { BraidClient.query(parameters) }

    /// The window that a snapshot at this place shows, with its current anchor; without an anchor, from the first row
    /// that the server shows.
    func at(_ place: Place?) -> TableWindow {
        guard case .around(_, _, let before, let after) = run, let place else { return self }
        guard let anchor = place.anchor else {
            return .rows(offset: place.offset, limit: 1 + after, ofSection: section)
        }
        return .around(anchor.id, inSection: anchor.section, before: before, after: after, ofSection: section)
    }

    /// As many rows at a fixed offset, if this window is around a row.
    func withoutAnchor(offset: Int) -> TableWindow {
        guard case .around(_, _, let before, let after) = run else { return self }
        return .rows(offset: offset, limit: before + 1 + after, ofSection: section)
    }
}

extension Snapshot {
    /// Returns a row's index among all displayed rows of the window's section, or of the whole table.
    public func displayIndex(of path: RowPath) -> Int {
        sections.prefix(path.section).reduce((window?.offset ?? 0) + path.row) { $0 + $1.rows.count }
    }

    /// The inverse of ``displayIndex(of:)``; `nil` if the snapshot does not contain the row.
    public func path(atDisplayIndex index: Int) -> RowPath? {
        var row = index - (window?.offset ?? 0)
        guard row >= 0 else { return nil }
        for (section, content) in sections.enumerated() {
            if row < content.rows.count { return RowPath(section: section, row: row) }
            row -= content.rows.count
        }
        return nil
    }
}
