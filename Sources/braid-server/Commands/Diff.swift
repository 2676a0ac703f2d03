import ArgumentParser
import BraidEngine

/// The command `diff`, which computes the update between two snapshots in files, like POST /v1/diff.
struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the update that leads from one snapshot to another.",
        discussion:
            "A snapshot is an answer of GET /v1/sessions/{id}/snapshot. If a file contains none, prints its faults as file:line:column: pointer: message and exits with status 1."
    )

    enum Form: String, ExpressibleByArgument, CaseIterable { case stages, sequential }

    @Argument(help: "The snapshot before.", completion: .file(extensions: ["json"]))
    var from: String
    @Argument(help: "The snapshot after.", completion: .file(extensions: ["json"]))
    var to: String
    @Option(help: "Batches (stages), or one operation at a time (sequential).")
    var form = Form.stages

    func run() throws {
        var snapshots: [Snapshot] = [], faults: [String] = []
        for path in [from, to] {
            do throws(FaultyFile) {
                // Allow a deeper nesting than for models: the file is a snapshot, which contains the models.
                snapshots.append(try JSONFile(path).read(depthLimit: 140) { try Snapshot(json: $0, at: .root) })
            } catch {
                faults += error.faults
            }
        }
        guard snapshots.count == 2 else { throw FaultyFile(faults) }
        let update = try BatchUpdate(from: snapshots[0], to: snapshots[1])
        try StandardOutput.print((form == .sequential ? update.sequentialJSON : update.json).bytes)
    }
}
