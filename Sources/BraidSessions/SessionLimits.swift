import BraidEngine

/// docs/limits.md lists their errors.
package struct SessionLimits: Sendable {
    /// In the store.
    package var sessions = 100_000
    /// Event streams and waiting long polls, of the whole server.
    package var subscribers = 9_000
    /// In one transaction, dry runs included.
    package var transactionCommands = 100_000
    package var participantTransactionCommands = 1_000
    /// For the engine's work. A controller's is `table.commandTime`.
    package var participantCommandTime = Duration.seconds(5)
    /// Of a command's journal record and written rows. SQLite takes values and rows of 1,000,000,000 bytes, PostgreSQL
    /// statements below 1 GiB, and the kept answer comes on top: so less than half.
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
