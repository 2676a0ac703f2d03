/// Why a template could not be compiled or rendered.
public struct JSONeError: Error, Sendable, Equatable {
    /// The kind of fault.
    public enum Kind: String, Sendable {
        /// The template can never be rendered: a malformed expression, an unknown operator, an undefined property.
        case syntax
        /// An expression failed, such as "division by zero" or "unknown context value x".
        case interpreter
        /// Another failure, such as "$map value must evaluate to an array or object".
        case template
        /// More steps or bytes than the ``JSONeBudget`` allows, or a value that is nested too deeply.
        case budget
    }

    /// The kind, for programs.
    public var kind: Kind
    /// A clause for a developer.
    public var message: String
    /// From the template's root to the faulty member or element.
    public var pointer: [String]
    /// The source of the failed expression, if it is in a text.
    public var expression: String?
    /// The named template to which ``pointer`` belongs. `nil` for the template itself.
    private(set) var namedTemplate: JSONPointer?

    init(_ kind: Kind, _ message: String, pointer: [String] = []) {
        self.kind = kind
        self.message = message
        self.pointer = pointer
    }

    /// Seen from one level further out.
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

    /// The pointer to what failed in the document that has the template at `place`.
    package func pointer(from place: JSONPointer) -> JSONPointer {
        pointer.reduce(namedTemplate ?? place) { $0.appending($1) }
    }

    /// With the expression that failed, if the pointer does not lead to it.
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
