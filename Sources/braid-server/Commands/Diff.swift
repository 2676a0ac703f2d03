import BraidEngine

/// Like `POST /v1/diff`.
struct Diff: ServerCommand {
    enum Form: String, CaseIterable { case stages, sequential }

    static let name = "diff"
    static let abstract = "Print the update that leads from one snapshot to another."
    static let discussion = """
        A snapshot is an answer of GET /v1/sessions/{id}/snapshot. If a file contains none, prints its faults as \
        file:line:column: pointer: message and exits with status 1.
        """
    static let arguments: [CommandArgument<Diff>] = [
        .required("from", \.from, help: "The snapshot before."),
        .required("to", \.to, help: "The snapshot after."),
    ]
    static let options: [CommandOption<Diff>] = [
        // For clients whose lists accept one operation at a time.
        .choice("form", \.form, help: "Batches (stages), or one operation at a time (sequential).")
    ]

    var from = ""
    var to = ""
    var form = Form.stages

    func run() throws {
        var snapshots: [Snapshot] = [], faults: [String] = []
        for path in [from, to] {
            do throws(Failure) {
                // Deeper than models: snapshots contain them.
                snapshots.append(try JSONFile(path).read(depthLimit: 140) { try Snapshot(json: $0, at: .root) })
            } catch {
                faults += error.faults
            }
        }
        guard snapshots.count == 2 else { throw Failure(faults: faults) }
        let update = try BatchUpdate(from: snapshots[0], to: snapshots[1])
        try StandardOutput.print((form == .sequential ? update.sequentialJSON : update.json).bytes)
    }
}
