extension JTDSchema {
    /// Compiles a schema. O(document).
    ///
    /// - Returns: if it is incorrect (RFC 8927, section 2), `nil` and the first 100 faults, fewer if their pointers
    ///   exceed 64 KiB. A schema's faults precede its subschemas', which are in the document's order.
    public static func compile(_ json: JSONValue) -> (schema: JTDSchema?, faults: [SyntaxError]) {
        var compiler = JTDCompiler(json)
        compiler.run()
        guard compiler.faults.isEmpty else { return (nil, compiler.faults) }
        compiler.nodes.followReferences()
        return (JTDSchema(nodes: compiler.nodes), [])
    }
}

/// A list of pending schemas instead of recursion.
private struct JTDCompiler {
    private struct Pending {
        var json: JSONValue
        var position: Int
        /// For a direct member of `mapping`.
        var mapping: Mapping?
    }

    private struct Mapping {
        /// `nil` if missing or no string.
        var tag: String?
    }

    private static let keywords: Set = [
        "definitions", "metadata", "nullable", "ref", "type", "enum", "elements", "properties", "optionalProperties",
        "additionalProperties", "values", "discriminator", "mapping",
    ]

    /// One group per schema (RFC 8927, section 2.2).
    private static let forms = [
        ["ref"], ["type"], ["enum"], ["elements"], ["properties", "optionalProperties", "additionalProperties"],
        ["values"],
        ["discriminator", "mapping"],
    ]

    /// RFC 8927, 3.3.3, tables 1 and 2.
    private static let types: [(name: String, form: JTDNode.Form)] = [
        ("boolean", .boolean), ("float32", .number), ("float64", .number),
        ("int8", .integer(-128...127)), ("uint8", .integer(0...255)),
        ("int16", .integer(-32_768...32_767)), ("uint16", .integer(0...65_535)),
        ("int32", .integer(-2_147_483_648...2_147_483_647)), ("uint32", .integer(0...4_294_967_295)),
        ("string", .string), ("timestamp", .timestamp),
    ]

    var nodes = [JTDNode()]
    var faults: [JTDSchema.SyntaxError] = []
    private var budget = FaultBudget()
    private var pending: [Pending]
    /// Position in `nodes` of the first definition's schema; the others follow.
    private var firstDefinition = 0
    private var definitions = JTDNames()

    init(_ json: JSONValue) {
        pending = [Pending(json: json, position: 0, mapping: nil)]
    }

    mutating func run() {
        while let next = pending.popLast() {
            let count = pending.count
            compile(next)
            // Reversed, as the list is worked off from its end: keeps the document's order.
            pending[count...].reverse()
        }
    }

    // MARK: One schema

    private mutating func compile(_ schema: Pending) {
        let position = schema.position
        guard case .object(let object) = schema.json else {
            fault(position, [], .wrongType, "a schema must be an object, not \(shown(schema.json))")
            return
        }
        guard !Self.isJSONSchema(object) else {
            fault(
                position, [], .invalidValue,
                "this is JSON Schema, but a schema here is a JSON Type Definition (RFC 8927): write \(Self.objectForm)")
            if let properties = object["properties"]?.objectValue {
                _ = add(properties, under: "properties", of: position)
            }
            return
        }
        checkKeywords(of: object, at: position)
        // Before any form: a `ref` needs all names.
        if position == 0 { compileDefinitions(of: object) }
        if let metadata = object["metadata"], metadata.objectValue == nil {
            fault(position, ["metadata"], .wrongType, "must be an object, not \(shown(metadata))")
        }
        nodes[position].isNullable = bool("nullable", of: object, at: position)
        let forms = Self.forms.filter { $0.contains { object[$0] != nil } }
        if forms.count > 1 {
            let found = forms.flatMap { $0.filter { object[$0] != nil } }.map(quoted).joined(separator: ", ")
            fault(
                position, [], .conflict, "\(found) exclude each other: a schema has the keywords of one form only"
            )
        }
        checkMapped(schema, object)
        for form in forms {
            if let compiled = compile(
                form[0], of: object, at: position, isOnlyForm: forms.count == 1, isMapped: schema.mapping != nil)
            {
                nodes[position].form = compiled
            }
        }
    }

    /// `form`: its first keyword. `nil` after a fault.
    private mutating func compile(
        _ form: String, of object: JSONObject, at position: Int, isOnlyForm: Bool, isMapped: Bool
    ) -> JTDNode.Form? {
        switch form {
        case "ref": return reference(object, position)
        case "type": return type(object, position)
        case "enum": return oneOf(object, position)
        case "elements": return object["elements"].map { .elements(add($0, under: "elements", of: position)) }
        case "values": return object["values"].map { .values(add($0, under: "values", of: position)) }
        case "discriminator": return discriminator(object, position, isOnlyForm)
        default: return properties(object, position, isOnlyForm && !isMapped)
        }
    }

    /// Tells JSON Schema from a JSON Type Definition with a mistake.
    private static func isJSONSchema(_ object: JSONObject) -> Bool {
        object["$schema"] != nil || object["required"]?.arrayValue != nil
            || object["type"]?.stringValue == "object" && object["properties"] != nil
    }

