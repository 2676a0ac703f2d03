extension JTDSchema {
    /// Where a value does not match (RFC 8927, 3.3), in the order of its text; an object's missing members first. At
    /// most `limit`, fewer if the paths exceed 64 KiB. O(value + required members).
    public func errorIndicators(of value: JSONValue, limit: Int = 32) -> [ErrorIndicator] {
        var validation = JTDValidation(nodes: nodes, limit: limit)
        validation.run(value)
        return validation.mismatches
    }
}

/// Keeps a stack instead of recursion. Every step goes deeper, as reference chains are resolved.
private struct JTDValidation {
    let nodes: [JTDNode]
    let limit: Int
    var mismatches: [JTDSchema.ErrorIndicator] = []
    private var budget = FaultBudget()
    private var frames: [Frame] = []

    init(nodes: [JTDNode], limit: Int) {
        self.nodes = nodes
        self.limit = limit
    }

    private struct Frame {
        enum Children {
            case elements([JSONValue], Int)
            case values(JSONObject, Int)
            /// With the schema's position. `tag` is never an additional member (RFC 8927, 3.3.8).
            case properties(JSONObject, JTDNode.Properties, Int, tag: String?)
        }

        let children: Children
        /// Children begun.
        var count = 0

        /// The current child's, in its path.
        var token: String {
            switch children {
            case .elements: String(count - 1)
            case .values(let object, _), .properties(let object, _, _, _): object.members[count - 1].name
            }
        }
    }

    private var isFull: Bool { mismatches.count >= limit || budget.isExhausted }

    mutating func run(_ value: JSONValue) {
        guard !isFull else { return }
        check(value, 0)
        while !isFull, let last = frames.indices.last {
            let index = frames[last].count
            frames[last].count += 1
            switch frames[last].children {
            case .elements(let elements, let node) where index < elements.count:
                check(elements[index], node)
            case .values(let object, let node) where index < object.count:
                check(object.members[index].value, node)
            case .properties(let object, let properties, let node, let tag) where index < object.count:
                let (name, value) = object.members[index]
                if let position = properties.names.position(of: name) {
                    check(value, properties.first + position)
                } else if !properties.allowsAdditional, tag.map({ !$0.hasSameBytes(as: name) }) ?? true {
                    let there = listed(
                        properties.names.list, none: "should be none", one: "may be only", many: "may be")
                    mismatch(node, [], .unknownMember, "the member \(quoted(name)) is not defined; there \(there)")
                }
            default: frames.removeLast()
            }
        }
    }

    private mutating func check(_ value: JSONValue, _ position: Int) {
        if nodes[position].isNullable, value.isNull { return }
        let position = nodes[position].target(from: position)
        switch (nodes[position].form, value) {
        case (.empty, _), (.boolean, .bool), (.number, .number), (.string, .string): break
        case (.integer(let range), .number(let number)):
            if let int = number.intValue, range.contains(int) { break }
            reject(value, position, "type")
        case (.timestamp, .string(let string)):
            if !Timestamp.isValid(string) { reject(value, position, "type") }
        case (.oneOf(let names), .string(let string)):
            if names.position(of: string) == nil { reject(value, position, "enum") }
        case (.elements(let node), .array(let elements)):
            enter(.elements(elements, node), elements.isEmpty || isEmpty(node))
        case (.values(let node), .object(let object)):
            enter(.values(object, node), object.isEmpty || isEmpty(node))
        case (.properties(let properties), .object(let object)):
            enter(object, properties, position, tag: nil)
        case (.discriminator(let discriminator), .object(let object)):
            check(object, discriminator, position)
        case (.boolean, _), (.number, _), (.integer, _), (.string, _), (.timestamp, _): reject(value, position, "type")
        case (.oneOf, _): reject(value, position, "enum")
        case (.elements, _): reject(value, position, "elements")
        case (.values, _): reject(value, position, "values")
        case (.properties(let properties), _):
            reject(value, position, properties.hasRequired ? "properties" : "optionalProperties")
        case (.discriminator, _): reject(value, position, "discriminator")
        // Only endless chains get here.
        case (.circle, _), (.reference, _):
            mismatch(
                position, ["ref"], .invalidValue,
                "no value can be right, since the definition refers to itself and never says what it accepts")
        }
    }

