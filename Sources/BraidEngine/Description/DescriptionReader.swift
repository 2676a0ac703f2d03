/// Reads a description, and collects its faults.
struct DescriptionReader {
    /// The document. Models are cut from it, and so keep their spelling.
    let text: JSONText
    /// The declared sections, once they are read; `nil` if dynamic.
    var declared: Set<SectionID>?
    /// Up to a hundred, fewer with long pointers (`FaultBudget`).
    private(set) var faults: [Refusal.Fault] = []
    private var faultBudget = FaultBudget()
    private(set) var faultCount = 0
    static let faultLimit = 100
    /// Warnings make reading slower.
    let warns: Bool
    /// Allowed, but probably mistakes. Limited as faults are.
    private(set) var warnings: [Refusal.Fault] = []
    private var warningBudget = FaultBudget()
    /// While a handler is read: what its templates may read, too.
    var handlerNames: [String] = []
    /// Actions, and uses of named handlers, that change the handler's own row.
    var actionsOnOwnRow: [JSONPointer] = []
    /// What the display reads of `user` and `view`.
    private(set) var viewerPaths: Set<[String]> = []
    /// While a named handler is read: what it reads.
    var readNames: Set<String> = []
    /// If it warns.
    var members = MembersRead()
    var templates = NamedParts<NamedTemplate>(
        place: "templates", what: "template", reference: JSONeCompiler.reference)
    var handlers = NamedParts<NamedHandler>(place: "handlers", what: "handler", reference: "run")

    /// Cut once, so that the document is not scanned from its start for each.
    private let bindings: [JSONText]

    init(_ text: JSONText, warns: Bool) {
        self.text = text
        self.warns = warns
        bindings = text["bindings"]?.elements() ?? []
    }

    /// No more are kept, so no message need be made.
    var isFull: Bool { faults.count >= Self.faultLimit || faultBudget.isExhausted }

    mutating func fault(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) {
        faultCount += 1
        guard !isFull, faultBudget.admit(pointer) else { return }
        faults.append(.init(pointer: pointer, code: code, detail: shortened(detail)))
    }

    /// Other members than `known` are faults, except `$schema` and `$comment`.
    mutating func object(_ value: JSONValue, at pointer: JSONPointer, members known: [String], what: String)
        -> JSONObject?
    {
        guard case .object(let object) = value else {
            fault(pointer, .wrongType, "\(what) must be an object")
            return nil
        }
        for (name, _) in object.members where !known.contains(name) && !Self.isRemark(name) {
            let hint = isFull ? "" : "; \(Spelling.hint(for: name, among: known, else: "it may have"))"
            fault(pointer.appending(name), .unknownMember, "\(what) has no member `\(name)`\(hint)")
        }
        return object
    }

    /// For an object whose names are the author's, such as those of cells.
    mutating func map(_ value: JSONValue?, at pointer: JSONPointer, what: String, hint: String = "") -> [(
        name: String, value: JSONValue
    )] {
        guard let value else { return [] }
        guard case .object(let object) = value else {
            fault(pointer, .wrongType, "\(what) must be an object\(hint)")
            return []
        }
        return object.members.filter { !Self.isRemark($0.name) }
    }

    /// Allowed in every object.
    static func isRemark(_ name: String) -> Bool { name == "$schema" || name == "$comment" }

    mutating func string(_ value: JSONValue?, at pointer: JSONPointer, what: String) -> String? {
        guard let value else { return nil }
        guard case .string(let string) = value else {
            fault(pointer, .wrongType, "\(what) must be a string")
            return nil
        }
        return string
    }

