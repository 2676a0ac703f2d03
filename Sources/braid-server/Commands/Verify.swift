import BraidEngine
import BraidRuntime
import BraidSessions
import BraidStore

struct Verify: ServerCommand {
    static let name = "verify"
    static let abstract = "Check a database, and read and render every session in it."
    static let discussion = """
        Prints each fault with its session and place on a line of stdout, and exits with status 1 if it finds one. Also \
        checks an SQLite file with SQLite's integrity check. Changes nothing. Servers may use the database meanwhile.
        """
    static let arguments: [CommandArgument<Verify>] = [
        .required(
            "database", \.database, help: "An SQLite file, or a PostgreSQL database: postgres://USER@HOST/NAME.")
    ]

    var database = ""

    func run() throws {
        let progress = Progress("checking \(database)")
        defer { progress.end() }
        let (sessions, faults) = try Database.read(database, isAtOneMoment: false) { data in
            // Only for the progress: an error here must not stop the checks.
            let all = (try? data.texts("SELECT '' || count(*) FROM session").first.flatMap { Int(digits: $0) }) ?? 0
            let verification = Verification(of: data) { try? StandardOutput.print($0) }
            try verification.run { progress.show(part: $0, of: all) }
            return (verification.sessions, verification.faults)
        }
        try StandardOutput.print("\(counted(sessions, "session")) checked, \(counted(faults, "fault"))")
        if faults > 0 { throw ReportedFailure() }
    }
}
