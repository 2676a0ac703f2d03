import ArgumentParser
import BraidEngine
import BraidServer
import BraidSessions

/// What POST /v1/render does, with files.
struct Render: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Render a JSON-e template, as table descriptions have them.",
        discussion: """
            Prints the result, or nothing where the template leaves nothing. Exit status 1 when it fails: the fault is told as \
            file:line:column: pointer: message.
            """)

    @Argument(help: "The template, a JSON file.", completion: .file(extensions: ["json"]))
    var template: String
    @Option(
        help: "A JSON file with an object: the values that the template's expressions may name.",
        completion: .file(extensions: ["json"]))
    var context: String?

    func run() throws {
        let names = try context.map { path in
            try JSONFile(path).read { text in
                guard case .object(let object) = text.value() else {
                    throw Refusal(.badRequest, "the context must be an object")
                }
                return object.members.map { ($0.name, $0.value) }
            }
        }
        let context = JSONeContext(now: Instant(millisecondsSince1970: Clock().now()).text, names ?? [])
        let result = try JSONFile(template).read { text in
            do throws(JSONeError) {
                var budget = JSONeBudget()
                return try JSONeTemplate(text.value()).render(context, budget: &budget)
            } catch {
                throw Refusal(
                    .templateFailed, error.message,
                    faults: [
                        .init(pointer: JSONPointer(tokens: error.pointer), code: .templateFailed, detail: error.message)
                    ])
            }
        }
        guard let result else { return }
        var writer = JSONWriter()
        writer.value(result)
        try StandardOutput.print(writer.bytes)
    }
}
