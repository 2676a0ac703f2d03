#if PostgreSQL
import BraidStore

extension StoreError {
    /// For an error after which nothing is changed. `name` is for messages.
    init(_ error: any Error, of name: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as PostgresError: self.init(server: error, of: name)
        case let error as LostConnection:
            self = error.error.map { StoreError(server: $0, of: name) } ?? .unavailable(error.detail)
        default: self = .io("\(error)")
        }
    }

    private init(server error: PostgresError, of name: String) {
        let detail = "\(error.message) (PostgreSQL \(error.code))"
        switch error.code {
        case "53100": self = .full
        case "25006": self = .readOnly(path: name)
        case "54000": self = .tooLarge  // a value or a message is longer than PostgreSQL accepts
        case "55P03", "40001", "40P01": self = .busy(path: name)
        case "XX001", "XX002": self = .corrupt("\(name): \(detail)")
        // Out of memory or connections, starting or shutting down, a slow statement, a refused login: can succeed
        // later.
        case "53200", "53300", "57014", "57P01", "57P02", "57P03", "57P05": self = .unavailable(detail)
        case let code where ["08", "28"].contains(code.prefix(2)): self = .unavailable(detail)
        default: self = .io(detail)
        }
    }
}
#endif
