/// Why a template could not be made or rendered, and where in the template.
public struct TemplateError: Error, Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// The template can never be rendered: a malformed expression, an unknown operator, an undefined property.
        case syntax
        /// An expression met a value that it cannot work with: "unknown context value x", "division by zero".
        case interpreter
        /// An operator met such a value: "$map value must evaluate to an array or object".
        case template
        /// The rendering took more steps, or built more, than its `TemplateBudget` allows.
        case budget
    }

    public var kind: Kind
    public var message: String
    /// Tokens of a JSON Pointer inside the template, to the member or element that is wrong.
    public var pointer: [String]

    public init(_ kind: Kind, _ message: String, pointer: [String] = []) {
        self.kind = kind
        self.message = message
        self.pointer = pointer
    }

    /// The same error, seen from one level further out.
    func inside(_ token: String) -> TemplateError {
        TemplateError(kind, message, pointer: [token] + pointer)
    }

    static func syntax(_ message: String) -> TemplateError { TemplateError(.syntax, message) }
    static func interpreter(_ message: String) -> TemplateError { TemplateError(.interpreter, message) }
    static func template(_ message: String) -> TemplateError { TemplateError(.template, message) }
}
