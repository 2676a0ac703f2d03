import BraidRuntime
import BraidServer
import BraidSessions

struct Replay: ServerCommand {
    static let name = "replay"
    static let abstract = "Replay a session's journal and print the resulting snapshot."
    static let discussion = """
        The journal is the answer of GET /v1/sessions/{id}/journal with Accept: application/x-ndjson. Exit status 1 if it \
        cannot be replayed.
        """
    static let arguments: [CommandArgument<Replay>] = [
        .required("journal", \.journal, help: "The journal, a file of JSON lines.")
    ]

    var journal = ""

    func run() throws {
        guard let bytes = Files.bytes(of: journal) else { throw Failure("\(journal) \(Files.failure).") }
        let progress = Progress("replaying \(journal)")
        defer { progress.end() }
        var read = 0
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).lazy.map { line in
            progress.show(part: read, of: bytes.count)
            read += line.count + 1
            return [UInt8](line)
        }
        let snapshot: [UInt8]
        do {
            snapshot = try JournalFile.replay(lines)
        } catch {
            throw Failure("\(journal): \(error)")
        }
        try StandardOutput.print(snapshot)
    }
}
