/// Reads a description's JSON, gathering every fault with its pointer instead of stopping at the first.
struct DescriptionReader {
    /// The whole document: models are sliced from it, as they were written.
    let text: JSONText
    /// The declared sections, once they are known; nil while they are dynamic.
    var declared: Set<SectionID>?
    /// The first hundred: a long name in each pointer would make an answer of any size.
    private(set) var faults: [Refusal.Fault] = []
    private(set) var faultCount = 0
    static let faultLimit = 100
    /// What is no fault, but surely not meant; the first hundred.
    private(set) var warnings: [Refusal.Fault] = []
    /// What the templates of the handler that is being read may read beside what all may.
    var handlerNames: [String] = []
    /// Actions of handlers that are about the handler's own row.
    var actionsOnOwnRow: [JSONPointer] = []

    /// Each binding's text: to look for it from the document's start would take as long as all before it.
    private let bindings: [JSONText]

    init(_ text: JSONText) {
        self.text = text
        bindings = text["bindings"]?.elements() ?? []
    }

    mutating func fault(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) {
        faultCount += 1
        if faults.count < Self.faultLimit { faults.append(.init(pointer: pointer, code: code, detail: detail)) }
    }

    /// An object's members; unknown ones are faults. `$schema` and `$comment` may stand anywhere.
    mutating func object(_ value: JSONValue, at pointer: JSONPointer, members known: [String], what: String)
        -> JSONObject?
    {
        guard case .object(let object) = value else {
            fault(pointer, .wrongType, "\(what) must be an object")
            return nil
        }
        for (name, _) in object.members where !known.contains(name) && !Self.isRemark(name) {
            fault(
                pointer.appending(name), .unknownMember,
                "\(what) has no member `\(name)`; \(suggestion(for: name, among: known, else: "it may have"))")
        }
        return object
    }

    /// An object from names of the author's choosing to values.
    mutating func map(_ value: JSONValue?, at pointer: JSONPointer, what: String) -> [(name: String, value: JSONValue)]
    {
        guard let value else { return [] }
        guard case .object(let object) = value else {
            fault(pointer, .wrongType, "\(what) must be an object")
            return []
        }
        return object.members.filter { !Self.isRemark($0.name) }
    }

    /// `$schema` and `$comment` may stand in every object of the format.
    static func isRemark(_ name: String) -> Bool { name == "$schema" || name == "$comment" }

    mutating func string(_ value: JSONValue?, at pointer: JSONPointer, what: String) -> String? {
        guard let value else { return nil }
        guard case .string(let string) = value else {
            fault(pointer, .wrongType, "\(what) must be a string")
            return nil
        }
        return string
    }

    /// Those that are strings, each once, with their indices in the array.
    mutating func strings(_ value: JSONValue, at pointer: JSONPointer, what: String) -> [(index: Int, text: String)]? {
        guard case .array(let elements) = value else {
            fault(pointer, .wrongType, "\(what) must be an array of strings")
            return nil
        }
        var strings: [(index: Int, text: String)] = []
        var seen: Set<UTF8Key> = []
        for (index, element) in elements.enumerated() {
            if let string = string(element, at: pointer.appending(index), what: "an element of \(what)") {
                if !seen.insert(UTF8Key(string)).inserted {
                    fault(pointer.appending(index), .duplicate, "\"\(string)\" stands in \(what) twice")
                } else {
                    strings.append((index, string))
                }
            }
        }
        return strings
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ value: JSONValue?, at pointer: JSONPointer, what: String
    ) -> Choice? where Choice.RawValue == String {
        guard let name = string(value, at: pointer, what: what) else { return nil }
        if let choice = Choice(rawValue: name) { return choice }
        fault(
            pointer, .invalidValue,
            "\(what) cannot be \"\(name)\"; it is one of \(Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))"
        )
        return nil
    }

    /// `names`: what the template may read beside what all may.
    mutating func template(_ value: JSONValue, at pointer: JSONPointer, over names: [String] = []) -> JSONeTemplate? {
        do throws(JSONeError) {
            var template = try JSONeTemplate(value)
            template.place = pointer
            checkNames(template.names, names, at: pointer)
            return template
        } catch {
            fault(error.pointer.reduce(pointer) { $0.appending($1) }, .invalidValue, error.message)
            return nil
        }
    }

    mutating func expression(_ value: JSONValue?, at pointer: JSONPointer, over names: [String] = [], what: String)
        -> Expression?
    {
        guard let source = string(value, at: pointer, what: "\(what), a JSON-e expression,") else { return nil }
        do throws(JSONeError) {
            var expression = try Expression(source)
            expression.place = pointer
            checkNames(expression.names, names, at: pointer)
            return expression
        } catch {
            fault(pointer, .invalidValue, error.message)
            return nil
        }
    }

    /// What every template may read.
    private static let commonNames = ["state", "models", "section", "count", "now"]
    /// What is made for a row may read these, too.
    static let rowNames = ["model", "row"]

    /// Whoever reads a name that nothing gives fails, but only once it comes to that.
    private mutating func checkNames(_ read: NamesRead, _ names: [String], at pointer: JSONPointer) {
        let known = Self.commonNames + names + handlerNames
        for name in read.all.subtracting(read.tolerated).subtracting(known).sorted() {
            warn(
                pointer, .unknownName,
                "nothing gives the name `\(name)` here; \(suggestion(for: name, among: known, else: "there are"))")
        }
    }

    private func suggestion(for name: String, among known: [String], else list: String) -> String {
        let near = known.first { $0.lowercased() == name.lowercased() || isNear($0, name) }
        return near.map { "did you mean `\($0)`?" } ?? "\(list) \(known.map { "`\($0)`" }.joined(separator: ", "))"
    }

    /// Said once, of parts that are read by themselves again where they stand.
    mutating func warn(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) {
        warnings.removeAll { $0.detail == detail && pointer.tokens.starts(with: $0.pointer.tokens) }
        if warnings.count < Self.faultLimit { warnings.append(.init(pointer: pointer, code: code, detail: detail)) }
    }

    /// Whether a section can be there: it is declared, or sections are dynamic. A fault otherwise.
    @discardableResult
    mutating func requireSection(_ id: SectionID, at pointer: JSONPointer) -> Bool {
        guard let declared, !declared.contains(id) else { return true }
        fault(pointer, .unknownName, "the section \"\(id)\" is not declared in `sections`")
        return false
    }

    /// The value's own text, digit for digit.
    func slice(_ pointer: JSONPointer) -> JSONText {
        if pointer.tokens.count > 1, pointer.tokens[0] == "bindings", let index = JSONPointer.index(pointer.tokens[1]),
            bindings.indices.contains(index)
        {
            return bindings[index][JSONPointer(tokens: Array(pointer.tokens[2...]))] ?? .null
        }
        return text[pointer] ?? .null
    }

    /// One letter more, less or other.
    private func isNear(_ left: String, _ right: String) -> Bool {
        let left = Array(left.utf8), right = Array(right.utf8)
        guard abs(left.count - right.count) <= 1, left.count > 3 else { return false }
        var prefix = 0
        while prefix < min(left.count, right.count), left[prefix] == right[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < min(left.count, right.count) - prefix,
            left[left.count - 1 - suffix] == right[right.count - 1 - suffix]
        { suffix += 1 }
        return max(left.count, right.count) - prefix - suffix <= 1
    }
}
