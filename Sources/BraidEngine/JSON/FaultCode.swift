/// The kind of one fault in a JSON document. A program acts on the code, a developer reads the detail.
///
/// A later version of the server can add codes. The raw value is the code on the wire: the member `code` of the items
/// of `errors` and `warnings`.
public enum FaultCode: String, Sendable, CaseIterable {
    /// An object lacks a member that it must have. The pointer leads to the object; for a model's id, to where it
    /// should be; for a declared section without cells, to the description's `bindings`.
    case missingMember = "missing-member"
    /// An object has a member that the format does not define. The pointer leads to the member.
    case unknownMember = "unknown-member"
    /// The value has another JSON type than the place requires.
    case wrongType = "wrong-type"
    /// The value has the right JSON type, but not an allowed content, such as a malformed expression.
    case invalidValue = "invalid-value"
    /// The value is a number outside the allowed range, or not an integer where an integer is required.
    case outOfRange = "out-of-range"
    /// The value occurs twice where it must be unique, for example an id.
    case duplicate
    /// The value refers to something that does not exist, such as a section, a cell, a model type or a variable.
    case unknownName = "unknown-name"
    /// The value contradicts another part of the document: two members exclude each other, one needs another that is
    /// missing, or a named handler uses itself.
    case conflict
    /// A template or an expression failed when it was evaluated.
    case templateFailed = "template-failed"
    /// The part of the document was rejected as a whole: a command of a transaction, a line of a stream, a description
    /// with which no session can be opened. The problem's type and the detail say why.
    case refused

    /// The code for a value that a place does not accept: `wrongType` if it accepts none of this kind, otherwise
    /// `outOfRange` for a number and `invalidValue` for the rest.
    ///
    /// - Parameter kinds: the kinds of which the place accepts at least some values.
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