    private static let objectForm =
        #"{"properties": {required members}, "optionalProperties": {the other members}}, each member with its schema"#

    /// For types that only JSON Schema has.
    private static let replacements = [
        "integer": #"{"type": "int32"}"#, "number": #"{"type": "float64"}"#, "object": objectForm,
        "array": #"{"elements": schema of an element}"#, "null": #""nullable": true"#,
    ]

    /// RFC 8927, 2.1 and 2.3.
    private mutating func checkKeywords(of object: JSONObject, at position: Int) {
        for (name, _) in object.members {
            // `Set` compares by canonical equivalence, but ASCII has no equivalents.
            if !Self.keywords.contains(name) {
                fault(
                    position, [name], .unknownMember,
                    "\(quoted(name)) is no keyword of a schema; what validation should not see belongs in \"metadata\"")
            } else if name == "definitions", position != 0 {
                fault(
                    position, [name], .unknownMember,
                    "\"definitions\" may be in the root schema only")
            }
        }
    }

    private mutating func compileDefinitions(of root: JSONObject) {
        guard let schemas = schemasByName("definitions", of: root, at: 0) else { return }
        for (name, _) in schemas.members { definitions.append(name) }
        firstDefinition = add(schemas, under: "definitions", of: 0)
    }

    /// RFC 8927, 2.2.8.
    private mutating func checkMapped(_ schema: Pending, _ object: JSONObject) {
        guard let mapping = schema.mapping else { return }
        if object["properties"] == nil, object["optionalProperties"] == nil {
            fault(
                schema.position, [], .missingMember,
                "a schema in \"mapping\" must have \"properties\" or \"optionalProperties\", and this has neither")
        }
        if object["nullable"]?.boolValue == true {
            fault(
                schema.position, ["nullable"], .conflict,
                "a schema in \"mapping\" must not be nullable; the schema with the \"discriminator\" may be")
        }
        guard let tag = mapping.tag else { return }
        for keyword in ["properties", "optionalProperties"] where object[keyword]?.objectValue?[tag] != nil {
            fault(
                schema.position, [keyword, tag], .conflict,
                "\(quoted(tag)) is the discriminator's tag, which a schema in \"mapping\" must not define again")
        }
    }

    // MARK: Forms

    /// RFC 8927, 2.2.2. `followReferences` resolves chains once all definitions are known.
    private mutating func reference(_ object: JSONObject, _ position: Int) -> JTDNode.Form? {
        guard let name = string("ref", of: object, at: position) else { return nil }
        if let definition = definitions.position(of: name) { return .reference(firstDefinition + definition) }
        let there = listed(definitions.list, none: "are no definitions", one: "is only", many: "are")
        fault(
            position, ["ref"], .unknownName,
            "\(quoted(name)) names no definition; there \(there)")
        return nil
    }

    /// RFC 8927, 2.2.3.
    private mutating func type(_ object: JSONObject, _ position: Int) -> JTDNode.Form? {
        guard let name = string("type", of: object, at: position) else { return nil }
        if let type = Self.types.first(where: { $0.name == name }) { return type.form }
        let names = Self.types.map { quoted($0.name) }.joined(separator: ", ")
        let hint = Self.replacements[name].map { "write \($0)" } ?? "the types are \(names)"
        fault(position, ["type"], .invalidValue, "\(quoted(name)) is no type; \(hint)")
        return nil
    }

    /// RFC 8927, 2.2.4.
    private mutating func oneOf(_ object: JSONObject, _ position: Int) -> JTDNode.Form? {
        guard let json = object["enum"] else { return nil }
        guard case .array(let elements) = json, !elements.isEmpty else {
            let found = json == [] ? "an empty array" : shown(json)
            fault(
                position, ["enum"], .rejecting(json, accepting: .array),
                "must be an array of one or more strings, not \(found)")
            return nil
        }
        var names = JTDNames()
        for (index, element) in elements.enumerated() {
            guard case .string(let name) = element else {
                fault(position, ["enum", String(index)], .wrongType, "must be a string, not \(shown(element))")
                continue
            }
            if !names.append(name) {
                fault(
                    position, ["enum", String(index)], .duplicate,
                    "the \"enum\" has \(quoted(name)) twice")
            }
        }
        return .oneOf(names)
    }

    /// RFC 8927, 2.2.6.
    private mutating func properties(
        _ object: JSONObject, _ position: Int, _ mustHaveNames: Bool
    ) -> JTDNode.Form? {
        let required = schemasByName("properties", of: object, at: position)
        let optional = schemasByName("optionalProperties", of: object, at: position)
        let allowsAdditional = bool("additionalProperties", of: object, at: position)
        if mustHaveNames, object["properties"] == nil, object["optionalProperties"] == nil {
            fault(
                position, ["additionalProperties"], .conflict,
                "\"additionalProperties\" needs \"properties\" or \"optionalProperties\" beside it")
        }
        var names = JTDNames()
        for (name, _) in required?.members ?? [] { names.append(name) }
        for (name, _) in optional?.members ?? [] where !names.append(name) {
            fault(
                position, ["optionalProperties", name], .duplicate,
                "\(quoted(name)) is in \"properties\" too, but a member is either required or optional")
        }
        // Required before optional, so that the nodes are in the order of `names`.
        let first = required.map { add($0, under: "properties", of: position) } ?? nodes.count
        if let optional { _ = add(optional, under: "optionalProperties", of: position) }
        return .properties(
            .init(
                names: names, requiredCount: required?.count ?? 0, first: first, allowsAdditional: allowsAdditional,
                hasRequired: required != nil))
    }

