#if PostgreSQL
internal import CPostgreSQL

/// The server's answer to a statement that failed.
struct PostgresError: Error {
    /// SQLSTATE, five characters (PostgreSQL documentation, appendix A).
    let code: String
    let message: String
    /// Whether the server ends the connection.
    let isFatal: Bool

    init(_ result: OpaquePointer) {
        func field(_ name: Character) -> String {
            PQresultErrorField(result, CInt(name.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
        }
        code = field("C")
        isFatal = ["FATAL", "PANIC"].contains(field("V"))
        let message = field("M")
        self.message = message.isEmpty ? PQresultErrorMessage(result).map { PostgresError.line($0) } ?? "" : message
    }

    /// libpq's message as one line.
    static func line(_ message: UnsafePointer<CChar>) -> String {
        String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ").trimmingSuffix(of: " ")
    }

    private var category: Substring { code.prefix(2) }

    /// Whether one statement or its values caused the error, so that others of the transaction can succeed without it.
    /// An example is 55P03, a lock that is not available.
    var isOfOneRequest: Bool { ["0A", "21", "22", "23", "40", "42", "54", "55"].contains(category) }

    /// Whether two transactions have conflicted, so that a repeated one, which sees what the other has written, can
    /// succeed: a deadlock, or rows that were inserted or deleted since the statement began (23502: see
    /// `KeptAnswer.keeping`).
    var isOfTheMoment: Bool { category == "40" || ["23505", "23503", "23502"].contains(code) }
}

extension String {
    fileprivate func trimmingSuffix(of character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

/// The connection was lost. The database may or may not have executed the statements that it has not answered.
struct LostConnection: Error {
    let detail: String
    /// With which the server ended the connection.
    var error: PostgresError?
}
#endif
