/// Why the engine refuses a command, a model or a description. Nothing has changed then.
public struct Refusal: Error, Sendable, Equatable {
    /// On the wire: `/problems/<rawValue>`.
    public enum Code: String, Sendable, CaseIterable {
        /// Several displayed sections have the row; name the section, too.
        case ambiguousRow = "ambiguous-row"
        /// A malformed document, or a call that the binder's state does not allow.
        case badRequest = "bad-request"
        /// Over the time limit.
        case commandTimeout = "command-timeout"
        /// Faults in a JSON table description, or mistakes in a program's binding chains.
        case descriptionInvalid = "description-invalid"
        /// Within one section.
        case duplicateRowID = "duplicate-row-id"
        /// By the policy, or because the rows are derived.
        case editingNotAllowed = "editing-not-allowed"
        /// A handler failed or broke a rule, such as how the number of models must change.
        case handlerContract = "handler-contract"
        /// By the row's cell.
        case eventUndeclared = "event-undeclared"
        /// The parameters do not match the cell's schema.
        case eventInvalid = "event-invalid"
        /// A new row or section with an id that no request can name, such as an empty one.
        case idInvalid = "id-invalid"
        /// Not of its type, without a usable id, with another one than the request names, or without a cell for its
        /// type.
        case modelInvalid = "model-invalid"
        /// Models or titles do not fit the description's other version.
        case modelsDoNotFit = "models-do-not-fit"
        /// The insert has none, and the binding no `insert.template` that makes one.
        case modelRequired = "model-required"
        /// Another type than the section or the binding chain expects.
        case modelTypeMismatch = "model-type-mismatch"
        /// By the policy, not to that place, or because rows are derived.
        case moveNotAllowed = "move-not-allowed"
        /// By a handler; the detail says why.
        case rejected = "rejected"
        /// A row or place of an earlier revision: it, or the rows around it, were removed or hidden.
        case rowGone = "row-gone"
        /// Missing or not displayed.
        case rowNotFound = "row-not-found"
        /// Missing or not displayed.
        case sectionNotFound = "section-not-found"
        /// Commands cannot add, remove or reorder them.
        case sectionsAreDeclared = "sections-are-declared"
        /// A template, expression or closure failed, or gave what its place does not allow.
        case templateFailed = "template-failed"
        /// Over the limit.
        case tooManyRows = "too-many-rows"
        /// Over the limit.
        case tooManySections = "too-many-sections"
        /// A later revision changed what the command to take back changed.
        case undoConflict = "undo-conflict"
        /// Whose command it is, or what it did, does not allow the requester to take it back.
        case undoNotAllowed = "undo-not-allowed"
    }

    /// One fault of a document.
    public struct Fault: Sendable, Equatable {
        /// Such as `unknownMember`.
        public typealias Code = FaultCode

        /// In the document that was sent.
        public var pointer: JSONPointer
        /// For programs.
        public var code: Code
        /// For developers.
        public var detail: String
        /// Where a template failed; `pointer` then leads into the description.
        public var place: Place?

        /// A section, or one of its rows.
        public struct Place: Sendable, Equatable, CustomStringConvertible {
            /// The section.
            public var section: SectionID
            /// Among all rows, hidden ones included.
            public var row: Int?
            /// If it has one.
            public var id: RowID?

            public var description: String {
                let section = "the section \"\(section)\""
                return (id.map { "the row \"\($0)\" of \(section)" } ?? row.map { "row \($0) of \(section)" })
                    ?? section
            }
        }

        /// Without a place.
        public init(pointer: JSONPointer, code: Code, detail: String) {
            self.pointer = pointer
            self.code = code
            self.detail = detail
        }
    }

    /// For programs.
    public var code: Code
    /// For developers.
    public var detail: String
    /// A document's first faults; empty if it is about no document.
    public var faults: [Fault]

    /// A handler can throw one to refuse a command for any reason.
    public init(_ code: Code, _ detail: String, faults: [Fault] = []) {
        self.code = code
        self.detail = detail
        self.faults = faults
    }

    init(templateFailed detail: String, at pointer: JSONPointer = .root) {
        self.init(.templateFailed, detail, faults: [.init(pointer: pointer, code: .templateFailed, detail: detail)])
    }

