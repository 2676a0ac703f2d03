import Testing

@testable import BraidEngine

/// What each form accepts, and the error indicators for other values (RFC 8927, section 3.3): path in the value, path
/// in the schema. `" /type"` says that `type` rejected the whole value.
@Suite struct SchemaFormTests {
    @Test(
        "Schemas for scalars and lists have the expected error indicators",
        arguments: empty + reference + type + oneOf + elements
    )
    func scalarsAndLists(example: SchemaCase) throws { try check(example) }

    @Test(
        "Schemas for objects have the expected error indicators",
        arguments: properties + values + discriminator + nested)
    func objectFormsGiveTheirIndicators(example: SchemaCase) throws { try check(example) }

    private func check(_ example: SchemaCase) throws {
        let actual = try JTDSchema.make(example.schema).indicators(example.value)
        #expect(actual.hasSameBytes(as: example.indicators.inByteOrder), "\(actual)")
    }

    // MARK: Empty (3.3.1)

    static let empty = [
        SchemaCase("{}", "null"), SchemaCase("{}", "[1, {\"a\": null}]"), SchemaCase(#"{"nullable": false}"#, "null"),
        SchemaCase(#"{"nullable": true, "metadata": {"type": "string", "x": [1]}}"#, "7"),
        SchemaCase(#"{"definitions": {"a": {"type": "string"}}}"#, "7"),
    ]

    // MARK: Ref (3.3.2)

    static let reference = [
        SchemaCase(#"{"definitions": {"a": {"type": "float32"}}, "ref": "a"}"#, "123"),
        SchemaCase(#"{"definitions": {"a": {"type": "float32"}}, "ref": "a"}"#, "null", " /definitions/a/type"),
        SchemaCase(#"{"definitions": {"a": {"type": "float32"}}, "ref": "a", "nullable": true}"#, "null"),
        SchemaCase(
            #"{"definitions": {"a": {"type": "float32"}}, "ref": "a", "nullable": true}"#, "\"x\"",
            " /definitions/a/type"),
        SchemaCase(
            #"{"definitions": {"a": {"nullable": false, "type": "float32"}}, "ref": "a", "nullable": true}"#, "null"),
        SchemaCase(
            #"{"definitions": {"a": {"nullable": true, "type": "float32"}}, "ref": "a", "nullable": false}"#, "null"),
        // Definitions that refer to others, in any order.
        SchemaCase(
            #"{"definitions": {"a": {"ref": "b"}, "b": {"ref": "c"}, "c": {"type": "string"}}, "ref": "a"}"#, "1",
            " /definitions/c/type"),
        SchemaCase(
            #"{"definitions": {"c": {"type": "string"}, "b": {"ref": "c", "nullable": true}, "a": {"ref": "b"}}, "ref": "a"}"#,
            "null"),
        SchemaCase(
            #"{"definitions": {"c": {"type": "string"}, "b": {"ref": "c", "nullable": true}, "a": {"ref": "b"}}, "elements": {"ref": "c"}}"#,
            "[null]", "/0 /definitions/c/type"),
        SchemaCase(
            #"{"definitions": {"a/b~c": {"type": "string"}}, "elements": {"ref": "a/b~c"}}"#, "[1]",
            "/0 /definitions/a~1b~0c/type"),
        SchemaCase(
            #"{"definitions": {"a": {"properties": {"x": {"type": "string"}}}}, "values": {"ref": "a"}}"#,
            #"{"k": {}, "l": 1}"#,
            "/k /definitions/a/properties/x", "/l /definitions/a/properties"),
    ]

    // MARK: Type (3.3.3)

    static let type = [
        SchemaCase(#"{"type": "boolean"}"#, "false"), SchemaCase(#"{"type": "boolean"}"#, "true"),
        SchemaCase(#"{"type": "boolean"}"#, "127", " /type"), SchemaCase(#"{"type": "boolean"}"#, "null", " /type"),
        SchemaCase(#"{"type": "boolean"}"#, "\"true\"", " /type"),
        SchemaCase(#"{"type": "boolean", "nullable": true}"#, "null"),
        SchemaCase(#"{"type": "boolean", "nullable": true}"#, "false"),
        SchemaCase(#"{"type": "boolean", "nullable": true}"#, "127", " /type"),
        SchemaCase(#"{"type": "float32"}"#, "10.5"), SchemaCase(#"{"type": "float32"}"#, "127"),
        SchemaCase(#"{"type": "float32"}"#, "1e999"),
        SchemaCase(#"{"type": "float32"}"#, "false", " /type"), SchemaCase(#"{"type": "float64"}"#, "-0.5"),
        SchemaCase(#"{"type": "float64"}"#, "\"1\"", " /type"), SchemaCase(#"{"type": "float64"}"#, "{}", " /type"),
        SchemaCase(#"{"type": "int8"}"#, "10"), SchemaCase(#"{"type": "int8"}"#, "10.0"),
        SchemaCase(#"{"type": "int8"}"#, "1.0e1"),
        SchemaCase(#"{"type": "int8"}"#, "10.5", " /type"), SchemaCase(#"{"type": "int8"}"#, "false", " /type"),
        SchemaCase(#"{"type": "int8"}"#, "\"10\"", " /type"), SchemaCase(#"{"type": "uint32"}"#, "[1]", " /type"),
        SchemaCase(#"{"type": "string"}"#, "\"1985-04-12T23:20:50.52Z\""), SchemaCase(#"{"type": "string"}"#, "\"\""),
        SchemaCase(#"{"type": "string"}"#, "false", " /type"), SchemaCase(#"{"type": "string"}"#, "[]", " /type"),
        SchemaCase(#"{"type": "timestamp"}"#, "\"1985-04-12T23:20:50.52Z\""),
        SchemaCase(#"{"type": "timestamp"}"#, "\"foo\"", " /type"),
        SchemaCase(#"{"type": "timestamp"}"#, "false", " /type"),
        SchemaCase(#"{"type": "timestamp", "nullable": true}"#, "null"),
    ]

    // MARK: Enum (3.3.4)

    static let oneOf = [
        SchemaCase(#"{"enum": ["PENDING", "DONE", "CANCELED"]}"#, "\"PENDING\""),
        SchemaCase(#"{"enum": ["PENDING", "DONE", "CANCELED"]}"#, "\"CANCELED\""),
        SchemaCase(#"{"enum": ["PENDING", "DONE", "CANCELED"]}"#, "0", " /enum"),
        SchemaCase(#"{"enum": ["PENDING", "DONE", "CANCELED"]}"#, "\"UNKNOWN\"", " /enum"),
        SchemaCase(#"{"enum": ["PENDING", "DONE", "CANCELED"]}"#, "null", " /enum"),
        SchemaCase(#"{"enum": ["PENDING"], "nullable": true}"#, "null"),
        SchemaCase(#"{"enum": ["PENDING"], "nullable": true}"#, "1", " /enum"),
        SchemaCase(#"{"enum": ["PENDING"], "nullable": true}"#, "\"UNKNOWN\"", " /enum"),
        SchemaCase(#"{"enum": ["a\\b"]}"#, #""a\u005Cb""#),
        // é, composed and decomposed: equal in Unicode, not in JSON (RFC 8259, section 8.3).
        SchemaCase(#"{"enum": ["\u00e9"]}"#, #""e\u0301""#, " /enum"),
        SchemaCase(#"{"enum": ["\u00e9", "e\u0301"]}"#, #""e\u0301""#),
        SchemaCase(#"{"enum": [""]}"#, "\"\""), SchemaCase(#"{"enum": ["a"]}"#, "[\"a\"]", " /enum"),
    ]

    // MARK: Elements (3.3.5)

    static let elements = [
        SchemaCase(#"{"elements": {"type": "float32"}}"#, "[]"),
        SchemaCase(#"{"elements": {"type": "float32"}}"#, "[1, 2, 3]"),
        SchemaCase(#"{"elements": {"type": "float32"}}"#, "null", " /elements"),
        SchemaCase(#"{"elements": {"type": "float32"}}"#, "{}", " /elements"),
        SchemaCase(
            #"{"elements": {"type": "float32"}}"#, #"[1, 2, "foo", 3, "bar"]"#, "/2 /elements/type", "/4 /elements/type"
        ),
        SchemaCase(#"{"elements": {"type": "float32"}, "nullable": true}"#, "null"),
        SchemaCase(#"{"elements": {"type": "float32"}, "nullable": true}"#, #"["foo"]"#, "/0 /elements/type"),
        SchemaCase(#"{"elements": {"type": "float32"}, "nullable": true}"#, "[null]", "/0 /elements/type"),
        SchemaCase(#"{"elements": {}}"#, "[null, 1, {}]"), SchemaCase(#"{"elements": {}}"#, "\"x\"", " /elements"),
        SchemaCase(
            #"{"elements": {"elements": {"type": "string"}}}"#, #"[[], ["a", 1], 2]"#, "/1/1 /elements/elements/type",
            "/2 /elements/elements"),
    ]

    // MARK: Properties (3.3.6)

    static let fourMembers =
        #""properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "optionalProperties": {"c": {"type": "string"}, "d": {"type": "string"}}"#

    static let properties = [
        SchemaCase("{\(fourMembers)}", #"{"a": "foo", "b": "bar"}"#),
        SchemaCase("{\(fourMembers)}", #"{"a": "foo", "b": "bar", "c": "baz", "d": "quux"}"#),
        SchemaCase("{\(fourMembers)}", #"{"d": "quux", "b": "bar", "a": "foo"}"#),
        SchemaCase("{\(fourMembers)}", "null", " /properties"),
        SchemaCase(
            "{\(fourMembers)}", #"{"b": 3, "c": 3, "e": 3}"#, " /properties/a", "/b /properties/b/type",
            "/c /optionalProperties/c/type", "/e "),
        SchemaCase(
            "{\(fourMembers), \"additionalProperties\": true}", #"{"b": 3, "c": 3, "e": 3}"#,
            " /properties/a", "/b /properties/b/type", "/c /optionalProperties/c/type"),
        SchemaCase("{\(fourMembers), \"additionalProperties\": false}", #"{"a": "", "b": "", "e": 3}"#, "/e "),
        SchemaCase("{\"nullable\": true, \(fourMembers), \"additionalProperties\": true}", "null"),
        SchemaCase(
            "{\"nullable\": true, \(fourMembers), \"additionalProperties\": true}", #"{"b": 3, "c": 3, "e": 3}"#,
            " /properties/a", "/b /properties/b/type", "/c /optionalProperties/c/type"),
        SchemaCase(#"{"properties": {}}"#, "{}"),
        SchemaCase(#"{"properties": {}}"#, #"{"a": 1, "b": 2}"#, "/a ", "/b "),
        SchemaCase(#"{"properties": {}}"#, "[]", " /properties"),
        SchemaCase(#"{"properties": {}, "optionalProperties": {}}"#, "1", " /properties"),
        SchemaCase(#"{"optionalProperties": {}}"#, "1", " /optionalProperties"),
        SchemaCase(#"{"optionalProperties": {"a": {}}}"#, "{}"),
        SchemaCase(
            #"{"optionalProperties": {"a": {"type": "string"}}}"#, #"{"a": null}"#, "/a /optionalProperties/a/type"),
        SchemaCase(#"{"properties": {"a": {"nullable": true, "type": "string"}}}"#, #"{"a": null}"#),
        SchemaCase(#"{"properties": {"a": {"nullable": true, "type": "string"}}}"#, "{}", " /properties/a"),
        SchemaCase(
            #"{"properties": {"a/b": {"type": "string"}, "m~n": {}}}"#, #"{"a/b": 1}"#, "/a~1b /properties/a~1b/type",
            " /properties/m~0n"),
        SchemaCase(#"{"properties": {"\u00e9": {}}}"#, #"{"e\u0301": 1}"#, " /properties/\u{E9}", "/e\u{301} "),
        // `additionalProperties` is not inherited (RFC 8927, section 3.1).
        SchemaCase(
            #"{"additionalProperties": true, "properties": {"a": {"properties": {"b": {"type": "string"}}}}}"#,
            #"{"a": {"b": "c"}, "foo": "bar"}"#),
        SchemaCase(
            #"{"additionalProperties": true, "properties": {"a": {"properties": {"b": {"type": "string"}}}}}"#,
            #"{"a": {"b": "c", "foo": "bar"}}"#, "/a/foo /properties/a"),
    ]

    // MARK: Values (3.3.7)

    static let values = [
        SchemaCase(#"{"values": {"type": "float32"}}"#, "{}"),
        SchemaCase(#"{"values": {"type": "float32"}}"#, #"{"a": 1, "b": 2}"#),
        SchemaCase(#"{"values": {"type": "float32"}}"#, "null", " /values"),
        SchemaCase(#"{"values": {"type": "float32"}}"#, "[]", " /values"),
        SchemaCase(
            #"{"values": {"type": "float32"}}"#, #"{"a": 1, "b": 2, "c": "foo", "d": 3, "e": "bar"}"#,
            "/c /values/type", "/e /values/type"),
        SchemaCase(#"{"nullable": true, "values": {"type": "float32"}}"#, "null"),
        SchemaCase(#"{"nullable": true, "values": {"type": "float32"}}"#, #"{"c": "foo"}"#, "/c /values/type"),
        SchemaCase(#"{"values": {}}"#, #"{"a": null}"#), SchemaCase(#"{"values": {}}"#, "1", " /values"),
    ]

    // MARK: Discriminator (3.3.8)

    static let versions =
        #""discriminator": "version", "mapping": {"v1": {"properties": {"a": {"type": "float32"}}}, "v2": {"properties": {"a": {"type": "string"}}}}"#
    static let events = """
        {"discriminator": "event_type", "mapping": {
            "account_deleted": {"properties": {"account_id": {"type": "string"}}},
            "account_payment_plan_changed": {
                "properties": {"account_id": {"type": "string"}, "payment_plan": {"enum": ["FREE", "PAID"]}},
                "optionalProperties": {"upgraded_by": {"type": "string"}}}}}
        """

    static let discriminator = [
        SchemaCase("{\(versions)}", "null", " /discriminator"), SchemaCase("{\(versions)}", "[]", " /discriminator"),
        SchemaCase("{\(versions)}", "{}", " /discriminator"),
        SchemaCase("{\(versions)}", #"{"version": 1}"#, "/version /discriminator"),
        SchemaCase("{\(versions)}", #"{"version": null}"#, "/version /discriminator"),
        SchemaCase("{\(versions)}", #"{"version": "v3"}"#, "/version /mapping"),
        SchemaCase("{\(versions)}", #"{"version": "v2", "a": 3}"#, "/a /mapping/v2/properties/a/type"),
        SchemaCase("{\(versions)}", #"{"version": "v2", "a": "foo"}"#),
        SchemaCase("{\(versions)}", #"{"a": 1, "version": "v1"}"#),
        SchemaCase("{\"nullable\": true, \(versions)}", "null"),
        SchemaCase("{\"nullable\": true, \(versions)}", "1", " /discriminator"),
        SchemaCase(events, #"{"event_type": "account_deleted", "account_id": "abc-123"}"#),
        SchemaCase(
            events, #"{"event_type": "account_payment_plan_changed", "account_id": "abc-123", "payment_plan": "PAID"}"#),
        SchemaCase(
            events,
            #"{"event_type": "account_payment_plan_changed", "account_id": "abc-123", "payment_plan": "PAID", "upgraded_by": "users/mkhwarizmi"}"#
        ),
        SchemaCase(events, "{}", " /discriminator"),
        SchemaCase(events, #"{"event_type": "some_other_event_type"}"#, "/event_type /mapping"),
        SchemaCase(events, #"{"event_type": "account_deleted"}"#, " /mapping/account_deleted/properties/account_id"),
        SchemaCase(
            events,
            #"{"event_type": "account_payment_plan_changed", "account_id": "abc-123", "payment_plan": "PAID", "xxx": "asdf"}"#,
            "/xxx /mapping/account_payment_plan_changed"),
        SchemaCase(#"{"discriminator": "t", "mapping": {}}"#, #"{"t": "a"}"#, "/t /mapping"),
        SchemaCase(
            #"{"discriminator": "t/u", "mapping": {"a~b": {"optionalProperties": {"x": {"type": "string"}}}}}"#,
            #"{"t/u": "a~b", "x": 1}"#,
            "/x /mapping/a~0b/optionalProperties/x/type"),
        SchemaCase(
            #"{"discriminator": "t", "mapping": {"a": {"properties": {}, "additionalProperties": true}}}"#,
            #"{"t": "a", "u": 1}"#),
        // Only the object's own tag is exempt from `additionalProperties`, not a member of an inner object.
        SchemaCase(
            #"{"discriminator": "t", "mapping": {"a": {"properties": {"b": {"properties": {}}}}}}"#,
            #"{"t": "a", "b": {"t": "a"}}"#,
            "/b/t /mapping/a/properties/b"),
        SchemaCase(
            #"{"discriminator": "\u00e9", "mapping": {"a": {"properties": {}}}}"#, #"{"\u00e9": "a", "e\u0301": "a"}"#,
            "/e\u{301} /mapping/a"),
        SchemaCase(
            #"{"elements": {"discriminator": "t", "mapping": {"a": {"properties": {"x": {}}}, "b": {"optionalProperties": {}}}}}"#,
            #"[1, {"t": "a"}, {"t": "b"}, {"t": "b", "x": 1}, {"t": "c"}, {"t": 1}, {}]"#,
            "/0 /elements/discriminator", "/1 /elements/mapping/a/properties/x", "/3/x /elements/mapping/b",
            "/4/t /elements/mapping",
            "/5/t /elements/discriminator", "/6 /elements/discriminator"),
    ]

    static let nested = [
        SchemaCase(
            """
            {"properties": {"users": {"elements": {
                "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "create_time": {"type": "timestamp"}},
                "optionalProperties": {"delete_time": {"type": "timestamp"}}}}, "next_page_token": {"type": "string"}}}
            """, #"{"users": [{"id": "1", "create_time": "now", "delete_time": null}, 7], "next": ""}"#,
            " /properties/next_page_token", "/next ", "/users/0 /properties/users/elements/properties/name",
            "/users/0/create_time /properties/users/elements/properties/create_time/type",
            "/users/0/delete_time /properties/users/elements/optionalProperties/delete_time/type",
            "/users/1 /properties/users/elements/properties"),
        SchemaCase(
            #"{"definitions": {"a": {"elements": {"ref": "b"}}, "b": {"type": "float32"}}, "elements": {"ref": "a"}}"#,
            #"[[1, "x"], 2]"#,
            "/0/1 /definitions/b/type", "/1 /definitions/a/elements"),
    ]
}
