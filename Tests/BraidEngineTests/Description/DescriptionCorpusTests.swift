import Foundation
import Testing

@testable import BraidEngine

/// The files in Tests/Descriptions: valid descriptions, and invalid ones with the pointers of their faults. Tests/Docs
/// checks them against the JSON Schema for editors.
@Suite struct DescriptionCorpusTests {
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func files(_ folder: String) -> [String] {
        let names =
            (try? FileManager.default.contentsOfDirectory(
                atPath: repository.appendingPathComponent("Tests/Descriptions/\(folder)").path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }

    static func text(_ path: String) throws -> JSONText {
        try JSONText(
            parsing: [UInt8](Data(contentsOf: repository.appendingPathComponent("Tests/Descriptions/\(path)"))))
    }

    @Test("The folder Tests/Descriptions contains valid and invalid descriptions")
    func thereIsACorpus() {
        #expect(Self.files("valid").count >= 40)
        #expect(Self.files("invalid").count >= 60)
    }

    /// `nil` if it is accepted.
    static func faults(of text: JSONText) -> [Refusal.Fault]? {
        do throws(Refusal) {
            _ = try TableDescription(text)
            return nil
        } catch {
            return error.faults
        }
    }

    @Test("A valid description is accepted", arguments: files("valid"))
    func aValidDescriptionIsAccepted(file: String) throws {
        let faults = Self.faults(of: try Self.text("valid/\(file)"))
        #expect(faults == nil)
    }

    @Test("An invalid description has exactly the expected faults", arguments: files("invalid"))
    func invalidDescriptions(file: String) throws {
        let text = try Self.text("invalid/\(file)")
        let expected = text["pointers"]?.elements()?.compactMap(\.stringValue) ?? []
        let faults = Self.faults(of: text["description"] ?? .null) ?? []
        #expect(!expected.isEmpty)
        #expect(
            Set(faults.map(\.pointer.description)) == Set(expected), "\(faults.map { "\($0.pointer): \($0.detail)" })")
    }

    @Test("A description's faults do not repeat a long name, neither in their pointers nor in their details")
    func longNamesAreNotRepeated() throws {
        let name = String(repeating: "n", count: 100_000)
        let members = (0..<40).map { #""m\#($0)":1"# }.joined(separator: ",")
        let faulty = try JSONText(parsing: #"{"table":"t","modelTypes":{"\#(name)":{\#(members)}}}"#)
        let refusal = #expect(throws: Refusal.self) { _ = try TableDescription(faulty) }
        #expect(refusal?.detail == "The table description has 40 faults.")
        #expect(refusal?.faults.map(\.pointer) == [JSONPointer(tokens: ["modelTypes", name, "m0"])])
        let models = try JSONText(
            parsing: """
                {"table":"t","sections":["\(name)"],"bindings":[{"on":{"sections":["\(name)"]},"cell":"C","models":{"\(name)":[{},{},{}]}}]}
                """)
        let pointer = JSONPointer(tokens: ["bindings", "0", "models", name, "0", "id"])
        #expect(
            #expect(throws: Refusal.self) { try TableDescription(stored: models) }?.faults.map(\.pointer) == [pointer])
        let cell = try JSONText(parsing: #"{"table":"t","cells":{},"bindings":[{"cell":"\#(name)"}]}"#)
        let detail = try #require(Self.faults(of: cell)?.first).detail
        #expect(detail.hasPrefix("the cell \"nnn") && detail.hasSuffix("nnn\" is not declared; add it to `cells`"))
        #expect(detail.unicodeScalars.count == 2_001)
    }

    @Test("A description's warnings do not repeat a long name")
    func longNamesInWarnings() throws {
        let name = String(repeating: "n", count: 100_000)
        let handler = Array(repeating: #"{"if":"unknown","do":[]}"#, count: 40).joined(separator: ",")
        let description = try TableDescription(
            JSONText(
                parsing: """
                    {"table":"t","cells":{"C":{"events":{"\(name)":{}}}},"bindings":[{"cell":"C","onEvent":{"\(name)":[\(handler)]}}]}
                    """))
        let pointer = JSONPointer(tokens: ["bindings", "0", "onEvent", name, "0", "if"])
        #expect(description.warnings.map(\.pointer) == [pointer])
    }

    /// Parts that read some name, often a wrong one; where a warning is expected, or `nil`; a part of it.
    static let names: [(part: String, pointer: String?, hint: String)] = [
        (
            #""viewModel": {"a": "${mudol.x}"}"#, "/viewModel",
            "there are `state`, `models`, `section`, `now`, `model`, `row`, `count`"
        ),
        (#""viewModel": "${modle}""#, "/viewModel", "did you mean `model`?"),
        (#""viewModel": "${Model}""#, "/viewModel", "did you mean `model`?"),
        (#""viewModel": "${ROW}""#, "/viewModel", "did you mean `row`?"),
        (#""viewModel": "${how}""#, "/viewModel", "there are"),
        (#""shown": "rows > 1""#, "/shown", ""),
        (#""cellProvider": {"$eval": "reason"}"#, "/cellProvider", ""),
        (#""editing": {"$if": "event", "then": "delete", "else": "none"}"#, "/editing", ""),
        (
            #""dimensions": {"cellHeight": {"$eval": "model.height"}, "headerHeight": {"$eval": "model.height"}}"#,
            "/dimensions/headerHeight", "`models`"
        ),
        (#""moving": {"to": {"passing": "row > 1"}, "movable": "row > 1"}"#, "/moving/to/passing", ""),
        (#""header": "${model.title}""#, "/header", ""),
        (#""modelsFrom": [{"$eval": "model"}]"#, "/modelsFrom", ""),
        (#""insert": {"template": {"id": "${row}"}}, "editing": "insert""#, "/insert/template", ""),
        (#""onDelete": [{"setState": {"a": "${reason}", "b": "${event}"}}]"#, "/onDelete/0/setState", ""),
        (#""onTap": [{"if": "reason", "do": []}]"#, "/onTap/0/if", ""),
        (#""onTap": [{"setHeaders": {"a": "${model.x} ${header}"}}]"#, "/onTap/0/setHeaders/a", ""),
        (
            #""onEvent": {"C": {"e": [{"if": "event.x", "else": [{"display": ["${reason}"]}]}]}}"#,
            "/onEvent/C/e/0/else/0/display/0", ""
        ),
        (#""onTap": [{"if": "defined('reason') && reason", "do": []}]"#, nil, ""),
        (
            #""onInsert": [{"setState": {"r": {"$eval": "reason"}}}], "onPrefetch": [{"setState": {"m": {"$eval": "model"}}}], "prefetch": {"cellsFromEnd": 1}"#,
            nil, ""
        ),
    ]

    @Test("An expression that reads an undefined name causes a warning at its place", arguments: names)
    func undefinedNames(
        part: String, pointer: String?, hint: String
    ) throws {
        let cell = part.contains("cellProvider") ? "" : #""cell": "C","#
        let models = part.contains("modelsFrom") ? "" : #""models": {"a": []},"#
        let description = try TableDescription(
            JSONText(
                parsing: """
                    {"table": "t", "sections": ["a"], "cells": {"C": {"events": {"e": {}}}}, "bindings": [{"on": {"section": "a"}, \(cell) \(models) \(part)}]}
                    """))
        #expect(description.warnings.map(\.pointer.description) == pointer.map { ["/bindings/0" + $0] } ?? [])
        if !hint.isEmpty {
            #expect(description.warnings.first?.detail.contains(hint) == true, "\(description.warnings)")
        }
    }

    @Test(
        "In a binding of derived rows, a handler's action on its own row causes a warning",
        arguments: [#""modelsFrom": [{"id": "1"}]"#, #""numberOfCells": 3"#])
    func actionsOnDerivedRows(source: String) throws {
        let description = try TableDescription(
            JSONText(
                parsing: """
                    {"table": "t", "sections": ["a", "b"], "cells": {"C": {}}, "bindings": [
                     {"on": {"section": "a"}, "cell": "C", \(source), "onTap": [{"if": "true", "do": [{"update": {"merge": {}}}]}, {"update": {"id": "2", "merge": {}}}]},
                     {"on": {"section": "b"}, "cell": "C", "onTap": [{"replace": {"model": {}}}]}, {"on": "anySection", "onTap": [{"replace": {"model": {}}}]}]}
                    """))
        #expect(description.warnings.map(\.pointer.description) == ["/bindings/0/onTap/0/do/0/update"])
    }

    @Test("A model type in a binding without cells causes a warning")
    func modelTypeWithoutCells() throws {
        let description = try TableDescription(
            JSONText(
                parsing: """
                    {"table": "t", "modelTypes": {"M": {}}, "cells": {"C": {}},
                     "bindings": [{"cell": "C", "modelType": "M"}, {"on": "anySection", "modelType": "M"}]}
                    """))
        #expect(description.warnings.map(\.pointer.description) == ["/bindings/1/modelType"])
    }

    @Test("The state that opens a session is merged into the description's state")
    func mergedState() throws {
        let description = try TableDescription(
            JSONText(
                parsing:
                    #"{"table":"t","state":{"a":1,"b":{"c":2,"d":3}},"cells":{"C":{}},"bindings":[{"cell":"C"}]}"#
            ))
        #expect(
            try description.openingTable(state: #"{"b":{"c":null,"e":4}}"#).state.text == #"{"a":1,"b":{"d":3,"e":4}}"#)
    }

    /// Not "of of no name".
    @Test("A fault's message says that a binding's model type has no name")
    func unnamedModelType() throws {
        let faults = Self.faults(
            of: try JSONText(
                parsing:
                    #"{"table":"t","sections":["a","b"],"modelTypes":{"P":{}},"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","modelType":"P","moving":{"to":["b"]}},{"on":{"section":"b"},"cell":"C"}]}"#
            ))
        #expect(
            faults?.map(\.detail) == [
                #"the models of "a" are of the type "P", those of "b" of the type of no name: rows cannot be moved between them"#
            ])
    }

    /// é, composed and decomposed: equal for Swift's `==`, different names in JSON.
    @Test("Names in a description are compared by their bytes")
    func namesByBytes() throws {
        let composed = "\u{e9}", decomposed = "e\u{301}"
        let types = try Played(
            """
            {"table":"t","modelTypes":{"\(composed)":{"id":"/n"},"\(decomposed)":{}},"cells":{"A":{},"B":{}},"cellsForModelTypes":{"\(composed)":"A","\(decomposed)":"B"},
             "bindings":[{"cell":{"byModelType":true},"modelType":"\(composed)","models":[{"n":1,"type":"\(composed)"},{"n":2,"type":"\(decomposed)"}]}]}
            """)
        #expect(types.cells == ["A", "B"])
        var cells = try Played(
            """
            {"table":"t","cells":{"\(composed)":{"events":{"e":{}}},"\(decomposed)":{}},
             "bindings":[{"cell":"\(decomposed)","models":[{"id":"1"}],"onEvent":{"\(composed)":{"e":[]}}}]}
            """)
        #expect(
            throws: Refusal(
                .eventUndeclared, "The cell \"\(decomposed)\" declares no event \"e\". It declares no events.")
        ) {
            try cells.perform(.event(.at(.displayed(0), row: 0), name: "e", parameters: .null))
        }
        let undeclared = try JSONText(
            parsing: #"{"table":"t","cells":{"\#(composed)":{}},"bindings":[{"cell":"\#(decomposed)"}]}"#)
        #expect(Self.faults(of: undeclared)?.map(\.pointer.description) == ["/bindings/0/cell"])
        // Moves stay within one model type.
        let moving = try JSONText(
            parsing: """
                {"table":"t","sections":["a","b"],"modelTypes":{"\(composed)":{},"\(decomposed)":{}},"cells":{"A":{}},
                 "bindings":[{"on":{"section":"a"},"cell":"A","modelType":"\(composed)","moving":{"to":["b"]}},{"on":{"section":"b"},"cell":"A","modelType":"\(decomposed)"}]}
                """)
        #expect(Self.faults(of: moving)?.map(\.pointer.description) == ["/bindings/0/moving/to/0"])
    }
}
