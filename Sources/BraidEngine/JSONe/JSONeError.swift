/// Why a template does not compile or render.
public struct JSONeError: Error, Sendable, Equatable {
    /// What failed.
    public enum Kind: String, Sendable {
        /// Can never render: a malformed expression, an unknown operator or property.
        case syntax
        /// An expression: "division by zero", "unknown context value x".
        case interpreter
        /// Other failures: "$map value must evaluate to an array or object".
        case template
        /// Over the ``JSONeBudget``, or nested too deeply.
        case budget
    }

    /// For programs.
    public var kind: Kind
    /// For developers: a clause.
    public var message: String
    /// From the template's root.
    public var pointer: [String]
    /// The failed expression's source, if in a text.
    public var expression: String?
    /// The named template that ``pointer`` is in, if any.
    private(set) var namedTemplate: JSONPointer?

    init(_ kind: Kind, _ message: String, pointer: [String] = []) {
        self.kind = kind
        self.message = message
        self.pointer = pointer
    }

    /// The error seen one level further out. A pointer within a named template is complete, and stays.
    func inside(_ token: String) -> JSONeError {
        var error = self
        if namedTemplate == nil { error.pointer.insert(token, at: 0) }
        return error
    }

    func inside(templateAt place: JSONPointer) -> JSONeError {
        var error = self
        if namedTemplate == nil { error.namedTemplate = place }
        return error
    }

    func inside(expression source: String) -> JSONeError {
        var error = self
        error.expression = source
        return error
    }

    /// The pointer in the document that has the template at `place`.
    package func pointer(from place: JSONPointer) -> JSONPointer {
        pointer.reduce(namedTemplate ?? place) { $0.appending($1) }
    }

    /// The message, with the expression if the pointer does not lead to it.
    package var detail: String {
        guard let expression else { return message }
        let scalars = expression.unicodeScalars, limit = 100
        return "\(message), in ${\(String(scalars.prefix(limit)))\(scalars.dropFirst(limit).isEmpty ? "" : "…")}"
    }

    static func syntax(_ message: String) -> JSONeError { JSONeError(.syntax, message) }
    static func interpreter(_ message: String) -> JSONeError { JSONeError(.interpreter, message) }
    static func function(_ name: String) -> JSONeError { .template("\(name) is a function, which is not JSON") }
    static func template(_ message: String) -> JSONeError { JSONeError(.template, message) }
}
