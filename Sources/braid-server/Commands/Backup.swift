import ArgumentParser
import BraidStore

/// The command `backup`, which copies an SQLite database, even while a server uses it.
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy an SQLite database, even while a server uses it.",
        discussion: """
            The copy is a consistent database of one moment, and it is on disk when the command ends. Until then its name is \
            TO-partial, so a file named TO is always complete. Exit status 1 if the copy could not be made.
            """)

    @Argument(help: "The database.", completion: .file())
    var database: String
    @Argument(help: "The copy: a file that does not exist yet.", completion: .file())
    var to: String

    func validate() throws {
        guard !Database.isPostgres(database) else {
            throw ValidationError(
                "Copy a PostgreSQL database with PostgreSQL's tools: pg_dump --format=custom --file=TO postgres://…. A server may use it meanwhile."
            )
        }
    }

    func run() throws {
        let progress = Progress("copying \(database)")
        defer { progress.end() }
        do {
            try SQLiteStore.backup(of: database, to: to) { progress.show(part: $0, of: $1) }
        } catch let error as StoreError {
            throw Failure("\(error)")
        }
    }
}
