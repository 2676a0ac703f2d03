import BraidEngine
import BraidServer
import BraidSessions

/// Like `POST /v1/render`.
struct Render: ServerCommand {
    static let name = "render"
    static let abstract = "Render a JSON-e template of a table description."
    static let discussion = """
        Prints the result, or nothing if the template has no result. If the template fails, prints the fault as \
        file:line:column: pointer: message and exits with status 1.
        """
    static let arguments: [CommandArgument<Render>] = [
        .required("template", \.template, help: "The template, a JSON file.")
    ]
    static let options: [CommandOption<Render>] = [
        // For templates that read more than `now`.
        .optionalText(
            "context", \.context,
            help: "A JSON file with an object: the values that the template's expressions can use.")
    ]

    var template = ""
    var context: String?

    func run() throws {
        let now = Instant(millisecondsSince1970: Clock().now()).text
        let given = try context.map { path in
            try JSONFile(path).read { text in
                guard case .object(let object) = text.value() else {
                    throw Refusal(.badRequest, "the context must be an object")
                }
                do throws(JSONeError) {
                    return try JSONeContext(now: now, object)
                } catch {
                    throw Refusal(.badRequest, error.message, faults: [error.fault(.invalidValue)])
                }
            }
        }
        let context = given ?? JSONeContext(now: now)
        let result = try JSONFile(template).read { text in
            do throws(JSONeError) {
                var budget = JSONeBudget()
                return try JSONeTemplate(text.value()).render(context, budget: &budget)
            } catch {
                throw Refusal(.templateFailed, error.detail, faults: [error.fault(.templateFailed)])
            }
        }
        guard let result else { return }
        try StandardOutput.print(JSONText(result).bytes)
    }
}

extension JSONeError {
    fileprivate func fault(_ code: FaultCode) -> Refusal.Fault {
        .init(pointer: JSONPointer(tokens: pointer), code: code, detail: detail)
    }
}