    /// With their indices. Other elements and repetitions are faults, and left out.
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
                    fault(pointer.appending(index), .duplicate, "\"\(string)\" is in \(what) twice")
                } else {
                    strings.append((index, string))
                }
            }
        }
        return strings
    }

    /// Each must be declared, unless sections are dynamic.
    mutating func sectionIDs(_ value: JSONValue, at pointer: JSONPointer, what: String) -> [SectionID]? {
        guard let ids = strings(value, at: pointer, what: what) else { return nil }
        for (index, id) in ids { requireSection(SectionID(id), at: pointer.appending(index)) }
        return ids.map { SectionID($0.text) }
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

    /// It may read `names`, too. `isName`: it gives a name of the author's, which may look like an expression without a
    /// warning.
    mutating func template(
        _ value: JSONValue, at pointer: JSONPointer, over names: [String] = [], isName: Bool = false
    ) -> JSONeTemplate? {
        guard requireTemplates(in: value, at: pointer) else { return nil }
        do throws(JSONeError) {
            var template = try JSONeTemplate(value, named: templates.made)
            template.place = pointer
            checkNames(template.names, names, at: pointer)
            if !isName { checkLiterals(template.node, names, at: pointer) }
            noteMembers(of: template.node, at: pointer, hasModel: readsModel(names))
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
            noteMembers(of: expression.node, at: pointer, in: pointer, except: readsModel(names) ? [] : ["model"])
            return expression
        } catch {
            fault(pointer, .invalidValue, error.message)
            return nil
        }
    }

    private func readsModel(_ names: [String]) -> Bool { (names + handlerNames).contains("model") }

    private static let commonNames = ["state", "models", "section", "now"]
    /// Of who looks, in what is displayed.
    private static let viewerNames = ["user", "view"]
    static let rowNames = ["model", "row", "count"]
    static let handlerNames = rowNames + ["uuid", "user"]
    static let titleNames = ["count", "displayedCount"]
    static let sectionNames = titleNames + ["header", "footer"]

    /// Only warns about unknown names: rendering fails only if it gets there.
    private mutating func checkNames(_ read: NamesRead, _ names: [String], at pointer: JSONPointer) {
        let needed = read.all.subtracting(read.tolerated)
        readNames.formUnion(needed)
        // Handlers and `insert.template` read who sends the command.
        let isDisplayed = handlerNames.isEmpty && !names.contains("user")
        if isDisplayed { viewerPaths.formUnion(read.viewerPaths) }
        guard warns else { return }
        if isDisplayed { warnOfWholeUsers(read.viewerPaths, at: pointer) }
        let known = Self.commonNames + names + handlerNames + (isDisplayed ? Self.viewerNames : [])
        for name in needed.subtracting(known).sorted() {
            warn(
                pointer, .unknownName,
                "nothing gives the name `\(name)` here; \(Spelling.hint(for: name, among: known, else: "there are"))")
        }
    }

    /// Warns about literals that look like expressions over names of their place: a name, or an access such as
    /// `event.text`. Not about ids of declared sections, nor a single name that only the template defines.
    mutating func checkLiterals(_ node: JSONeNode, _ names: [String], at pointer: JSONPointer) {
        guard warns else { return }
        let known = Self.commonNames + Self.viewerNames + names + handlerNames.filter { $0 != "uuid" }
        var found: [(text: String, place: [String])] = []
        node.forEachLeaf { leaf, place, locals in
            guard case .literal(let text) = leaf else { return }
            let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.allSatisfy({ String($0)?.isTemplateIdentifier ?? false }), let first = parts.first,
                let name = String(first), known.contains(name) || parts.count > 1 && locals.contains(name)
            else { return }
            found.append((text, place))
        }
        for (text, place) in found where !(declared?.contains(SectionID(text)) ?? false) {
            warn(
                place.reduce(pointer) { $0.appending($1) }, .invalidValue,
                "the text \"\(text)\" reads like an expression: for its value write {\"$eval\": \"\(text)\"}, or \"${\(text)}\" inside a text; for the text itself write \"${'\(text)'}\""
            )
        }
    }

    /// Replaces an equal one at the same or an enclosing pointer: some values are read twice.
    mutating func warn(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) {
        let detail = shortened(detail)
        guard warns, warningBudget.admit(pointer) else { return }
        warnings.removeAll { $0.detail == detail && pointer.tokens.starts(with: $0.pointer.tokens) }
        if warnings.count < Self.faultLimit { warnings.append(.init(pointer: pointer, code: code, detail: detail)) }
    }

    /// False, with a fault, if sections are declared, but not this one.
    @discardableResult
    mutating func requireSection(_ id: SectionID, at pointer: JSONPointer) -> Bool {
        guard let declared, !declared.contains(id) else { return true }
        fault(pointer, .unknownName, "the section \"\(id)\" is not declared in `sections`")
        return false
    }

    /// For one that a binding names besides its scope, such as in `headers`: must be in it.
    @discardableResult
    mutating func requireSection(
        _ id: SectionID, notExcluded isExcluded: (SectionID) -> Bool, at pointer: JSONPointer
    ) -> Bool {
        guard isExcluded(id) else { return requireSection(id, at: pointer) }
        fault(pointer, .conflict, "the section \"\(id)\" is not in this binding's scope")
        return false
    }

    /// The value as the description spells it.
    func slice(_ pointer: JSONPointer) -> JSONText {
        if pointer.tokens.count > 1, pointer.tokens[0] == "bindings", let index = JSONPointer.index(pointer.tokens[1]),
            bindings.indices.contains(index)
        {
            return bindings[index][JSONPointer(tokens: Array(pointer.tokens[2...]))] ?? .null
        }
        return text[pointer] ?? .null
    }
}
