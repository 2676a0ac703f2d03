import BraidEngine
import BraidRuntime
import BraidStore
import Glibc

struct Export: ServerCommand {
    static let name = "export"
    static let abstract = "Write all data of a database as JSON lines, for `import`."
    static let discussion = """
        The archive contains the database at one moment. Servers may use the database meanwhile. An archive of an SQLite \
        database can be imported into PostgreSQL, and the other way round. Until a file is complete and on disk, its name \
        is TO-partial. Exit status 1 if the archive could not be written. Then no file is left behind.
        """
    static let arguments: [CommandArgument<Export>] = [
        .required(
            "database", \.database, help: "An SQLite file, or a PostgreSQL database: postgres://USER@HOST/NAME."),
        .required("to", \.to, help: "The archive: a file that does not exist yet, or - for stdout."),
    ]

    var database = ""
    var to = ""

    func run() throws {
        // With stdout nothing is left behind: a signal may end the process at once.
        if to != "-" { Interruption.prepare() }
        try Database.read(database, isAtOneMoment: true) { data in
            if to == "-" {
                _ = try Archive.write(data) { bytes in
                    guard Files.write(bytes, to: STDOUT_FILENO) else {
                        throw Failure("The archive could not be written: \(String(cString: strerror(errno))).")
                    }
                }
            } else {
                let file = try NewFile(to, isDatabase: false)
                let counts = try Archive.write(data) { bytes in
                    try Interruption.check()
                    try file.write(bytes)
                }
                try file.finish()
                try StandardOutput.print("exported \(counts.summary)")
            }
        }
    }
}

extension Archive.Counts {
    /// `7 sessions, 31 rows, 4 versions of table descriptions`
    var summary: String {
        "\(counted(self["session"], "session")), \(counted(self["model"], "row")), \(counted(self["table_description"], "version")) of table descriptions"
    }
}
