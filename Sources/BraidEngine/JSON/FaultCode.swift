/// The kind of one fault in a JSON document, for programs. The raw value is the code on the wire, in the items of
/// `errors` and `warnings`; later versions can add some.
public enum FaultCode: String, Sendable, CaseIterable {
    /// An object lacks a member that it must have. The pointer leads to the object; for a model's id, to where it
    /// should be; for a declared section without cells, to the description's `bindings`.
    case missingMember = "missing-member"
    /// An object has a member that the format does not define. The pointer leads to the member.
    case unknownMember = "unknown-member"
    /// The value has another JSON type than the place requires.
    case wrongType = "wrong-type"
    /// The value has an allowed JSON type, but not an allowed content, such as a malformed expression.
    case invalidValue = "invalid-value"
    /// A number outside the allowed range, or not an integer where one is required.
    case outOfRange = "out-of-range"
    /// A value that must be unique, such as an id, occurs twice.
    case duplicate
    /// A section, a cell, a model type or a variable that does not exist.
    case unknownName = "unknown-name"
    /// Two members exclude each other, one needs another that is missing, or a named handler uses itself.
    case conflict
    /// A template or an expression failed when it was evaluated.
    case templateFailed = "template-failed"
    /// The part of the document was rejected as a whole: a command of a transaction, a line of a stream, a description
    /// with which no session can be opened. The problem's type and the detail say why.
    case refused

    /// For a value that a place does not accept: `wrongType` if it accepts no value of the kind, else `outOfRange` for a
    /// number and `invalidValue` for the rest.
    package static func rejecting(_ kind: JSONKind, accepting kinds: JSONKind...) -> FaultCode {
        rejecting(kind, accepting: kinds)
    }

    /// The same for a value, and `missingMember` for none.
    static func rejecting(_ value: JSONValue?, accepting kinds: JSONKind...) -> FaultCode {
        value.map { rejecting($0.kind, accepting: kinds) } ?? .missingMember
    }

    private static func rejecting(_ kind: JSONKind, accepting kinds: [JSONKind]) -> FaultCode {
        guard kinds.contains(kind) else { return .wrongType }
        return kind == .number ? .outOfRange : .invalidValue
    }
}
