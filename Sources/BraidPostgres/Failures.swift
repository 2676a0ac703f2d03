#if PostgreSQL
import BraidStore
internal import CPostgreSQL

/// The error with which the PostgreSQL server answered a statement.
struct ServerError: Error {
    /// The SQLSTATE code of the error, five characters. Source: PostgreSQL documentation, appendix A.
    let code: String
    let message: String
    /// Whether the PostgreSQL server ends the connection after this error.
    let isFatal: Bool

    init(_ result: OpaquePointer) {
        func field(_ name: Character) -> String {
            PQresultErrorField(result, CInt(name.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
        }
        code = field("C")
        isFatal = ["FATAL", "PANIC"].contains(field("V"))
        let message = field("M")
        self.message = message.isEmpty ? PQresultErrorMessage(result).map { ServerError.line($0) } ?? "" : message
    }

    /// Returns a message of libpq as one line. libpq's messages end with a line break and may have several lines.
    static func line(_ message: UnsafePointer<CChar>) -> String {
        String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ").trimmingSuffix(of: " ")
    }

    private var category: Substring { code.prefix(2) }

    /// Whether only one request of a group can cause this error, so that the group's other requests can succeed without
    /// it. An example is 55P03, a lock that is not available.
    var isOfOneRequest: Bool { ["0A", "21", "22", "23", "40", "42", "54", "55"].contains(category) }

    /// Whether the error comes from a conflict of two transactions. A repeated transaction can succeed, because it sees
    /// what the other transaction has written.
    ///
    /// Examples of conflicts are a deadlock, and rows or answers that were inserted or deleted since the statement
    /// began. `KeptAnswer.keeping` explains the code 23502.
    var isOfTheMoment: Bool { category == "40" || ["23505", "23503", "23502"].contains(code) }
}

extension String {
    fileprivate func trimmingSuffix(of character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

/// The error of a connection that was lost. The database may or may not have executed the statements that it has not
/// answered.
struct LostConnection: Error {
    let detail: String
    /// The error with which the PostgreSQL server ended the connection, or `nil` if the server sent no error.
    var error: ServerError?
}

extension StoreError {
    /// Converts an error of the database to the `StoreError` that the store's callers receive. An operation that throws
    /// such a `StoreError` has changed nothing. `name` is the database's address for messages.
    init(_ error: any Error, of name: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as ServerError: self.init(server: error, of: name)
        case let error as LostConnection:
            self = error.error.map { StoreError(server: $0, of: name) } ?? .unavailable(error.detail)
        default: self = .io("\(error)")
        }
    }

    private init(server error: ServerError, of name: String) {
        let detail = "\(error.message) (PostgreSQL \(error.code))"
        switch error.code {
        case "53100": self = .full
        case "25006": self = .readOnly(path: name)
        case "54000": self = .tooLarge  // a value or a message is longer than PostgreSQL accepts
        case "55P03", "40001", "40P01": self = .busy(path: name)
        case "XX001", "XX002": self = .corrupt("\(name): \(detail)")
        // With one of these errors, the database says that it is out of memory or connections, is starting or shutting
        // down, has stopped a slow statement, or has refused the login. The same request can succeed later.
        case "53200", "53300", "57014", "57P01", "57P02", "57P03", "57P05": self = .unavailable(detail)
        case let code where ["08", "28"].contains(code.prefix(2)): self = .unavailable(detail)
        default: self = .io(detail)
        }
    }
}
#endif
