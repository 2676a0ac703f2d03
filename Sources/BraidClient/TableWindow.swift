/// A window: a run of displayed rows that a client reads and follows in place of the whole table. See
/// docs/http-api/sessions-and-snapshots.md, "Windows".
public struct TableWindow: Sendable, Hashable {
    /// The id of the section whose rows the window shows. `nil` for a window across all displayed sections.
    public var section: String?
    /// The rows that the window shows: a range of indexes, or the rows around one row.
    public var run: Run

    /// The rows of a window: a range of indexes, or the rows around one row.
    public enum Run: Sendable, Hashable {
        /// At most `limit` rows, beginning with the row at the index `offset`. The offset counts the rows of the
        /// window's section, or of the whole table. A negative offset counts from the end.
        case rows(offset: Int, limit: Int)
        /// The row with an id, the window's anchor, and at most `before` rows before it and `after` rows after it.
        /// `section` is the id of the anchor's section. `section` may be `nil` if the window shows a single section, or
        /// if only one displayed section contains a row with this id.
        case around(id: String, section: String?, before: Int, after: Int)
    }

    /// Creates a window.
    public init(section: String? = nil, run: Run) {
        self.section = section
        self.run = run
    }

    /// Returns a window with a fixed offset. An offset from 0 does not change when rows are inserted or deleted before
    /// the window. A window with a negative offset keeps its distance from the end.
    ///
    /// - Parameters:
    ///   - offset: the index of the first row, in the section or in the whole table. A negative offset counts from the
    ///     end: -100 means the first of the last 100 rows.
    ///   - limit: the largest number of rows, at most 10,000.
    ///   - section: the id of the section whose rows the window shows. `nil` for all displayed sections.
    public static func rows(offset: Int = 0, limit: Int = 100, ofSection section: String? = nil) -> TableWindow {
        TableWindow(section: section, run: .rows(offset: offset, limit: limit))
    }

    /// Returns a window around a row, its anchor. When rows are inserted above the window, the window keeps its rows.
    ///
    /// - Parameters:
    ///   - id: the anchor's id.
    ///   - anchorSection: the id of the anchor's section. Needed if the window shows all displayed sections, and several
    ///     of these sections have a row with the id.
    ///   - before: the largest number of rows before the anchor, at most 10,000.
    ///   - after: the largest number of rows after the anchor, at most 10,000.
    ///   - section: the id of the section whose rows the window shows. `nil` for all displayed sections.
    public static func around(
        _ id: String, inSection anchorSection: String? = nil, before: Int = 50, after: Int = 50,
        ofSection section: String? = nil
    ) -> TableWindow {
        TableWindow(section: section, run: .around(id: id, section: anchorSection, before: before, after: after))
    }

    /// The place of a window in the table at one revision.
    public struct Place: Codable, Sendable, Hashable {
        /// The number of rows before the window's first row, counted in the window's section or in the whole table.
        public var offset: Int
        /// The window's anchor. `nil` for a window with a fixed offset, and if the server found no row with an id for
        /// the anchor, for example in an empty window.
        public var anchor: Anchor?

        /// Creates a place.
        public init(offset: Int, anchor: Anchor? = nil) {
            self.offset = offset
            self.anchor = anchor
        }
    }

    /// The anchor of a window: the row around which the window stays when other rows are inserted or deleted.
    public struct Anchor: Codable, Sendable, Hashable {
        /// The id of the row's section.
        public var section: String
        /// The row's id.
        public var id: String

        /// Creates an anchor from the ids of a section and a row.
        public init(section: String, id: String) {
            self.section = section
            self.id = id
        }
    }
}

extension TableWindow {
    /// The query parameters that name the window.
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

    /// The window as a query, which is also the value of the query parameter `from`.
    var query: String { BraidClient.query(parameters) }

    /// Returns the window that a snapshot at this place shows, with its current anchor.
    ///
    /// If this window is around a row but the place names no anchor, the result begins with the first row that the
    /// server shows.
    func at(_ place: Place?) -> TableWindow {
        guard case .around(_, _, let before, let after) = run, let place else { return self }
        guard let anchor = place.anchor else {
            return .rows(offset: place.offset, limit: 1 + after, ofSection: section)
        }
        return .around(anchor.id, inSection: anchor.section, before: before, after: after, ofSection: section)
    }

    /// For a window around a row, returns a window with the fixed offset `offset` and with as many rows. Any other
    /// window is returned unchanged.
    func withoutAnchor(offset: Int) -> TableWindow {
        guard case .around(_, _, let before, let after) = run else { return self }
        return .rows(offset: offset, limit: before + 1 + after, ofSection: section)
    }
}

extension Snapshot {
    /// Returns the index of a row among all displayed rows of the window's section, or of the whole table.
    ///
    /// - Parameter path: the row's index path in this snapshot.
    public func displayIndex(of path: RowPath) -> Int {
        sections.prefix(path.section).reduce((window?.offset ?? 0) + path.row) { $0 + $1.rows.count }
    }

    /// Returns the index path of a row in this snapshot. `nil` if the snapshot does not contain the row.
    ///
    /// - Parameter index: the row's index among all displayed rows of the window's section, or of the whole table.
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
