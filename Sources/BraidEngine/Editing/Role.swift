/// What the sender of a request may do: all that the roles before it may, too.
public enum Role: String, Comparable, CaseIterable, Sendable {
    /// A viewer may only read the session and receive its updates.
    case viewer
    /// Edits, moves and taps rows as far as the policies allow.
    case participant
    /// A controller owns the session's data, and may send every command.
    case controller

    /// Returns whether the left role may do less than the right role.
    public static func < (left: Role, right: Role) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .participant: 1
        case .controller: 2
        }
    }
}
