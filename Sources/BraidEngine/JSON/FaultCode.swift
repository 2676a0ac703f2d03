/// The kind of one fault in a JSON document. A program acts on the code, a developer reads the detail.
///
/// A later version of the server can add codes. The raw value is the code on the wire: the member `code` of the items
/// of `errors` and `warnings`.
public enum FaultCode: String, Sendable, CaseIterable {
    /// An object lacks a member that it must have. The fault's pointer leads to the object. If a model's id is missing,
    /// the pointer leads to the place where the id should be. If no binding binds the cells of a declared section, the
    /// pointer leads to the description's `bindings`.
    case missingMember = "missing-member"
    /// An object has a member that the format does not define. The fault's pointer leads to the member.
    case unknownMember = "unknown-member"
    /// The value has another JSON type than the place requires.
    case wrongType = "wrong-type"
    /// The value has the right JSON type, but its content is not allowed: for example a malformed expression, or a word
    /// that is not in the list of allowed words.
    case invalidValue = "invalid-value"
    /// The value is a number outside the allowed range, or not an integer where an integer is required.
    case outOfRange = "out-of-range"
    /// The value occurs twice where it must be unique, for example an id.
    case duplicate
    /// The value refers to something that does not exist, for example a section, a cell, a model type, an event, a
    /// variable, or a named template or handler.
    case unknownName = "unknown-name"
    /// The value contradicts another part of the document. For example, two members exclude each other, a member needs
    /// another member that is missing, or a named handler uses itself.
    case conflict
    /// A template or an expression failed when it was evaluated.
    case templateFailed = "template-failed"
    /// The server rejected the part of the document as a whole: a command of a transaction, a line of a stream, or a
    /// description with which no session can be opened. The problem's type and the detail say why.
    case refused

    /// Returns the code for a value that a place does not accept: `wrongType` if the place accepts no value of this
    /// kind. Otherwise `outOfRange` for a number and `invalidValue` for any other value.
    ///
    /// - Parameters:
    ///   - kind: the kind of the value.
    ///   - kinds: the kinds of JSON values of which the place accepts at least some values.
    package static func rejecting(_ kind: JSONKind, accepting kinds: JSONKind...) -> FaultCode {
        rejecting(kind, accepting: kinds)
    }

    /// Returns the code for a JSON value that a place in a document does not accept, by the rules of the method that
    /// takes a `JSONKind`. Returns `missingMember` if the value is `nil`.
    static func rejecting(_ value: JSONValue?, accepting kinds: JSONKind...) -> FaultCode {
        value.map { rejecting($0.kind, accepting: kinds) } ?? .missingMember
    }

    private static func rejecting(_ kind: JSONKind, accepting kinds: [JSONKind]) -> FaultCode {
        guard kinds.contains(kind) else { return .wrongType }
        return kind == .number ? .outOfRange : .invalidValue
    }
}
