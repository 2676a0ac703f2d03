import BraidStore

struct Backup: ServerCommand {
    static let name = "backup"
    static let abstract = "Copy an SQLite database, even while a server uses it."
    static let discussion = """
        The copy is a consistent database of one moment, and it is on disk when the command ends. Until then its name is \
        TO-partial, so a file named TO is always complete. Exit status 1 if the copy could not be made: the message says \
        whether the database is damaged or the disk of the copy is full, and no file is left behind.
        """
    static let arguments: [CommandArgument<Backup>] = [
        .required("database", \.database, help: "The database.") { name throws(WrongValue) in
            guard !Database.isPostgres(name) else {
                throw WrongValue(
                    "must be the path of an SQLite file. Copy a PostgreSQL database with PostgreSQL's tools: pg_dump --format=custom --file=TO postgres://…. A server may use the database meanwhile"
                )
            }
        },
        .required("to", \.to, help: "The copy: a file that does not exist yet."),
    ]

    var database = ""
    var to = ""

    func run() throws {
        let progress = Progress("copying \(database)")
        defer { progress.end() }
        Interruption.prepare()
        do {
            try SQLiteStore.backup(of: database, to: to) {
                progress.show(part: $0, of: $1)
                return !Interruption.isPending
            }
        } catch {
            try Interruption.check()
            throw error
        }
    }
}
