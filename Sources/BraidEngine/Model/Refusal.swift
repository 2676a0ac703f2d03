/// Why the engine refuses an input, such as a command, a model or a table description. The table does not change.
public struct Refusal: Error, Sendable, Equatable {
    /// The raw value is the problem's name on the wire: `/problems/<rawValue>`.
    public enum Code: String, Sendable, CaseIterable {
        /// Several displayed sections have a row with the id, so the command must name the section, too.
        case ambiguousRow = "ambiguous-row"
        /// A command or another document is malformed, or the binder's state does not allow the call.
        case badRequest = "bad-request"
        /// The command took longer than its limit allows, and changed nothing.
        case commandTimeout = "command-timeout"
        /// The JSON table description has faults, or a Swift program's binding chains have mistakes.
        case descriptionInvalid = "description-invalid"
        /// Two models or rows of a section have the same id.
        case duplicateRowID = "duplicate-row-id"
        /// The policy does not allow this delete or insert, or the section's rows are derived.
        case editingNotAllowed = "editing-not-allowed"
        /// A handler failed or broke a rule, such as how the number of the section's models must change.
        case handlerContract = "handler-contract"
        /// The row's cell does not declare an event of this name.
        case eventUndeclared = "event-undeclared"
        /// An event's parameters do not match the schema that the cell declares for it.
        case eventInvalid = "event-invalid"
        /// A new row or section would have an id that a request cannot name, such as an empty one.
        case idInvalid = "id-invalid"
        /// A model does not match its type, has no usable id or another than the request names, or no cell is
        /// registered for its type.
        case modelInvalid = "model-invalid"
        /// The session's models or titles do not fit the other version of its table description.
        case modelsDoNotFit = "models-do-not-fit"
        /// An insert came without a model, and the section's binding has no `insert.template` that makes one.
        case modelRequired = "model-required"
        /// A model or a cell has another type than its section or its binding chain expects.
        case modelTypeMismatch = "model-type-mismatch"
        /// The policy does not allow the row to move, or not there, or the rows of one of the sections are derived.
        case moveNotAllowed = "move-not-allowed"
        /// A handler rejected the command, for the reason in the detail.
        case rejected = "rejected"
        /// A row or place of an earlier revision cannot be found: it, or the rows around it, were removed or hidden.
        case rowGone = "row-gone"
        /// The row, place or index path does not exist or is not displayed.
        case rowNotFound = "row-not-found"
        /// The section does not exist in this table or is not displayed.
        case sectionNotFound = "section-not-found"
        /// The description declares all sections, so a command cannot add, remove or reorder them.
        case sectionsAreDeclared = "sections-are-declared"
        /// A template, an expression or a Swift closure failed, or gave what its place does not allow.
        case templateFailed = "template-failed"
        /// The table would contain more rows than its limits allow.
        case tooManyRows = "too-many-rows"
        /// The table would contain more sections than its limits allow.
        case tooManySections = "too-many-sections"
    }

    /// One fault of a document, such as a table description or a model.
    public struct Fault: Sendable, Equatable {
        /// The kind of a fault, for example `unknownMember`, for programs.
        public typealias Code = FaultCode

        /// To the faulty value in the document that was sent.
        public var pointer: JSONPointer
        /// The kind, for programs.
        public var code: Code
        /// For a developer: what is wrong at the pointer.
        public var detail: String
        /// Where a template failed. The pointer then leads into the table description.
        public var place: Place?

        /// A section, or one of its rows.
        public struct Place: Sendable, Equatable, CustomStringConvertible {
            /// The section.
            public var section: SectionID
            /// The row's index among all rows of the section, hidden ones included.
            public var row: Int?
            /// The row's id, if it has one.
            public var id: RowID?

            public var description: String {
                let section = "the section \"\(section)\""
                return (id.map { "the row \"\($0)\" of \(section)" } ?? row.map { "row \($0) of \(section)" })
                    ?? section
            }
        }

        /// Creates a fault.
        public init(pointer: JSONPointer, code: Code, detail: String) {
            self.pointer = pointer
            self.code = code
            self.detail = detail
        }
    }

    /// The kind, for programs.
    public var code: Code
    /// Why the input was refused, for a developer.
    public var detail: String
    /// Of the refused document, which may have more. Empty if the refusal is about no document.
    public var faults: [Fault]

    /// Creates a refusal. A program's handler can throw one to refuse a command for any reason.
    public init(_ code: Code, _ detail: String, faults: [Fault] = []) {
        self.code = code
        self.detail = detail
        self.faults = faults
    }

    /// The template at `pointer` gave what its place does not allow.
    init(templateFailed detail: String, at pointer: JSONPointer = .root) {
        self.init(.templateFailed, detail, faults: [.init(pointer: pointer, code: .templateFailed, detail: detail)])
    }

    /// With the section or row for which a template failed.
    func failed(in place: @autoclosure () -> Fault.Place) -> Refusal {
        guard code == .templateFailed else { return self }
        var refusal = self
        for index in faults.indices where faults[index].place == nil {
            refusal.faults[index].place = place()
            refusal.faults[index].detail += ", for \(place())"
        }
        return refusal
    }

    /// Names the section in the refusal of a failed template.
    static func naming<Value>(_ section: SectionID, _ body: () throws -> Value) rethrows -> Value {
        do {
            return try body()
        } catch let refusal as Refusal {
            throw refusal.failed(in: .init(section: section))
        }
    }

    /// The detail, and the first section or row for which a template failed.
    package var detailWithPlace: String {
        let places = faults.compactMap(\.place)
        guard let place = places.first else { return detail }
        let others = places.count > 1 ? " `errors` lists \(places.count) failures." : ""
        return "\(detail) It failed for \(place).\(others)"
    }

    /// For a model that a template made: without `faults`, as the model is no part of the request, but with their text
    /// in `detail`.
    func ofWhatWasMade(by maker: String) -> Refusal {
        let places = faults.map { $0.pointer.tokens.isEmpty ? $0.detail : "\"\($0.pointer)\": \($0.detail)" }
        return Refusal(
            code,
            "\(maker) made a model that is not valid. \(detail)\(places.isEmpty ? "" : " (\(places.joined(separator: "; ")))")"
        )
    }

    /// With the faults' pointers inside a larger document. Below a long `place`, only the first are kept
    /// (`FaultBudget`).
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

    /// The detail lists up to eight sections.
    package static func noSection(_ id: SectionID, among sections: some Collection<SectionID>) -> Refusal {
        Refusal(
            .sectionNotFound, "The section \"\(id)\" does not exist. This table has \(Self.listed(sections)).")
    }

    /// The detail lists up to eight displayed sections.
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
