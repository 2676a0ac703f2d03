import Testing

@testable import BraidEngine

/// Which documents are correct schemas (RFC 8927, section 2), and the faults of others.
@Suite struct SchemaCorrectnessTests {
    /// With the pointers of their faults, in order.
    static let wrong: [(json: String, pointers: [String])] = [
        // No objects.
        ("null", [""]), ("true", [""]), ("1", [""]), ("3.14", [""]), (#""foo""#, [""]), ("[]", [""]), ("[{}]", [""]),
        // Unknown or misspelled keywords (2.3).
        (#"{"foo": 123}"#, ["/foo"]), (#"{"Type": "string"}"#, ["/Type"]), (#"{"": {}}"#, ["/"]),
        (#"{"a/b": 1, "type": "string", "m~n": 2}"#, ["/a~1b", "/m~0n"]),
        (#"{"optionalproperties": {}}"#, ["/optionalproperties"]),
        (#"{"elements": {"items": {}}}"#, ["/elements/items"]),
        (#"{"tag": "t", "mapping": {}}"#, ["/tag", "/mapping"]),
        // Shared keywords.
        (#"{"nullable": 123}"#, ["/nullable"]), (#"{"nullable": "foo"}"#, ["/nullable"]),
        (#"{"nullable": null}"#, ["/nullable"]), (#"{"type": "string", "nullable": "true"}"#, ["/nullable"]),
        (#"{"metadata": 1}"#, ["/metadata"]), (#"{"metadata": []}"#, ["/metadata"]),
        (#"{"metadata": null}"#, ["/metadata"]), (#"{"values": {"metadata": ""}}"#, ["/values/metadata"]),
        // Definitions (2.1).
        (#"{"definitions": 123}"#, ["/definitions"]), (#"{"definitions": null}"#, ["/definitions"]),
        (#"{"definitions": []}"#, ["/definitions"]), (#"{"definitions": {"foo": 123}}"#, ["/definitions/foo"]),
        (#"{"definitions": {"foo": {"definitions": {}}}}"#, ["/definitions/foo/definitions"]),
        (#"{"elements": {"definitions": {"a": 1}}}"#, ["/elements/definitions"]),
        (
            #"{"definitions": {"a": {"type": "x"}, "b": {}, "c": {"ref": "d"}}}"#,
            ["/definitions/a/type", "/definitions/c/ref"]
        ),
        // Ref (2.2.2).
        (#"{"ref": 123}"#, ["/ref"]), (#"{"ref": null}"#, ["/ref"]), (#"{"ref": "foo"}"#, ["/ref"]),
        (#"{"definitions": {}, "ref": "foo"}"#, ["/ref"]), (#"{"definitions": {"foo": {}}, "ref": "bar"}"#, ["/ref"]),
        (#"{"definitions": {}, "elements": {"ref": "foo"}}"#, ["/elements/ref"]),
        (##"{"definitions": {"a": {"ref": "#/definitions/a"}}}"##, ["/definitions/a/ref"]),
        (#"{"definitions": {"\u00e9": {}}, "ref": "e\u0301"}"#, ["/ref"]),
        (#"{"definitions": 1, "ref": "a"}"#, ["/definitions", "/ref"]),
        // Type (2.2.3).
        (#"{"type": 123}"#, ["/type"]), (#"{"type": true}"#, ["/type"]), (#"{"type": "foo"}"#, ["/type"]),
        (#"{"type": "int64"}"#, ["/type"]), (#"{"type": "String"}"#, ["/type"]), (#"{"type": ["string"]}"#, ["/type"]),
        (#"{"type": null}"#, ["/type"]), (#"{"type": ""}"#, ["/type"]), (#"{"type": "number"}"#, ["/type"]),
        // Enum (2.2.4).
        (#"{"enum": 123}"#, ["/enum"]), (#"{"enum": []}"#, ["/enum"]), (#"{"enum": {}}"#, ["/enum"]),
        (#"{"enum": null}"#, ["/enum"]), (#"{"enum": ["foo", 123, "baz", null]}"#, ["/enum/1", "/enum/3"]),
        (#"{"enum": ["foo", "bar", "foo", "foo"]}"#, ["/enum/2", "/enum/3"]),
        (#"{"enum": ["a\\b", "a\u005Cb"]}"#, ["/enum/1"]),
        // Elements and values (2.2.5, 2.2.7).
        (#"{"elements": 123}"#, ["/elements"]), (#"{"elements": true}"#, ["/elements"]),
        (#"{"elements": null}"#, ["/elements"]), (#"{"elements": [{}]}"#, ["/elements"]),
        (#"{"elements": {"type": "foo"}}"#, ["/elements/type"]),
        (#"{"elements": {"definitions": {}}}"#, ["/elements/definitions"]),
        (#"{"values": 123}"#, ["/values"]), (#"{"values": true}"#, ["/values"]),
        (#"{"values": {"type": "foo"}}"#, ["/values/type"]),
        (#"{"values": {"definitions": {}}}"#, ["/values/definitions"]),
        // Properties (2.2.6).
        (#"{"properties": 123}"#, ["/properties"]), (#"{"properties": null}"#, ["/properties"]),
        (#"{"properties": ["a"]}"#, ["/properties"]), (#"{"properties": {"foo": 1}}"#, ["/properties/foo"]),
        (#"{"properties": {"foo": {"definitions": {}}}}"#, ["/properties/foo/definitions"]),
        (#"{"optionalProperties": 123}"#, ["/optionalProperties"]),
        (#"{"optionalProperties": {"foo": {"definitions": {}}}}"#, ["/optionalProperties/foo/definitions"]),
        (#"{"properties": {}, "optionalProperties": null}"#, ["/optionalProperties"]),
        (#"{"properties": {}, "additionalProperties": 123}"#, ["/additionalProperties"]),
        (#"{"properties": {}, "additionalProperties": null}"#, ["/additionalProperties"]),
        (#"{"properties": {}, "additionalProperties": {}}"#, ["/additionalProperties"]),
        (#"{"additionalProperties": true}"#, ["/additionalProperties"]),
        (
            #"{"properties": {"confusing": {}}, "optionalProperties": {"confusing": {}}}"#,
            ["/optionalProperties/confusing"]
        ),
        (
            #"{"properties": {"a": {}, "b": {}}, "optionalProperties": {"c": {}, "b": {}, "a": {}}}"#,
            ["/optionalProperties/b", "/optionalProperties/a"]
        ),
        // Discriminator (2.2.8).
        (#"{"discriminator": 123, "mapping": {}}"#, ["/discriminator"]),
        (#"{"discriminator": null, "mapping": {}}"#, ["/discriminator"]),
        (#"{"discriminator": "foo"}"#, ["/discriminator"]), (#"{"mapping": {}}"#, ["/mapping"]),
        (#"{"discriminator": "foo", "mapping": 123}"#, ["/mapping"]),
        (#"{"discriminator": "foo", "mapping": []}"#, ["/mapping"]),
        (#"{"discriminator": "foo", "mapping": {"x": 1}}"#, ["/mapping/x"]),
        (#"{"discriminator": "foo", "mapping": {"x": {}}}"#, ["/mapping/x"]),
        (#"{"discriminator": "foo", "mapping": {"x": {"additionalProperties": true}}}"#, ["/mapping/x"]),
        (
            #"{"discriminator": "foo", "mapping": {"x": {"type": "string"}, "y": {"elements": {}}}}"#,
            ["/mapping/x", "/mapping/y"]
        ),
        (
            #"{"definitions": {"p": {"properties": {}}}, "discriminator": "foo", "mapping": {"x": {"ref": "p"}}}"#,
            ["/mapping/x"]
        ),
        (#"{"discriminator": "foo", "mapping": {"x": {"discriminator": "bar", "mapping": {}}}}"#, ["/mapping/x"]),
        (
            #"{"discriminator": "foo", "mapping": {"x": {"properties": {}, "definitions": {}}}}"#,
            ["/mapping/x/definitions"]
        ),
        (#"{"discriminator": "foo", "mapping": {"x": {"nullable": true, "properties": {}}}}"#, ["/mapping/x/nullable"]),
        (#"{"discriminator": "foo", "mapping": {"x": {"properties": {"foo": {}}}}}"#, ["/mapping/x/properties/foo"]),
        (
            #"{"discriminator": "foo", "mapping": {"x": {"optionalProperties": {"foo": {}}}}}"#,
            ["/mapping/x/optionalProperties/foo"]
        ),
        // Mixed forms (2.2).
        (#"{"definitions": {"foo": {}}, "ref": "foo", "type": "uint32"}"#, [""]),
        (#"{"type": "uint32", "enum": ["foo"]}"#, [""]), (#"{"enum": ["foo"], "elements": {}}"#, [""]),
        (#"{"elements": {}, "properties": {}}"#, [""]), (#"{"elements": {}, "optionalProperties": {}}"#, [""]),
        (#"{"elements": {}, "additionalProperties": true}"#, [""]), (#"{"properties": {}, "values": {}}"#, [""]),
        (#"{"values": {}, "discriminator": "foo", "mapping": {}}"#, [""]), (#"{"values": {}, "mapping": {}}"#, [""]),
        (#"{"type": "string", "discriminator": "foo"}"#, [""]),
        (#"{"elements": {"type": "string", "values": {}}}"#, ["/elements"]),
        (#"{"discriminator": "t", "mapping": {"x": {"properties": {}, "type": "string"}}}"#, ["/mapping/x"]),
        // Several faults, all reported.
        (#"{"type": 1, "enum": [], "foo": 1}"#, ["/foo", "", "/type", "/enum"]),
        (#"{"nullable": 1, "metadata": 2, "ref": 3}"#, ["/metadata", "/nullable", "/ref"]),
        (
            #"{"definitions": {"d": {"type": "x"}}, "properties": {"a": {"elements": 1}, "b": {"values": {"enum": [1]}}}, "optionalProperties": {"c": null}}"#,
            ["/definitions/d/type", "/properties/a/elements", "/properties/b/values/enum/0", "/optionalProperties/c"]
        ),
        (
            #"{"discriminator": 1, "mapping": {"x": {"nullable": true, "elements": {"type": 1}}}}"#,
            ["/discriminator", "/mapping/x", "/mapping/x/nullable", "/mapping/x/elements/type"]
        ),
    ]

    @Test("Every fault of an incorrect schema is reported", arguments: wrong)
    func faults(json: String, pointers: [String]) throws {
        let (schema, faults) = try JTDSchema.compile(JSONValue(parsing: json))
        #expect(schema == nil)
        #expect(faults.map { "\($0.pointer)" } == pointers)
        #expect(faults.allSatisfy { !$0.message.isEmpty })
    }

    @Test("The list of incorrect schemas contains at least 100 cases")
    func thereAreManyWrongOnes() { #expect(Self.wrong.count >= 100) }

    @Test(
        "A correct schema has no faults",
        arguments: [
            "{}", #"{"nullable": true}"#, #"{"nullable": true, "metadata": {"foo": "bar"}}"#, #"{"nullable": false}"#,
            #"{"metadata": {}}"#, #"{"definitions": {}}"#,
            #"{"definitions": {"coordinates": {"properties": {"lat": {"type": "float32"}, "lng": {"type": "float32"}}}}, "properties": {"user_location": {"ref": "coordinates"}, "server_location": {"ref": "coordinates"}}}"#,
            #"{"definitions": {"": {}}, "ref": ""}"#, #"{"definitions": {"a": {"ref": "b"}, "b": {"ref": "a"}}}"#,
            #"{"definitions": {"a": {"ref": "a"}}, "ref": "a"}"#,
            #"{"type": "boolean"}"#, #"{"type": "float32"}"#, #"{"type": "float64"}"#, #"{"type": "int8"}"#,
            #"{"type": "uint8"}"#, #"{"type": "int16"}"#, #"{"type": "uint16"}"#,
            #"{"type": "int32"}"#, #"{"type": "uint32"}"#, #"{"type": "string"}"#, #"{"type": "timestamp"}"#,
            #"{"ty\u0070e": "string"}"#,
            #"{"enum": ["PENDING", "IN_PROGRESS", "DONE"]}"#, #"{"enum": [""]}"#, #"{"enum": ["\u00e9", "e\u0301"]}"#,
            #"{"enum": ["a", "A"]}"#,
            #"{"elements": {"type": "uint8"}}"#, #"{"values": {"type": "uint8"}}"#, #"{"properties": {}}"#,
            #"{"optionalProperties": {}}"#,
            #"{"properties": {}, "optionalProperties": {}, "additionalProperties": false}"#,
            #"{"properties": {"properties": {}, "type": {"type": "string"}, "definitions": {}, "x": {"metadata": {"nullable": 1}}}}"#,
            #"{"properties": {"a": {}}, "optionalProperties": {"A": {}}}"#,
            #"{"discriminator": "t", "mapping": {}}"#, #"{"discriminator": "", "mapping": {"": {"properties": {}}}}"#,
            #"{"discriminator": "t", "mapping": {"x": {"nullable": false, "optionalProperties": {}, "additionalProperties": true}}, "nullable": true}"#,
            #"{"discriminator": "t", "mapping": {"x": {"properties": {"y": {"properties": {"t": {}}, "nullable": true}}}}}"#,
            SchemaFormTests.events,
        ])
    func aCorrectSchemaHasNoFault(json: String) throws {
        let (schema, faults) = try JTDSchema.compile(JSONValue(parsing: json))
        #expect(schema != nil)
        #expect(faults == [])
    }

    private static let jsonSchema =
        #"this is JSON Schema, but a schema here is a JSON Type Definition (RFC 8927): write {"properties": {required members}, "optionalProperties": {the other members}}, each member with its schema"#

    @Test(
        "The message about an incorrect schema says what would be correct",
        arguments: [
            ("[]", "a schema must be an object, not an array"),
            (#"{"foo": 1}"#, #""foo" is no keyword of a schema; what validation should not see belongs in "metadata""#),
            (
                #"{"elements": {"definitions": {}}}"#,
                #""definitions" may be in the root schema only"#
            ),
            (#"{"definitions": 1}"#, "must be an object with a schema for each name, not 1"),
            (#"{"nullable": "foo"}"#, #"must be true or false, not "foo""#),
            (#"{"metadata": []}"#, "must be an object, not an array"),
            (#"{"ref": "a"}"#, #""a" names no definition; there are no definitions"#),
            (
                #"{"definitions": {"b": {}}, "ref": "a"}"#,
                #""a" names no definition; there is only "b""#
            ),
            (
                #"{"definitions": {"b": {}, "c": {}}, "ref": "a"}"#,
                #""a" names no definition; there are "b", "c""#
            ),
            (#"{"ref": 1}"#, "must be a string, not 1"),
            (
                #"{"type": "int64"}"#,
                #""int64" is no type; the types are "boolean", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "string", "timestamp""#
            ),
            (#"{"enum": []}"#, "must be an array of one or more strings, not an empty array"),
            (#"{"enum": "a"}"#, #"must be an array of one or more strings, not "a""#),
            (#"{"enum": ["a", "a"]}"#, #"the "enum" has "a" twice"#),
            (
                #"{"additionalProperties": true}"#,
                #""additionalProperties" needs "properties" or "optionalProperties" beside it"#
            ),
            (
                #"{"properties": {"a": {}}, "optionalProperties": {"a": {}}}"#,
                #""a" is in "properties" too, but a member is either required or optional"#
            ),
            (#"{"discriminator": "a"}"#, #""discriminator" needs "mapping" beside it"#),
            (#"{"mapping": {}}"#, #""mapping" needs "discriminator" beside it"#),
            (
                #"{"discriminator": "t", "mapping": {"x": {}}}"#,
                #"a schema in "mapping" must have "properties" or "optionalProperties", and this has neither"#
            ),
            (
                #"{"discriminator": "t", "mapping": {"x": {"properties": {}, "nullable": true}}}"#,
                #"a schema in "mapping" must not be nullable; the schema with the "discriminator" may be"#
            ),
            (
                #"{"discriminator": "t", "mapping": {"x": {"properties": {"t": {}}}}}"#,
                #""t" is the discriminator's tag, which a schema in "mapping" must not define again"#
            ),
            (
                #"{"type": "string", "enum": ["a"]}"#,
                #""type", "enum" exclude each other: a schema has the keywords of one form only"#
            ),
            (#"{"type": "number"}"#, #""number" is no type; write {"type": "float64"}"#),
            (#"{"type": "object", "properties": {"a": {"type": "string"}}}"#, jsonSchema),
            (#"{"properties": {"a": {}}, "required": ["a"]}"#, jsonSchema), (#"{"$schema": "x"}"#, jsonSchema),
        ])
    func theMessageSaysWhatWouldBeRight(json: String, message: String) throws {
        #expect(try JTDSchema.compile(JSONValue(parsing: json)).faults.map(\.message) == [message])
    }
}
