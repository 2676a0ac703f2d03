/// The kind of a fault in a document: the `code` of `errors` and `warnings` on the wire. Later versions can add some.
public enum FaultCode: String, Sendable, CaseIterable {
    /// The pointer leads to the object that lacks it; for a model's id, to where it should be; for a section without
    /// cells, to `bindings`.
    case missingMember = "missing-member"
    /// A member that the format does not define.
    case unknownMember = "unknown-member"
    /// Another JSON type than the place takes.
    case wrongType = "wrong-type"
    /// The right type, but not an allowed content, such as a malformed expression.
    case invalidValue = "invalid-value"
    /// A number out of range, or not whole where it must be.
    case outOfRange = "out-of-range"
    /// Such as a second id.
    case duplicate
    /// No such section, cell, model type or variable.
    case unknownName = "unknown-name"
    /// Members that exclude each other or lack their partner, or a named handler that uses itself.
    case conflict
    /// A template or expression failed in evaluation.
    case templateFailed = "template-failed"
    /// Rejected as a whole: a transaction's command, a stream's line, a description with which no session opens. The
    /// detail says why.
    case refused

    /// `wrongType` if the place takes no such kind, else `outOfRange` for a number, `invalidValue` for the rest.
    package static func rejecting(_ kind: JSONKind, accepting kinds: JSONKind...) -> FaultCode {
        rejecting(kind, accepting: kinds)
    }

    /// The same for a value; `missingMember` for `nil`.
    static func rejecting(_ value: JSONValue?, accepting kinds: JSONKind...) -> FaultCode {
        value.map { rejecting($0.kind, accepting: kinds) } ?? .missingMember
    }

    private static func rejecting(_ kind: JSONKind, accepting kinds: [JSONKind]) -> FaultCode {
        guard kinds.contains(kind) else { return .wrongType }
        return kind == .number ? .outOfRange : .invalidValue
    }
}
