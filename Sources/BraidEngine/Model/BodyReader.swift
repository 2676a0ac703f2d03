/// Reads an object's members by name. Unlisted ones are faults.
package struct BodyReader {
    private let members: [(name: String, value: JSONText)]
    package let pointer: JSONPointer

    package init(_ json: JSONText, at pointer: JSONPointer, members known: [String]) throws(Refusal) {
        members = try Self.members(json, at: pointer, what: known.map { "`\($0)`" }.joined(separator: ", "))
        self.pointer = pointer
        for (name, _) in members where !known.contains(name) {
            throw Refusal.bad(
                pointer.appending(name), .unknownMember,
                "the member is unknown; "
                    + (known.isEmpty
                        ? "the object has no members"
                        : Spelling.hint(for: name, among: known, else: "the known members are")))
        }
    }

    package static func members(
        _ json: JSONText, at pointer: JSONPointer, what: @autoclosure () -> String
    ) throws(Refusal) -> [(name: String, value: JSONText)] {
        guard let members = json.members() else {
            throw Refusal.bad(pointer, .wrongType, "must be an object of \(what())")
        }
        return members
    }

    package subscript(name: String) -> JSONText? { members.first { $0.name == name }?.value }

    package func required(_ name: String) throws(Refusal) -> JSONText {
        guard let value = self[name] else {
            throw Refusal.bad(pointer, .missingMember, "the member `\(name)` is missing")
        }
        return value
    }

    func index(_ name: String) throws(Refusal) -> Int { try required(name).index(at: place(of: name)) }

    package func fault(_ name: String, _ code: FaultCode, _ detail: String) -> Refusal {
        .bad(place(of: name), code, detail)
    }

    package func place(of name: String) -> JSONPointer { pointer.appending(name) }

    /// A string, `null`, or `{"view": name, "viewModel"?: …}`.
    static func title(_ value: JSONText, at pointer: JSONPointer) throws(Refusal) -> JSONText {
        switch value.kind {
        case .string, .null: return value
        case .object:
            let object = try BodyReader(value, at: pointer, members: ["view", "viewModel"])
            guard try object.required("view").kind == .string else {
                throw object.fault("view", .wrongType, "must be the name of a view, a string")
            }
            return value
        default:
            throw Refusal.bad(
                pointer, .wrongType, "a title must be a string, null, or {\"view\": name, \"viewModel\": …}")
        }
    }
}

extension JSONText {
    /// Reads each element with its place. `what` names the elements, such as "commands".
    func array<Element>(
        of what: String, at pointer: JSONPointer,
        _ read: (_ element: JSONText, _ place: JSONPointer) throws(Refusal) -> Element
    ) throws(Refusal) -> [Element] {
        guard let elements = elements() else { throw Refusal.bad(pointer, .wrongType, "must be an array of \(what)") }
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() { values.append(try read(element, pointer.appending(index))) }
        return values
    }

    func sectionID(at pointer: JSONPointer) throws(Refusal) -> SectionID {
        guard let id = stringValue else { throw Refusal.bad(pointer, .wrongType, "a section id must be a string") }
        return SectionID(id)
    }

    func index(at pointer: JSONPointer) throws(Refusal) -> Int {
        guard let index = intValue, index >= 0 else {
            throw Refusal.bad(pointer, .rejecting(kind, accepting: .number), "must be an integer from 0")
        }
        return index
    }
}

extension Refusal {
    package static func bad(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) -> Refusal {
        Refusal(
            .badRequest,
            "The request's body is not valid. At \(pointer.description.isEmpty ? "its root" : "\"\(pointer)\""): \(detail.asSentence)",
            faults: [.init(pointer: pointer, code: code, detail: detail)])
    }
}
