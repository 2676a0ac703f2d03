/// The part of a displayed table that a client asks for: a run of rows in display order, of one section or across all.
/// A ``WindowedSnapshot`` has the rows at one revision.
public struct TableWindow: Sendable, Hashable {
    /// The section whose rows the window shows. `nil` for a window across all displayed sections.
    public var section: SectionID?
    /// Which rows of the section or table the window shows: where the run of rows begins, and how many rows it
    /// contains.
    public var run: Run

    /// How a window names its run of rows: by an offset, or by an anchor row.
    public enum Run: Sendable, Hashable {
        /// At most `limit` rows from `offset` on, which counts from the end if negative: -3 is the third from the end.
        case rows(offset: Int, limit: Int)
        /// The anchor and the rows around it. The anchor is `nil` if there are no rows, or the row that would be it has
        /// no id.
        case around(Anchor?, before: Int, after: Int)
    }

    /// A row that a window keeps showing while other rows of the table are inserted, deleted and moved.
    public struct Anchor: Sendable, Hashable {
        /// The section that displays the row.
        public var section: SectionID
        /// The row's id.
        public var id: RowID

        /// Creates the anchor that names a row of a section.
        public init(section: SectionID, id: RowID) {
            self.section = section
            self.id = id
        }
    }

    /// Creates a window with a run of rows of one section, or of all displayed sections if `section` is `nil`.
    public init(section: SectionID? = nil, _ run: Run) {
        self.section = section
        self.run = run
    }
}