    /// RFC 8927, 3.3.8.
    private mutating func check(_ object: JSONObject, _ discriminator: JTDNode.Discriminator, _ position: Int) {
        let tag = discriminator.tag
        guard let value = object[tag] else {
            return mismatch(
                position, ["discriminator"], .missingMember,
                "the tag \(quoted(tag)) is missing; it \(choice(discriminator))")
        }
        let name = value.stringValue
        guard let mapped = name.flatMap({ discriminator.mapping.position(of: $0) }) else {
            let detail = "the tag is \(shown(value)), but \(choice(discriminator))"
            return mismatch(
                position, [name == nil ? "discriminator" : "mapping"], .rejecting(value, accepting: .string), detail,
                inside: tag)
        }
        guard case .properties(let properties) = nodes[discriminator.first + mapped].form else { return }
        enter(object, properties, discriminator.first + mapped, tag: tag)
    }

    // MARK: Going inside

    private func isEmpty(_ position: Int) -> Bool {
        if case .empty = nodes[nodes[position].target(from: position)].form { true } else { false }
    }

    private mutating func enter(_ children: Frame.Children, _ isNeedless: Bool) {
        if !isNeedless { frames.append(Frame(children: children)) }
    }

    /// RFC 8927, 3.3.6. Missing members first.
    private mutating func enter(
        _ object: JSONObject, _ properties: JTDNode.Properties, _ position: Int, tag: String?
    ) {
        for (index, name) in properties.names.list[..<properties.requiredCount].enumerated() where object[name] == nil {
            if isFull { return }
            mismatch(
                position, ["properties", name], .missingMember,
                "the member \(quoted(name)) is missing; it can be \(expected(properties.first + index))")
        }
        enter(.properties(object, properties, position, tag: tag), object.isEmpty)
    }

    // MARK: Mismatches

    private mutating func reject(_ value: JSONValue, _ position: Int, _ keyword: String) {
        let code: FaultCode =
            switch nodes[position].form {
            case .integer: .rejecting(value, accepting: .number)
            case .timestamp, .oneOf: .rejecting(value, accepting: .string)
            default: .wrongType
            }
        mismatch(position, [keyword], code, "must be \(expected(position)), not \(shown(value))")
    }

    private mutating func mismatch(
        _ position: Int, _ tokens: [String], _ code: FaultCode, _ detail: String, inside name: String? = nil
    ) {
        let path = JSONPointer(tokens: frames.map(\.token) + (name.map { [$0] } ?? []))
        guard budget.admit(path) else { return }
        mismatches.append(
            .init(
                instancePath: path, schemaPath: nodes.pointer(to: position).appending(JSONPointer(tokens: tokens)),
                code: code, detail: detail))
    }

    /// "a number or null".
    private func expected(_ position: Int) -> String {
        let node = nodes[position], noun: String
        switch nodes[node.target(from: position)].form {
        case .empty: return "any value"
        case .boolean: noun = "true or false"
        case .number: noun = "a number"
        case .integer(let range): noun = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .string: noun = "a string"
        case .timestamp: noun = "a timestamp such as \"1985-04-12T23:20:50.52Z\""
        case .oneOf(let names): noun = listed(names.list, none: "nothing", one: "", many: "one of")
        case .elements: noun = "an array"
        case .values, .properties: noun = "an object"
        case .discriminator(let discriminator): noun = "an object with the tag \(quoted(discriminator.tag))"
        case .circle, .reference: noun = "what no definition says"
        }
        return node.isNullable ? "\(noun) or null" : noun
    }

    private func choice(_ discriminator: JTDNode.Discriminator) -> String {
        listed(
            discriminator.mapping.list, none: "can have no value, since \"mapping\" has none", one: "must be",
            many: "must be one of")
    }
}
