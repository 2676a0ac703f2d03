import ArgumentParser
import BraidEngine

/// What POST /v1/diff does, with files.
struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the update that leads from one snapshot to another.",
        discussion:
            "Snapshots are what GET /v1/sessions/{id}/snapshot gives. Exit status 1 when one of them is none: its faults are told as file:line:column: pointer: message."
    )

    enum Form: String, ExpressibleByArgument, CaseIterable { case stages, sequential }

    @Argument(help: "The snapshot before.", completion: .file(extensions: ["json"]))
    var from: String
    @Argument(help: "The snapshot after.", completion: .file(extensions: ["json"]))
    var to: String
    @Option(help: "Batches, or one operation after the other.")
    var form = Form.stages

    func run() throws {
        var snapshots: [Snapshot] = [], faults: [String] = []
        for path in [from, to] {
            do throws(FaultyFile) {
                // A snapshot nests deeper than the models in it.
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
