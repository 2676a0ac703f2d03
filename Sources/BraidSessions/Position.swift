import BraidRuntime

/// A position in a session's history: `<epoch>.<revision>`, or, without the epoch, `<revision>`.
package struct Position: Sendable, Equatable, CustomStringConvertible {
    /// The session's epoch at this position. `nil` means the session's current epoch.
    package var epoch: String?
    /// The session's revision at this position, counted from 0.
    package var revision: Int

    package init(epoch: String?, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    /// Parses the text of a position, such as `3` or `k7.3`.
    /// - Throws: `SessionError` with the code `badRequest` if the text is not a position.
    package init(_ text: String) throws {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let revision = parts.last.flatMap({ Int(digits: $0) }), parts.count == 1 || !parts[0].isEmpty else {
            throw SessionError(.badRequest, "A position is <revision> or <epoch>.<revision>, not \"\(text)\".")
        }
        self.revision = revision
        epoch = parts.count == 2 ? String(parts[0]) : nil
    }

    package var description: String { epoch.map { "\($0).\(revision)" } ?? "\(revision)" }
}

/// A condition on the current position of a session. A command whose condition is not met changes nothing.
package struct PositionCondition: Sendable {
    /// The positions that meet the condition, in the words of the client's `If-Match`. Error messages quote these
    /// words.
    let text: String
    private let isMet: @Sendable (Position) -> Bool

    /// Creates a condition that a session meets if `isMet` returns `true` for the session's current position.
    package init(_ text: String, isMet: @escaping @Sendable (Position) -> Bool) {
        self.text = text
        self.isMet = isMet
    }

    /// Throws `positionMismatch` unless `position`, the session's current position, meets the condition.
    package func check(_ position: Position) throws(SessionError) {
        guard !isMet(position) else { return }
        var error = SessionError(
            .positionMismatch, "The session is at \"\(position)\", not at \(text). Get the snapshot, then decide again."
        )
        error.position = position
        throw error
    }
}
