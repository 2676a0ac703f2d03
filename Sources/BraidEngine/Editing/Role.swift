/// Each may do what those before it may, too.
public enum Role: String, Comparable, CaseIterable, Sendable {
    /// Reads.
    case viewer
    /// Edits, moves and taps as policies allow.
    case participant
    /// Owns the data; may send every command.
    case controller

    /// May do less.
    public static func < (left: Role, right: Role) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .participant: 1
        case .controller: 2
        }
    }
}
