import ArgumentParser
import BraidEngine

/// Validates descriptions.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Validate table descriptions.",
        discussion: "Prints every fault as file:line:column: pointer: message. Exit status 1 when there is one. What is allowed, but surely not meant, is a warning.")

    @Argument(help: "Table descriptions, JSON files.", completion: .file(extensions: ["json"]))
    var files: [String]

    func run() throws {
        var isFaulty = false
        for file in files {
            do throws(FaultyFile) {
                for warning in try JSONFile(file).warnings(Self.warnings) { print(warning) }
            } catch {
                isFaulty = true
                for fault in error.faults { print(fault) }
            }
        }
        if isFaulty { throw ExitCode(1) }
    }

    private static func warnings(_ text: JSONText) throws -> [Refusal.Fault] {
        let description = try TableDescription(text)
        let failure = description.openingFailure(now: timestamp(Source().now()))
        return description.warnings + (failure.map { [.init(pointer: .root, detail: "with its own models no session can be opened: \($0.detail)")] } ?? [])
    }
}
