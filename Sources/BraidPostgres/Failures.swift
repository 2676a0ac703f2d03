#if PostgreSQL
import BraidStore
internal import CPostgreSQL

/// What the database said against a statement.
struct ServerError: Error {
    /// Five letters. Source: PostgreSQL's documentation, appendix A.
    let code: String
    let message: String
    /// The connection ends with it.
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

    /// libpq's own messages end with a line break, and may have several lines.
    static func line(_ message: UnsafePointer<CChar>) -> String {
        String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ").trimmingSuffix(of: " ")
    }

    private var category: Substring { code.prefix(2) }

    /// The fault of one request (55P03: what it waits for is locked), which leaves the others of its group alone; any
    /// other befalls them all.
    var isOfOneRequest: Bool { ["0A", "21", "22", "23", "40", "42", "54", "55"].contains(category) }

    /// Two wrote at the same time what cannot both be: a deadlock, or rows that came or went since the statement began,
    /// an answer among them (23502: see `keeping`). Done again, it sees the other's.
    var isOfTheMoment: Bool { category == "40" || ["23505", "23503", "23502"].contains(code) }
}

extension String {
    fileprivate func trimmingSuffix(of character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

/// The connection is gone, or was given up: what was sent and not answered may or may not have been done.
struct LostConnection: Error {
    let detail: String
    /// The connection's last word.
    var error: ServerError?
}

extension StoreError {
    /// What an error of the database's means to a caller, nothing having been changed. `name` is the database's.
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
        case "55P03", "40001", "40P01": self = .busy(path: name)
        case "XX001", "XX002": self = .corrupt("\(name): \(detail)")
        // Out of connections or memory, a shutdown or a start, a statement that took too long, a refused log-in.
        case "53200", "53300", "57014", "57P01", "57P02", "57P03", "57P05": self = .unavailable(detail)
        case let code where ["08", "28"].contains(code.prefix(2)): self = .unavailable(detail)
        default: self = .io(detail)
        }
    }
}
#endif