    /// Adds the place to a failed template's faults that have none yet.
    func failed(in place: @autoclosure () -> Fault.Place) -> Refusal {
        guard code == .templateFailed else { return self }
        var refusal = self
        for index in faults.indices where faults[index].place == nil {
            refusal.faults[index].place = place()
            refusal.faults[index].detail += ", for \(place())"
        }
        return refusal
    }

    static func naming<Value>(_ section: SectionID, _ body: () throws -> Value) rethrows -> Value {
        do {
            return try body()
        } catch let refusal as Refusal {
            throw refusal.failed(in: .init(section: section))
        }
    }

    package var detailWithPlace: String {
        let places = faults.compactMap(\.place)
        guard let place = places.first else { return detail }
        let others = places.count > 1 ? " `errors` lists \(places.count) failures." : ""
        return "\(detail) It failed for \(place).\(others)"
    }

    /// For a model that a template made and the request does not contain: `faults` become text in `detail`.
    func ofWhatWasMade(by maker: String) -> Refusal {
        let places = faults.map { $0.pointer.tokens.isEmpty ? $0.detail : "\"\($0.pointer)\": \($0.detail)" }
        return Refusal(
            code,
            "\(maker) made a model that is not valid. \(detail)\(places.isEmpty ? "" : " (\(places.joined(separator: "; ")))")"
        )
    }

    /// With pointers for a larger document, which has the faulty one at `place`. Below a long `place` only the first
    /// are kept (`FaultBudget`).
    public func placed(at place: JSONPointer) -> Refusal {
        var refusal = self, budget = FaultBudget()
        let placed = faults.map { fault in
            var fault = fault
            fault.pointer = place.appending(fault.pointer)
            return fault
        }
        refusal.faults = Array(placed.prefix { budget.admit($0.pointer) })
        return refusal
    }

    package static func noSection(_ id: SectionID, among sections: some Collection<SectionID>) -> Refusal {
        Refusal(
            .sectionNotFound, "The section \"\(id)\" does not exist. This table has \(Self.listed(sections)).")
    }

    package static func notDisplayed(_ id: SectionID, among sections: some Collection<SectionID>) -> Refusal {
        Refusal(
            .sectionNotFound, "The section \"\(id)\" is not displayed. The table displays \(Self.listed(sections)).")
    }

    private static func listed(_ sections: some Collection<SectionID>) -> String {
        guard !sections.isEmpty else { return "no sections" }
        let limit = 8
        let names = sections.prefix(limit).map { "\"\($0)\"" }.joined(separator: ", ")
        return sections.count > limit ? "\(names) and \(sections.count - limit) more" : names
    }

    static func noRow(_ index: Int, in section: SectionID, of count: Int) -> Refusal {
        Refusal(
            .rowNotFound,
            "The section \"\(section)\" has no row \(index). It has \(counted(count, "row")), counted from 0."
        )
    }

    static func ambiguous(_ id: RowID, _ one: SectionID, _ other: SectionID) -> Refusal {
        Refusal(
            .ambiguousRow,
            "The sections \"\(one)\" and \"\(other)\" both have a row with the id \"\(id)\": name the section as well.")
    }

    package static func noRow(_ id: RowID, in section: SectionID) -> Refusal {
        Refusal(.rowNotFound, "The section \"\(section)\" has no row with the id \"\(id)\".")
    }

    static func idInvalid(_ id: RowID, in section: SectionID) -> Refusal {
        Refusal(
            .idInvalid,
            "A row of the section \"\(section)\" cannot have the id \(IDRule.shown(id.text)): an id has \(IDRule.text)."
        )
    }

    static func idInvalid(_ id: SectionID) -> Refusal {
        Refusal(.idInvalid, "A section cannot have the id \(IDRule.shown(id.text)): an id has \(IDRule.text).")
    }

    static func duplicateRow(_ id: RowID, in section: SectionID) -> Refusal {
        Refusal(
            .duplicateRowID,
            "The section \"\(section)\" already has a row with the id \"\(id)\"; ids must be unique within a section.")
    }
}
