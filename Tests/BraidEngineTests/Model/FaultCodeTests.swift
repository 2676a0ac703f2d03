import Testing

@testable import BraidEngine

/// Codes of faults in commands, descriptions, schemas and snapshots.
@Suite struct FaultCodeTests {
    struct Case: CustomTestStringConvertible {
        var document: String
        var pointer: String
        var code: FaultCode

        init(_ document: String, _ pointer: String, _ code: FaultCode) {
            self.document = document
            self.pointer = pointer
            self.code = code
        }

        var testDescription: String { "\(code.rawValue) at \(pointer) of \(document)" }
        /// As in an answer's `errors`.
        var place: String { "\(pointer) \(code.rawValue)" }
    }

    private func places(_ make: () throws -> Void) -> [String] {
        do {
            try make()
            return []
        } catch let refusal as Refusal {
            return refusal.faults.map { "\($0.pointer) \($0.code.rawValue)" }
        } catch {
            return ["\(error)"]
        }
    }

    @Test(
        "Each kind of fault in a command is reported with its code",
        arguments: [
            Case(#"{"moves":{"from":{"id":"a"}}}"#, "/moves", .missingMember),
            Case(#"{"edits":{}}"#, "/edits", .missingMember),
            Case(#"{}"#, "", .missingMember),
            Case(#"{"taps":{"at":{"id":"a"},"by":1}}"#, "/taps/by", .unknownMember),
            Case(#"[]"#, "", .wrongType),
            Case(#"{"models":{"a":{}}}"#, "/models/a", .wrongType),
            Case(#"{"taps":{"at":{"id":true}}}"#, "/taps/at/id", .wrongType),
            Case(#"{"taps":{"at":{"section":"a","row":"0"}}}"#, "/taps/at/row", .wrongType),
            Case(#"{"taps":{"at":{"section":"a","row":-1}}}"#, "/taps/at/row", .outOfRange),
            Case(#"{"taps":{"at":{"section":-1,"row":0}}}"#, "/taps/at/section", .outOfRange),
            Case(#"{"events":{"at":{"id":"a"},"event":{}}}"#, "/events/event", .invalidValue),
            Case(#"{"events":{"at":{"id":"a"},"event":1}}"#, "/events/event", .wrongType),
            Case(#"{"displayedSections":["a","a"]}"#, "/displayedSections/1", .duplicate),
            Case(#"{"dance":{}}"#, "/dance", .unknownName),
            Case(#"{"dataSource":{"dance":{}}}"#, "/dataSource/dance", .unknownName),
            Case(#"{"dataSource":{"removeRow":{"at":[0]}}}"#, "/dataSource/removeRow/at", .invalidValue),
            Case(#"{"dataSource":{"removeRow":{"at":0}}}"#, "/dataSource/removeRow/at", .wrongType),
            Case(#"{"edits":{"delete":{"id":"a"},"model":{}}}"#, "/edits/model", .conflict),
            Case(#"{"edits":{"delete":{"id":"a"},"insert":{"id":"a"}}}"#, "/edits", .conflict),
            Case(#"{"taps":{"at":{"id":"a","row":1}}}"#, "/taps/at", .conflict),
        ])
    func commands(fault: Case) {
        #expect(places { _ = try Command(json: JSONText(parsing: fault.document)) } == [fault.place])
    }

    @Test(
        "Each kind of fault in a table description is reported with its code",
        arguments: [
            Case(#"{"table":"t"}"#, "/bindings", .missingMember),
            Case(#"{"table":"t","sections":["a","b"],"bindings":[{"cell":"C"}]}"#, "/bindings/0", .missingMember),
            Case(#"{"table":"t","bindings":[],"colour":1}"#, "/colour", .unknownMember),
            Case(#"{"table":"t","bindings":{}}"#, "/bindings", .wrongType),
            Case(#"{"table":"a b","bindings":[{"cell":"C"}]}"#, "/table", .invalidValue),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","shown":"1 +"}]}"#, "/bindings/0/shown",
                .invalidValue),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","updates":"often"}]}"#, "/bindings/0/updates",
                .invalidValue),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","updates":1}]}"#, "/bindings/0/updates", .wrongType),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","numberOfCells":-1}]}"#,
                "/bindings/0/numberOfCells",
                .outOfRange),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","dimensions":{"cellHeight":-1}}]}"#,
                "/bindings/0/dimensions/cellHeight", .outOfRange),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","prefetch":{}}]}"#, "/bindings/0/prefetch",
                .missingMember),
            Case(
                #"{"table":"t","sections":["a","a"],"bindings":[{"on":"allOtherSections","cell":"C"}]}"#, "/sections/1",
                .duplicate),
            Case(#"{"table":"t","bindings":[{"cell":"D"}]}"#, "/bindings/0/cell", .unknownName),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","modelType":"M"}]}"#, "/bindings/0/modelType",
                .unknownName),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","cellProvider":"C"}]}"#, "/bindings/0", .conflict),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","onTap":[{"do":[]}]}]}"#,
                "/bindings/0/onTap/0/do", .conflict),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","models":[{"id":"1"},{"id":"1"}]}]}"#,
                "/bindings/0/models/1", .duplicate),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","models":[{}]}]}"#, "/bindings/0/models/0/id",
                .missingMember),
            Case(
                #"{"table":"t","bindings":[{"cell":"C","models":[{"id":null}]}]}"#,
                "/bindings/0/models/0/id", .wrongType),
        ])
    func descriptions(fault: Case) throws {
        // Each description gets the cell `C`.
        let json = #"{"cells":{"C":{}},"# + fault.document.dropFirst()
        let found = places { _ = try TableDescription(JSONText(parsing: json)) }
        #expect(found.contains(fault.place), "\(found)")
    }

    @Test("An undefined name and a member without an effect cause warnings with codes")
    func warnings() throws {
        let description = try TableDescription(
            JSONText(
                parsing: """
                    {"table":"t","cells":{"C":{}},"modelTypes":{"M":{}},"bindings":[
                      {"cell":"C","header":{"$eval":"nmae"}}, {"modelType":"M"}]}
                    """))
        #expect(
            description.warnings.map { "\($0.pointer) \($0.code.rawValue)" } == [
                "/bindings/0/header unknown-name", "/bindings/1/modelType conflict",
            ])
    }

    @Test(
        "Each kind of mismatch between a value and its schema is reported with its code",
        arguments: [
            ("{}", "", .missingMember), (#"{"n":1,"x":1}"#, "/x", .unknownMember), (#"{"n":"1"}"#, "/n", .wrongType),
            (#"{"n":300}"#, "/n", .outOfRange), (#"{"n":1.5}"#, "/n", .outOfRange),
            (#"{"n":1,"e":"c"}"#, "/e", .invalidValue), (#"{"n":1,"e":1}"#, "/e", .wrongType),
            (#"{"n":1,"t":"noon"}"#, "/t", .invalidValue), (#"{"n":1,"l":{}}"#, "/l", .wrongType),
            (#"{"n":1,"d":{}}"#, "/d", .missingMember), (#"{"n":1,"d":{"k":"z"}}"#, "/d/k", .invalidValue),
            (#"{"n":1,"d":{"k":1}}"#, "/d/k", .wrongType),
        ] as [(String, String, FaultCode)])
    func mismatches(value: String, pointer: String, code: FaultCode) throws {
        let schema = try #require(
            JTDSchema.compile(
                JSONText(
                    parsing: """
                        {"properties": {"n": {"type": "uint8"}}, "optionalProperties": {"e": {"enum": ["a", "b"]},
                          "t": {"type": "timestamp"}, "l": {"elements": {}},
                          "d": {"discriminator": "k", "mapping": {"a": {"properties": {}}}}}}
                        """
                ).value()
            ).schema)
        let found = schema.errorIndicators(of: try JSONText(parsing: value).value())
        #expect(found.map { "\($0.instancePath) \($0.code.rawValue)" } == ["\(pointer) \(code.rawValue)"])
    }

    @Test(
        "Each kind of fault in a schema is reported with its code",
        arguments: [
            ("1", "", .wrongType), (#"{"types":"string"}"#, "/types", .unknownMember),
            (#"{"type":"text"}"#, "/type", .invalidValue), (#"{"type":1}"#, "/type", .wrongType),
            (#"{"ref":"a"}"#, "/ref", .unknownName), (#"{"enum":[]}"#, "/enum", .invalidValue),
            (#"{"enum":["a","a"]}"#, "/enum/1", .duplicate), (#"{"type":"string","enum":["a"]}"#, "", .conflict),
            (#"{"discriminator":"k"}"#, "/discriminator", .conflict),
        ] as [(String, String, FaultCode)])
    func schemas(schema: String, pointer: String, code: FaultCode) throws {
        let faults = JTDSchema.compile(try JSONText(parsing: schema).value()).faults
        #expect(faults.map { "\($0.pointer) \($0.code.rawValue)" } == ["\(pointer) \(code.rawValue)"])
    }

    @Test("Each kind of fault in a snapshot is reported with its code")
    func snapshots() {
        let found = places {
            _ = try Snapshot(
                json: JSONText(
                    parsing: """
                        {"revision":-1,"totalRowCount":9,"colour":1,"sections":[
                          {"id":"a","header":null,"footer":null,"rows":[{"id":"1","cell":"C"},{"id":"1","cell":"C","editing":"x"}]},
                          {"id":"a","rows":[{"id":"2"}]}]}
                        """))
        }
        #expect(
            Set(found) == [
                "/revision out-of-range", "/totalRowCount conflict", "/colour unknown-member",
                "/sections/0/rows/1/id duplicate", "/sections/0/rows/1/editing invalid-value",
                "/sections/1/id duplicate", "/sections/1/rows/0 missing-member",
            ])
    }
}
