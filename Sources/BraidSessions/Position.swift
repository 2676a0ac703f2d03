import BraidRuntime

/// `<epoch>.<revision>`, or `<revision>` in the current epoch.
package struct Position: Sendable, Equatable, CustomStringConvertible {
    package var epoch: String?
    package var revision: Int

    package init(epoch: String?, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    /// Throws `badRequest`.
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

/// `If-Match`: the positions at which a request may be executed.
package struct PositionCondition: Sendable {
    let text: String
    private let isMet: @Sendable (Position) -> Bool

    package init(_ text: String, isMet: @escaping @Sendable (Position) -> Bool) {
        self.text = text
        self.isMet = isMet
    }

    /// Throws `positionMismatch`.
    package func check(_ position: Position) throws(SessionError) {
        guard !isMet(position) else { return }
        var error = SessionError(
            .positionMismatch, "The session is at \"\(position)\", not at \(text). Get the snapshot, then decide again."
        )
        error.position = position
        throw error
    }
}
