/// Why a command, a model or a description was refused: which thing refused, where, and what would be right.
/// A refusal changes nothing.
public struct Refusal: Error, Sendable, Equatable {
    /// The name of the problem, as on the wire: `/problems/<rawValue>`.
    public enum Code: String, Sendable, CaseIterable {
        case ambiguousRow = "ambiguous-row"
        case badRequest = "bad-request"
        case commandTimeout = "command-timeout"
        case descriptionInvalid = "description-invalid"
        case duplicateRowID = "duplicate-row-id"
        case editingNotAllowed = "editing-not-allowed"
        case handlerContract = "handler-contract"
        case eventUndeclared = "event-undeclared"
        case eventInvalid = "event-invalid"
        case modelInvalid = "model-invalid"
        case modelRequired = "model-required"
        case modelTypeMismatch = "model-type-mismatch"
        case moveNotAllowed = "move-not-allowed"
        case rejected = "rejected"
        case rowGone = "row-gone"
        case rowNotFound = "row-not-found"
        case sectionNotFound = "section-not-found"
        case sectionsAreDeclared = "sections-are-declared"
        case templateFailed = "template-failed"
        case tooManyRows = "too-many-rows"
        case tooManySections = "too-many-sections"
    }

    /// One fault of a document.
    public struct Fault: Sendable, Equatable {
        public var pointer: JSONPointer
        public var detail: String

        public init(pointer: JSONPointer, detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    public var code: Code
    public var detail: String
    /// All faults found, where there can be several.
    public var faults: [Fault]

    public init(_ code: Code, _ detail: String, faults: [Fault] = []) {
        self.code = code
        self.detail = detail
        self.faults = faults
    }

    /// The same refusal of what the description made of a request: it stands nowhere in the request, so no pointer leads there.
    func ofWhatWasMade(by maker: String) -> Refusal {
        let places = faults.map { $0.pointer.tokens.isEmpty ? $0.detail : "\"\($0.pointer)\": \($0.detail)" }
        return Refusal(code, "\(maker) made a model that is refused. \(detail)\(places.isEmpty ? "" : " (\(places.joined(separator: "; ")))")")
    }

    static func duplicateRow(_ id: RowID, in section: SectionID) -> Refusal {
        Refusal(.duplicateRowID, "The section \"\(section)\" already has a row with the id \"\(id)\"; ids must be unique within a section.")
    }
}
