import BraidRuntime
import BraidStore

struct Import: ServerCommand {
    static let name = "import"
    static let abstract = "Create a database from an archive that `export` has written."
    static let discussion = """
        Imports everything or nothing. An SQLite database must be a file that does not exist yet. A PostgreSQL database \
        must be empty. Stop the servers that use it. The first start of a server begins a new epoch for every session, \
        as after the restore of a backup. Exit status 1 if the archive has a mistake, which is named with its line.
        """
    static let arguments: [CommandArgument<Import>] = [
        .required("from", \.from, help: "The archive, a file of JSON lines, or - for stdin."),
        .required(
            "database", \.database,
            help: "A new SQLite file, or an empty PostgreSQL database: postgres://USER@HOST/NAME."
        ),
    ]

    var from = ""
    var database = ""

    func run() throws {
        Interruption.prepare()
        let progress = Progress("importing \(from)")
        defer { progress.end() }
        do {
            let lines = try LineReader(from)
            let size = lines.size
            let counts = try Database.fill(database) { target in
                try Archive.read(
                    {
                        try Interruption.check()
                        progress.show(part: lines.bytesRead, of: size)
                        return try lines.next()
                    }, into: target)
            }
            try StandardOutput.print("imported \(counts.summary)")
        } catch let fault as ArchiveError {
            throw Failure("\(from): \(fault). Nothing was imported.")
        } catch let failure as LineReader.Failure {
            try Interruption.check()
            throw Failure("\(from) cannot be read: \(failure).")
        }
    }
}
