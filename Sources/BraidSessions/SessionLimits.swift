import BraidEngine

/// The limits of a server's sessions. docs/limits.md lists the error for each exceeded limit.
package struct SessionLimits: Sendable {
    /// The most sessions in the store.
    package var sessions = 100_000
    /// The most event streams and waiting long polls, of all sessions together.
    package var subscribers = 9_000
    /// The most commands in one transaction, dry runs included.
    package var transactionCommands = 100_000
    /// The most commands in a participant's transaction.
    package var participantTransactionCommands = 1_000
    /// How long the engine may work on a participant's command. `table.commandTime` limits a controller's command.
    package var participantCommandTime = Duration.seconds(5)
    /// The limits of each session's table.
    package var table: TableLimits = {
        var table = TableLimits()
        table.rows = 1_000_000
        table.sections = 10_000
        table.renderedBytes = 256 << 20
        return table
    }()

    package init() {}
}

extension SessionLimits {
    /// Returns the table's limits for commands of a role.
    func table(for role: Role) -> TableLimits {
        guard role < .controller else { return table }
        var table = table
        table.commandTime = min(participantCommandTime, table.commandTime ?? participantCommandTime)
        return table
    }

    /// Throws `transactionTooLong` if the transaction contains more commands than the role may send.
    func check(_ command: Command, of role: Role) throws {
        guard case .transaction(let commands) = command else { return }
        let limit = role < .controller ? min(participantTransactionCommands, transactionCommands) : transactionCommands
        guard commands.count > limit else { return }
        throw SessionError(
            .transactionTooLong,
            "The transaction has \(commands.count) commands. A \(role.rawValue)'s may have \(limit). Send it in smaller parts."
        )
    }
}
