#if PostgreSQL
internal import CPostgreSQL

struct PostgresError: Error {
    /// SQLSTATE (PostgreSQL documentation, appendix A).
    let code: String
    let message: String
    /// Ends the connection.
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

    /// The transaction's other requests can succeed without this one. 55P03 is a lock that is not available.
    var isOfOneRequest: Bool { ["0A", "21", "22", "23", "40", "42", "54", "55"].contains(category) }

    /// A deadlock, or rows inserted or deleted since the statement began (23502: see `KeptAnswer.keeping`). A
    /// repeated transaction sees the other's writes and can succeed.
    var isOfTheMoment: Bool { category == "40" || ["23505", "23503", "23502"].contains(code) }
}

extension String {
    fileprivate func trimmingSuffix(of character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

/// Unanswered statements may have been executed or not.
struct LostConnection: Error {
    let detail: String
    /// The error that ended the connection, if the database sent one.
    var error: PostgresError?
}
#endif
