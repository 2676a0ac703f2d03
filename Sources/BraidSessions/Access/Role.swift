/// A requester's role. Each role may also do what the roles before it may.
package enum Role: String, Comparable, CaseIterable, Sendable {
    /// Looks at a session and follows it.
    case viewer
    /// Edits, moves, taps: as the table's policy allows.
    case participant
    /// Everything.
    case controller

    package static func < (left: Role, right: Role) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .participant: 1
        case .controller: 2
        }
    }
}
