import ArgumentParser
import BraidStore

/// Copies a database, also one that a server is using.
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy an SQLite database, also while a server is using it.",
        discussion: """
            The copy is whole, of one moment, and on disk when the command ends; it opens like any other database. Until then \
            it has another name (TO-partial): what is named TO can be restored. Exit status 1 when it could not be made.
            """)

    @Argument(help: "The database.", completion: .file())
    var database: String
    @Argument(help: "The copy: a file that is not there yet.", completion: .file())
    var to: String

    func validate() throws {
        guard !Database.isPostgres(database) else {
            throw ValidationError(
                "A PostgreSQL database is copied with its own tools: pg_dump --format=custom --file=TO postgres://…, also while a server is using it."
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
