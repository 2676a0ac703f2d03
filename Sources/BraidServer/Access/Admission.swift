import BraidEngine
import BraidSessions

/// Who may use a route. docs/http-api lists who may use each route, and a test compares the list with the routes.
package enum Admission: Sendable, Equatable {
    /// Everyone may use the route, even without a token.
    case everyone
    case role(Role)
    /// The rule for transactions: the requester's role must suffice for every command of the transaction.
    case commands

    /// The lowest role that may use the route at all. `nil` if no role is needed.
    var leastRole: Role? {
        switch self {
        case .everyone: nil
        case .role(let role): role
        // A viewer may send no command, so the server refuses a viewer without looking into the transaction.
        case .commands: .participant
        }
    }
}
