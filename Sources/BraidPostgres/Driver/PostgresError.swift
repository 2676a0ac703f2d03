#if PostgreSQL
internal import CPostgreSQL

/// The server's answer to a failed statement.
struct PostgresError: Error {
    /// SQLSTATE (PostgreSQL documentation, appendix A).
    let code: String
    let message: String
    /// The server ends the connection.
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

    static func line(_ message: UnsafePointer<CChar>) -> String {
        String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ").trimmingSuffix(of: " ")
    }

    private var category: Substring { code.prefix(2) }

    /// One statement or its values caused it, so the transaction's others can succeed without that. 55P03 is a lock
    /// that is not available.
    var isOfOneRequest: Bool { ["0A", "21", "22", "23", "40", "42", "54", "55"].contains(category) }

    /// Transactions have conflicted: a deadlock, or rows inserted or deleted since the statement began (23502: see
    /// `KeptAnswer.keeping`). A repeated one sees the other's writes and can succeed.
    var isOfTheMoment: Bool { category == "40" || ["23505", "23503", "23502"].contains(code) }
}

extension String {
    fileprivate func trimmingSuffix(of character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

/// The database may or may not have executed the statements that it has not answered.
struct LostConnection: Error {
    let detail: String
    /// With which the server ended the connection.
    var error: PostgresError?
}
#endif
