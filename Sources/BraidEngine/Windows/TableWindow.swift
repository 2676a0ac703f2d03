/// The run of rows, of one section or across all, that a client asks for. ``WindowedSnapshot`` has them at one
/// revision.
public struct TableWindow: Sendable, Hashable {
    /// `nil` for all.
    public var section: SectionID?
    /// Which rows.
    public var run: Run

    /// From an offset on, or around an anchor.
    public enum Run: Sendable, Hashable {
        /// A negative offset counts from the end: -3 is the third from there.
        case rows(offset: Int, limit: Int)
        /// Without an anchor if there are no rows, or the row in its place has no id.
        case around(Anchor?, before: Int, after: Int)
    }

    /// A row that a window keeps showing while others come, go and move.
    public struct Anchor: Sendable, Hashable {
        /// The section that displays it.
        public var section: SectionID
        /// Its id.
        public var id: RowID

        /// From its parts.
        public init(section: SectionID, id: RowID) {
            self.section = section
            self.id = id
        }
    }

    /// Of all sections if `section` is `nil`.
    public init(section: SectionID? = nil, _ run: Run) {
        self.section = section
        self.run = run
    }
}
