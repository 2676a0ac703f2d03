import BraidEngine
import BraidSessions

/// Who may use a route. docs/http-api lists this for every route, and a test compares the list with the routes.
enum Admission: Sendable, Equatable {
    /// Everyone, even without a token.
    case everyone
    case role(Role)
    /// The highest role that any of the transaction's commands needs.
    case commands

    /// The lowest role that may use the route. `nil` if no role is needed.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may send no command, so the server does not read a viewer's transaction.
        case .commands: .participant
        }
    }
}
