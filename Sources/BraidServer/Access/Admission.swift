import BraidEngine
import BraidSessions

/// Who may use a route. docs/http-api lists it for every route, and a test compares the two.
enum Admission: Sendable, Equatable {
    /// Also who has no token.
    case everyone
    case role(Role)
    /// The highest role that any of the transaction's commands needs.
    case commands

    /// The least role that is let in; nil: none is needed.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may do nothing, so no transaction of one is read.
        case .commands: .participant
        }
    }
}
