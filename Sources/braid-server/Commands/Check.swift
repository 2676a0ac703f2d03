import ArgumentParser
import BraidEngine
import BraidServer
import BraidSessions

/// The command `check`, which validates files with table descriptions.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Validate table descriptions.",
        discussion: """
            Prints every fault as file:line:column: pointer: message, and exits with status 1 if it finds one. A description \
            is also faulty if no session can be opened with its own models and state. A warning points at something that is \
            allowed but probably a mistake. Warnings do not change the exit status, unless you pass --strict.
            """)

    @Argument(help: "Table descriptions, JSON files.", completion: .file(extensions: ["json"]))
    var files: [String]
    @Flag(help: "Exit with status 1 also if there is a warning.")
    var strict = false

    func run() throws {
        var isFaulty = false
        for path in files {
            do throws(FaultyFile) {
                let file = JSONFile(path)
                let description = try file.read { try TableDescription($0) }
                let warnings = try file.warnings { _ in description.warnings }
                for warning in warnings { print(warning) }
                if strict, !warnings.isEmpty { isFaulty = true }
                try file.read { _ in try Self.checkOpening(description) }
            } catch {
                isFaulty = true
                for fault in error.faults { print(fault) }
            }
        }
        if isFaulty { throw ExitCode(1) }
    }

    /// Throws a `Refusal` unless a session could be opened with the models and the state in the table description
    /// itself.
    private static func checkOpening(_ description: TableDescription) throws {
        guard let fault = description.openingFault(now: Instant(millisecondsSince1970: Clock().now()).text) else {
            return
        }
        throw Refusal(.descriptionInvalid, fault.detail, faults: [fault])
    }
}
