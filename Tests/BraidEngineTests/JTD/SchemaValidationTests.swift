import Testing

@testable import BraidEngine

/// Order, limits, messages and depth, for all forms.
@Suite struct SchemaValidationTests {
    @Test("Mismatches with a schema are in the value's order, with missing members first")
    func orderOfMismatches() throws {
        let schema = try JTDSchema.make(
            #"{"properties": {"a": {}, "b": {"type": "string"}, "c": {"elements": {"type": "string"}}}, "optionalProperties": {"d": {"enum": ["x"]}}}"#
        )
        let mismatches = schema.errorIndicators(of: ["d": 1, "c": [1, "", 2], "e": 3, "b": 4])
        #expect(
            mismatches.map(\.indicator) == [
                " /properties/a", "/d /optionalProperties/d/enum", "/c/0 /properties/c/elements/type",
                "/c/2 /properties/c/elements/type", "/e ", "/b /properties/b/type",
            ])
    }

    @Test("Validation returns at most `limit` mismatches", arguments: [(-1, 0), (0, 0), (1, 1), (3, 3), (99, 40)])
    func limit(limit: Int, count: Int) throws {
        let elements = try JTDSchema.make(#"{"elements": {"type": "string"}}"#)
        #expect(elements.errorIndicators(of: .array(Array(repeating: 1, count: 40)), limit: limit).count == count)
        let names = (0..<40).map { "\"m\($0)\": {}" }.joined(separator: ", ")
        #expect(
            try JTDSchema.make("{\"properties\": {\(names)}}").errorIndicators(of: [:], limit: limit).count == count)
    }

    @Test("By default, validation returns at most 32 mismatches")
    func defaultLimit() throws {
        #expect(
            try JTDSchema.make(#"{"elements": {"type": "string"}}"#).errorIndicators(
                of: .array(Array(repeating: 1, count: 40))
            ).count == 32)
    }

    @Test(
        "The pointers of all mismatches after the first have at most 64 KiB",
        arguments: [(1_000, 32), (10_000, 7), (100_000, 1)])
    func longPointersAreNotRepeated(length: Int, count: Int) throws {
        let schema = try JTDSchema.make(#"{"values": {"elements": {"type": "string"}}}"#)
        let name = String(repeating: "n", count: length)
        let value = JSONValue.object(JSONObject([(name, .array(Array(repeating: 1, count: 40)))]))
        let mismatches = schema.errorIndicators(of: value)
        #expect(mismatches.map(\.instancePath) == (0..<count).map { JSONPointer(tokens: [name, String($0)]) })
    }

    @Test("Missing members of an object with a long name are not reported again and again")
    func longNamesOfMissingMembers() throws {
        let names = (0..<40).map { "\"m\($0)\": {}" }.joined(separator: ", ")
        let schema = try JTDSchema.make("{\"values\": {\"properties\": {\(names)}}}")
        let value = JSONValue.object(JSONObject([(String(repeating: "n", count: 30_000), [:]), ("a", [:])]))
        #expect(schema.errorIndicators(of: value).count == 3)
    }

    @Test("The pointers of all faults of a schema after the first have at most 64 KiB")
    func longSchemaPointers() throws {
        let name = String(repeating: "n", count: 10_000)
        let numbers = Array(repeating: "1", count: 40).joined(separator: ",")
        let faults = try JTDSchema.compile(
            JSONValue(parsing: "{\"properties\": {\"\(name)\": {\"enum\": [\(numbers)]}}}")
        ).faults
        let pointers = (0..<7).map { JSONPointer(tokens: ["properties", name, "enum", String($0)]) }
        #expect(faults.map(\.pointer) == pointers)
    }

    static let details = [
        (#"{"type": "uint8"}"#, "256", "must be a whole number from 0 to 255, not 256"),
        (#"{"type": "string", "nullable": true}"#, "[]", "must be a string or null, not an array"),
        (
            #"{"type": "timestamp"}"#, #""a\"b""#,
            #"must be a timestamp such as "1985-04-12T23:20:50.52Z", not "a\"b""#
        ),
        (#"{"type": "boolean"}"#, "null", "must be true or false, not null"),
        (#"{"type": "float64"}"#, "true", "must be a number, not true"),
        (#"{"enum": ["a"]}"#, #""b""#, #"must be "a", not "b""#),
        (#"{"enum": ["a", "b"]}"#, "{}", #"must be one of "a", "b", not an object"#),
        (
            #"{"enum": ["0","1","2","3","4","5","6","7","8","9"]}"#, "0",
            #"must be one of "0", "1", "2", "3", "4", "5", "6", "7" and 2 more, not 0"#
        ),
        (#"{"elements": {}}"#, "1", "must be an array, not 1"),
        (#"{"values": {}}"#, "1", "must be an object, not 1"),
        (
            #"{"properties": {"a": {"type": "int8"}}}"#, "{}",
            #"the member "a" is missing; it can be a whole number from -128 to 127"#
        ),
        (#"{"properties": {"a": {}}}"#, "{}", #"the member "a" is missing; it can be any value"#),
        (
            #"{"definitions": {"d": {"elements": {}}}, "properties": {"a": {"ref": "d", "nullable": true}}}"#, "{}",
            #"the member "a" is missing; it can be an array or null"#
        ),
        (#"{"properties": {}}"#, #"{"a": 1}"#, #"the member "a" is not defined; there should be none"#),
        (#"{"optionalProperties": {"b": {}}}"#, #"{"a": 1}"#, #"the member "a" is not defined; there may be only "b""#),
        (
            #"{"optionalProperties": {"b": {}, "c": {}}}"#, #"{"a": 1}"#,
            #"the member "a" is not defined; there may be "b", "c""#
        ),
        (
            #"{"discriminator": "t", "mapping": {"a": {"properties": {}}}}"#, "1",
            #"must be an object with the tag "t", not 1"#
        ),
        (
            #"{"discriminator": "t", "mapping": {"a": {"properties": {}}}}"#, "{}",
            #"the tag "t" is missing; it must be "a""#
        ),
        (
            #"{"discriminator": "t", "mapping": {"a": {"properties": {}}, "b": {"properties": {}}}}"#, #"{"t": 1}"#,
            #"the tag is 1, but must be one of "a", "b""#
        ),
        (
            #"{"discriminator": "t", "mapping": {"a": {"properties": {}}}}"#, #"{"t": "x"}"#,
            #"the tag is "x", but must be "a""#
        ),
        (
            #"{"discriminator": "t", "mapping": {}}"#, "{}",
            #"the tag "t" is missing; it can have no value, since "mapping" has none"#
        ),
        (
            #"{"type": "int8"}"#, "\"" + String(repeating: "é", count: 100) + "\"",
            "must be a whole number from -128 to 127, not \"" + String(repeating: "é", count: 60) + "…\""
        ),
    ]

    @Test("The `detail` of a mismatch says what the value is and what was expected", arguments: details)
    func detail(schema: String, value: String, detail: String) throws {
        #expect(try JTDSchema.make(schema).errorIndicators(of: JSONValue(parsing: value)).map(\.detail) == [detail])
    }

    // MARK: Recursion

    @Test("A definition may refer to itself, as for a tree whose children are trees")
    func recursion() throws {
        let tree = try JTDSchema.make(
            #"{"definitions": {"tree": {"properties": {"label": {"type": "string"}}, "optionalProperties": {"children": {"elements": {"ref": "tree"}}}}}, "ref": "tree"}"#
        )
        #expect(try tree.accepts(#"{"label": "a", "children": [{"label": "b"}, {"label": "c", "children": []}]}"#))
        #expect(
            try tree.indicators(#"{"label": "a", "children": [{"label": "b", "children": [{}, 1]}]}"#) == [
                "/children/0/children/0 /definitions/tree/properties/label",
                "/children/0/children/1 /definitions/tree/properties",
            ])
    }

    @Test(
        "Definitions that only refer to each other accept no value",
        arguments: [
            (#"{"definitions": {"a": {"ref": "a"}}, "ref": "a"}"#, " /ref"),
            (#"{"definitions": {"a": {"ref": "b"}, "b": {"ref": "c"}, "c": {"ref": "a"}}, "ref": "b"}"#, " /ref"),
            (#"{"definitions": {"x": {"ref": "a"}, "a": {"ref": "b"}, "b": {"ref": "a"}}, "ref": "x"}"#, " /ref"),
        ])
    func circularReferences(schema: String, indicator: String) throws {
        let schema = try JTDSchema.make(schema)
        for value in ["1", "null", "{}", "[[]]"] { #expect(try schema.indicators(value) == [indicator]) }
        #expect(
            schema.errorIndicators(of: 1)[0].detail
                == "no value can be right, since the definition refers to itself and never says what it accepts")
    }

    @Test("A cycle of references between definitions affects only schemas that refer to it")
    func harmOfCircles() throws {
        let schema = try JTDSchema.make(
            #"{"definitions": {"a": {"ref": "a"}, "b": {"ref": "c"}, "c": {"ref": "b", "nullable": true}}, "properties": {"x": {"type": "string"}}, "optionalProperties": {"a": {"ref": "a"}, "b": {"ref": "b"}}}"#
        )
        #expect(try schema.accepts(#"{"x": ""}"#))
        #expect(try schema.accepts(#"{"x": "", "b": null}"#))
        #expect(
            try schema.indicators(#"{"x": "", "a": null, "b": 1}"#) == [
                "/a /optionalProperties/a/ref", "/b /optionalProperties/b/ref",
            ])
    }

    @Test("A long chain of references in a schema is resolved once, and not for each value")
    func longReferenceChains() throws {
        let count = 20_000
        var definitions = (0..<count).map { ("d\($0)", ["ref": .string("d\($0 + 1)")] as JSONValue) }
        definitions.append(("d\(count)", ["type": "string"]))
        let root: JSONValue = ["definitions": .object(JSONObject(definitions)), "elements": ["ref": "d0"]]
        let schema = try #require(JTDSchema.compile(root).schema)
        #expect(schema.errorIndicators(of: .array(Array(repeating: "", count: count))) == [])
        #expect(schema.errorIndicators(of: [1]).map(\.indicator) == ["/0 /definitions/d\(count)/type"])
    }

    @Test("Validating a deeply nested value does not overflow the stack")
    func depthCostsNoStack() throws {
        let depth = 2_000
        var value: JSONValue = 1, json: JSONValue = ["type": "string"]
        for _ in 0..<depth { (value, json) = ([value], ["elements": json]) }
        let schema = try #require(JTDSchema.compile(json).schema)
        let mismatches = schema.errorIndicators(of: value)
        #expect(mismatches.map(\.instancePath.tokens.count) == [depth])
        #expect(mismatches.map(\.schemaPath.tokens.count) == [depth + 1])
        let recursive = try JTDSchema.make(#"{"definitions": {"list": {"elements": {"ref": "list"}}}, "ref": "list"}"#)
        #expect(recursive.errorIndicators(of: value).map(\.instancePath.tokens.count) == [depth])
    }

    @Test("Validation looks up the names of a large schema by hash, not one by one")
    func manyNames() throws {
        let names = (0..<50_000).map { "name \($0)" }
        let json: JSONValue = [
            "properties": .object(JSONObject(names.map { ($0, ["type": "string"] as JSONValue) })),
            "optionalProperties": ["kind": ["enum": .array(names.map { .string($0) })]],
        ]
        let schema = try #require(JTDSchema.compile(json).schema)
        var object = JSONObject(names.reversed().map { ($0, "" as JSONValue) })
        object["kind"] = .string(names.last!)
        #expect(schema.errorIndicators(of: .object(object)) == [])
    }
}
