import BraidEngine
import BraidServer
import BraidSessions

struct Check: ServerCommand {
    static let name = "check"
    static let abstract = "Validate table descriptions."
    static let discussion = """
        Prints every fault as file:line:column: pointer: message, and exits with status 1 if it finds one. A description \
        is also faulty if no session can be opened with its own models and state. A warning points at something that is \
        allowed but probably a mistake. Warnings do not change the exit status, unless you pass --strict.
        """
    static let arguments: [CommandArgument<Check>] = [
        .repeated("files", \.files, help: "Table descriptions, JSON files.")
    ]
    static let options: [CommandOption<Check>] = [
        // For continuous integration.
        .flag("strict", \.strict, help: "Exit with status 1 also if there is a warning.")
    ]

    var files: [String] = []
    var strict = false

    func run() throws {
        var isFaulty = false
        for path in files {
            do throws(Failure) {
                let file = JSONFile(path)
                try file.read {
                    let description = try TableDescription($0)
                    for warning in file.warnings(description.warnings) { print(warning) }
                    if strict, !description.warnings.isEmpty { isFaulty = true }
                    try Self.checkOpening(description)
                }
            } catch {
                isFaulty = true
                for fault in error.faults { print(fault) }
            }
        }
        if isFaulty { throw ReportedFailure() }
    }

    private static func checkOpening(_ description: TableDescription) throws {
        guard let fault = description.openingFault(now: Instant(millisecondsSince1970: Clock().now()).text) else {
            return
        }
        throw Refusal(.descriptionInvalid, fault.detail, faults: [fault])
    }
}
