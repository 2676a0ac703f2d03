/// The part of a displayed table that a client asks for: a run of rows in display order, of one section or across all.
/// A ``WindowedSnapshot`` has the rows at one revision.
public struct TableWindow: Sendable, Hashable {
    /// `nil` for all displayed sections.
    public var section: SectionID?
    /// Which of their rows.
    public var run: Run

    /// Rows from an offset on, or around an anchor row.
    public enum Run: Sendable, Hashable {
        /// At most `limit` rows from `offset` on, which counts from the end if negative: -3 is the third from the end.
        case rows(offset: Int, limit: Int)
        /// The anchor and the rows around it. The anchor is `nil` if there are no rows, or the row that would be it has
        /// no id.
        case around(Anchor?, before: Int, after: Int)
    }

    /// A row that a window keeps showing while others come, go and move.
    public struct Anchor: Sendable, Hashable {
        /// Which displays it.
        public var section: SectionID
        /// Its id.
        public var id: RowID

        /// Creates an anchor.
        public init(section: SectionID, id: RowID) {
            self.section = section
            self.id = id
        }
    }

    /// Creates a window of one section, or of all if `section` is `nil`.
    public init(section: SectionID? = nil, _ run: Run) {
        self.section = section
        self.run = run
    }
}
