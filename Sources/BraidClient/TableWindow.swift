/// A run of displayed rows (docs/http-api/sessions-and-snapshots.md, "Windows").
///
/// ```swift
/// let latest = TableWindow.rows(offset: -100)
/// let around = TableWindow.around("kim", before: 20, after: 80)
/// for try await event in session.subscribe(window: around) { … }
/// ```
public struct TableWindow: Sendable, Hashable {
    /// `nil` for all displayed sections.
    public var section: String?
    /// Which rows.
    public var run: Run

    /// By index, or around a row.
    public enum Run: Sendable, Hashable {
        /// In the section or table; a negative offset counts from the end.
        case rows(offset: Int, limit: Int)
        /// The anchor and rows around it. `section`: the anchor's, if several display the id.
        case around(id: String, section: String?, before: Int, after: Int)
    }

    /// Creates a window.
    public init(section: String? = nil, run: Run) {
        self.section = section
        self.run = run
    }

    /// At an offset of the section or table (-100: the last 100); `limit` is at most 10,000.
    public static func rows(offset: Int = 0, limit: Int = 100, ofSection section: String? = nil) -> TableWindow {
        TableWindow(section: section, run: .rows(offset: offset, limit: limit))
    }

    /// Around a row, its anchor: keeps its rows when others are inserted above. `before` and `after` are at most
    /// 10,000; `anchorSection` is needed if several sections display the id.
    public static func around(
        _ id: String, inSection anchorSection: String? = nil, before: Int = 50, after: Int = 50,
        ofSection section: String? = nil
    ) -> TableWindow {
        TableWindow(section: section, run: .around(id: id, section: anchorSection, before: before, after: after))
    }

    /// Where a window is at a revision.
    public struct Place: Codable, Sendable, Hashable {
        /// Rows before it, in its section or the table.
        public var offset: Int
        /// `nil` for a fixed offset, or if no row with an id can be it.
        public var anchor: Anchor?

        /// Creates a place.
        public init(offset: Int, anchor: Anchor? = nil) {
            self.offset = offset
            self.anchor = anchor
        }
    }

    /// The row around which a window stays.
    public struct Anchor: Codable, Sendable, Hashable {
        /// The section's id.
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

    /// As in the query parameter `from`.
    var query: String { BraidClient.query(parameters) }

    /// With the place's anchor; without one, from the first row shown.
    func at(_ place: Place?) -> TableWindow {
        guard case .around(_, _, let before, let after) = run, let place else { return self }
        guard let anchor = place.anchor else {
            return .rows(offset: place.offset, limit: 1 + after, ofSection: section)
        }
        return .around(anchor.id, inSection: anchor.section, before: before, after: after, ofSection: section)
    }

    /// As many rows, at a fixed offset.
    func withoutAnchor(offset: Int) -> TableWindow {
        guard case .around(_, _, let before, let after) = run else { return self }
        return .rows(offset: offset, limit: before + 1 + after, ofSection: section)
    }
}

extension Snapshot {
    /// The row's index in the window's section or the whole table.
    public func displayIndex(of path: RowPath) -> Int {
        sections.prefix(path.section).reduce((window?.offset ?? 0) + path.row) { $0 + $1.rows.count }
    }

    /// The inverse of ``displayIndex(of:)``; `nil` if the row is not here.
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