    /// RFC 8927, 2.2.8.
    private mutating func discriminator(_ object: JSONObject, _ position: Int, _ isOnlyForm: Bool) -> JTDNode.Form? {
        let tag = string("discriminator", of: object, at: position)
        let mapping = schemasByName("mapping", of: object, at: position)
        if isOnlyForm, object["mapping"] == nil {
            fault(position, ["discriminator"], .conflict, "\"discriminator\" needs \"mapping\" beside it")
        } else if isOnlyForm, object["discriminator"] == nil {
            fault(position, ["mapping"], .conflict, "\"mapping\" needs \"discriminator\" beside it")
        }
        guard let mapping else { return nil }
        var names = JTDNames()
        for (name, _) in mapping.members { names.append(name) }
        let first = add(mapping, under: "mapping", of: position, in: Mapping(tag: tag))
        return tag.map { .discriminator(.init(tag: $0, mapping: names, first: first)) }
    }

    // MARK: Subschemas

    private mutating func add(
        _ json: JSONValue, under keyword: String, of parent: Int, name: String? = nil, in mapping: Mapping? = nil
    ) -> Int {
        nodes.append(JTDNode(parent: parent, keyword: keyword, name: name))
        pending.append(Pending(json: json, position: nodes.count - 1, mapping: mapping))
        return nodes.count - 1
    }

    /// Adds one for each member; returns the first one's position in `nodes`.
    private mutating func add(
        _ schemas: JSONObject, under keyword: String, of parent: Int, in mapping: Mapping? = nil
    ) -> Int {
        let first = nodes.count
        for (name, json) in schemas.members { _ = add(json, under: keyword, of: parent, name: name, in: mapping) }
        return first
    }

    // MARK: Members of one kind

    private mutating func string(_ keyword: String, of object: JSONObject, at position: Int) -> String? {
        guard let json = object[keyword] else { return nil }
        if let string = json.stringValue { return string }
        fault(position, [keyword], .wrongType, "must be a string, not \(shown(json))")
        return nil
    }

    /// False if missing or faulty.
    private mutating func bool(_ keyword: String, of object: JSONObject, at position: Int) -> Bool {
        guard let json = object[keyword] else { return false }
        if let bool = json.boolValue { return bool }
        fault(position, [keyword], .wrongType, "must be true or false, not \(shown(json))")
        return false
    }

    private mutating func schemasByName(_ keyword: String, of object: JSONObject, at position: Int) -> JSONObject? {
        guard let json = object[keyword] else { return nil }
        if let schemas = json.objectValue { return schemas }
        fault(
            position, [keyword], .wrongType, "must be an object with a schema for each name, not \(shown(json))")
        return nil
    }

    /// `FaultBudget` limits their size.
    private static let faultLimit = 100

    private mutating func fault(_ position: Int, _ tokens: [String], _ code: FaultCode, _ message: String) {
        guard faults.count < Self.faultLimit, !budget.isExhausted else { return }
        let pointer = nodes.pointer(to: position).appending(JSONPointer(tokens: tokens))
        guard budget.admit(pointer) else { return }
        faults.append(.init(pointer: pointer, code: code, message: message))
    }
}

extension [JTDNode] {
    /// Makes each `ref` lead to its chain's end (RFC 8927, 3.3.2), so that validation follows at most one. It accepts
    /// null if any schema of the chain does. Marks endless chains (section 5); using oneself for a part is fine.
    /// O(nodes).
    mutating func followReferences() {
        var isDone = [Bool](repeating: false, count: count)
        var isOnWay = isDone
        for start in indices {
            var way: [Int] = [], position = start
            while !isDone[position], !isOnWay[position], case .reference(let target) = self[position].form {
                isOnWay[position] = true
                way.append(position)
                position = target
            }
            // Earlier chains are done, so this one has closed a circle.
            if !isDone[position], isOnWay[position] {
                let circle = way.drop { $0 != position }
                let isNullable = circle.contains { self[$0].isNullable }
                for position in circle {
                    self[position].form = .circle
                    self[position].isNullable = isNullable
                    isDone[position] = true
                }
            }
            for position in way.reversed() where !isDone[position] {
                if case .reference(let target) = self[position].form { follow(from: position, to: target) }
                isDone[position] = true
            }
        }
    }

    /// The target must have been resolved before.
    private mutating func follow(from position: Int, to target: Int) {
        switch self[target].form {
        case .reference(let last): self[position].form = .reference(last)
        case .circle: self[position].form = .circle
        default: break
        }
        if self[target].isNullable { self[position].isNullable = true }
    }
}
