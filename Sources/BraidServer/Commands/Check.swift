import ArgumentParser
import BraidEngine

/// Validates descriptions.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Validate table descriptions.",
        discussion: "Prints every fault as file:line:column: pointer: message. Exit status 1 when there is one.")

    @Argument(help: "Table descriptions, JSON files.", completion: .file(extensions: ["json"]))
    var files: [String]

    func run() throws {
        var isFaulty = false
        for file in files {
            let faults = DescriptionFile(path: file).faults
            for fault in faults { print(fault) }
            isFaulty = isFaulty || !faults.isEmpty
        }
        if isFaulty { throw ExitCode(1) }
    }
}

/// A table description in a file.
struct DescriptionFile {
    let path: String
    /// Each as `file:line:column: pointer: message`; empty when the description is right.
    private(set) var faults: [String] = []
    private(set) var description: TableDescription?

    init(path: String) {
        self.path = path
        do throws(FaultyFile) {
            description = try JSONFile(path).read { try TableDescription($0) }
        } catch {
            faults = error.faults
        }
    }
}
