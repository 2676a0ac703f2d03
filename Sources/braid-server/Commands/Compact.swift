import BraidStore
import Glibc

struct Compact: ServerCommand {
    static let name = "compact"
    static let abstract = "Rewrite an SQLite database without its unused pages."
    static let discussion = """
        Prints the size of the database with its log, before and after, in bytes. Stop the server first: the command \
        refuses a database that is in use. The directory of the database needs free space for up to two copies of the \
        data. A crash leaves the database as it was before or as it is afterwards.
        """
    static let arguments: [CommandArgument<Compact>] = [
        .required("database", \.database, help: "An SQLite file.") { name throws(WrongValue) in
            guard !Database.isPostgres(name) else {
                throw WrongValue(
                    "must be the path of an SQLite file. PostgreSQL reuses the space of deleted rows by itself (autovacuum); VACUUM FULL returns it to the file system"
                )
            }
        }
    ]

    var database = ""

    func run() throws {
        // A file that becomes too large must fail the write, not end the process.
        signal(SIGXFSZ, SIG_IGN)
        // SQLite's temporary copy goes next to the database: `/tmp` may be too small.
        let slash = database.lastIndex(of: "/")
        setenv("SQLITE_TMPDIR", slash.map { String(database[...$0]) } ?? ".", 0)
        do {
            let (before, after) = try SQLiteStore.compact(database)
            try StandardOutput.print("\(database): \(before) bytes before, \(after) bytes after")
        } catch StoreError.noRoom {
            throw Failure(
                "There is no room to compact \(database). Its directory needs free space for up to two copies of the data. The data are unchanged."
            )
        }
    }
}
