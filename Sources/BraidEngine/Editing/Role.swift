/// What a requester may do in a session. Each role may also do what the roles before it may.
public enum Role: String, Comparable, CaseIterable, Sendable {
    /// Looks at a session and follows it.
    case viewer
    /// Edits and moves rows, and taps them, as far as the table's policies allow.
    case participant
    /// Owns the session's data, and may do everything.
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
