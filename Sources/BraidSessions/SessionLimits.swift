import BraidEngine

/// The limits of a server's sessions (docs/limits.md).
package struct SessionLimits: Sendable {
    package var sessions = 100_000
    package var subscribers = 9_000
    /// The most commands in one transaction, for every requester. The limit also applies to dry runs.
    package var transactionCommands = 100_000
    package var participantTransactionCommands = 1_000
    /// The longest time for which the engine may compute a participant's command. `table.commandTime` is the limit for
    /// a controller's command.
    package var participantCommandTime = Duration.seconds(5)
    /// The most bytes that one command may store: its journal record and the rows that it writes.
    ///
    /// SQLite accepts values and rows of up to 1,000,000,000 bytes, and PostgreSQL statements of less than 1 GiB, which
    /// also contain the kept answer. So the limit is less than half of that.
    package var changeBytes = 400 << 20
    package var table: TableLimits = {
        var table = TableLimits()
        table.rows = 1_000_000
        table.sections = 10_000
        table.renderedBytes = 256 << 20
        table.checksIDs = true
        return table
    }()

    package init() {}
}

extension SessionLimits {
    func table(for role: Role) -> TableLimits {
        guard role < .controller else { return table }
        var table = table
        table.commandTime = min(participantCommandTime, table.commandTime ?? participantCommandTime)
        return table
    }

    func checkChange(bytes: Int) throws {
        guard bytes > changeBytes else { return }
        throw SessionError(
            .changeTooLarge,
            "The command would store about \(bytes) bytes at once: its update, the rows that it writes, and the rows that it replaces or removes. It may store \(changeBytes) bytes. Send several commands, each for fewer rows."
        )
    }

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
