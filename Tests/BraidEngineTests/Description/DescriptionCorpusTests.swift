import Foundation
import Testing

@testable import BraidEngine

/// Tests/Descriptions: valid descriptions, and invalid ones with the pointers of their faults. The same files hold the
/// JSON Schema for editors to the checker (Tests/Docs).
@Suite struct DescriptionCorpusTests {
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func files(_ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: repository.appendingPathComponent("Tests/Descriptions/\(folder)").path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }

    static func text(_ path: String) throws -> JSONText {
        try JSONText(parsing: [UInt8](Data(contentsOf: repository.appendingPathComponent("Tests/Descriptions/\(path)"))))
    }

    @Test func thereIsACorpus() {
        #expect(Self.files("valid").count >= 40)
        #expect(Self.files("invalid").count >= 60)
    }

    /// Nil when the description is accepted.
    static func faults(of text: JSONText) -> [Refusal.Fault]? {
        do throws(Refusal) {
            _ = try TableDescription(text)
            return nil
        } catch {
            return error.faults
        }
    }

    @Test(arguments: files("valid")) func aValidDescriptionIsAccepted(file: String) throws {
        let faults = Self.faults(of: try Self.text("valid/\(file)"))
        #expect(faults == nil)
    }

    @Test(arguments: files("invalid")) func anInvalidDescriptionGetsExactlyItsFaults(file: String) throws {
        let text = try Self.text("invalid/\(file)")
        let expected = text["pointers"]?.elements()?.compactMap(\.stringValue) ?? []
        let faults = Self.faults(of: text["description"] ?? .null) ?? []
        #expect(!expected.isEmpty)
        #expect(Set(faults.map(\.pointer.description)) == Set(expected), "\(faults.map { "\($0.pointer): \($0.detail)" })")
    }

    /// It was "of of no name".
    @Test func aModelTypeWithoutANameIsSaidToHaveNone() throws {
        let faults = Self.faults(of: try JSONText(parsing: #"{"table":"t","sections":["a","b"],"modelTypes":{"P":{}},"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","modelType":"P","moving":{"to":["b"]}},{"on":{"section":"b"},"cell":"C"}]}"#))
        #expect(faults?.map(\.detail) == [#"the models of "a" are of the type "P", those of "b" of the type of no name: rows cannot be moved between them"#])
    }

    /// They were one name: the type of the first was that of the second, and a cell that is not declared was.
    @Test func namesAreComparedByTheirBytes() throws {
        let composed = "\u{e9}", decomposed = "e\u{301}"
        let types = try Played("""
            {"table":"t","modelTypes":{"\(composed)":{"id":"/n"},"\(decomposed)":{}},"cells":{"A":{},"B":{}},"cellsForModelTypes":{"\(composed)":"A","\(decomposed)":"B"},
             "bindings":[{"on":"table","cell":{"byModelType":true},"modelType":"\(composed)","models":[{"n":1,"type":"\(composed)"},{"n":2,"type":"\(decomposed)"}]}]}
            """)
        #expect(types.cells == ["A", "B"])
        var cells = try Played("""
            {"table":"t","cells":{"\(composed)":{"events":{"e":{}}},"\(decomposed)":{}},
             "bindings":[{"on":"table","cell":"\(decomposed)","models":[{"id":"1"}],"onEvent":{"\(composed)":{"e":[]}}}]}
            """)
        #expect(throws: Refusal(.eventUndeclared, "The cell \"\(decomposed)\" declares no event \"e\".")) {
            try cells.perform(.event(.at(.displayed(0), row: 0), name: "e", parameters: .null))
        }
        let undeclared = try JSONText(parsing: #"{"table":"t","cells":{"\#(composed)":{}},"bindings":[{"on":"table","cell":"\#(decomposed)"}]}"#)
        #expect(Self.faults(of: undeclared)?.map(\.pointer.description) == ["/bindings/0/cell"])
        // Rows move only among sections of one type.
        let moving = try JSONText(parsing: """
            {"table":"t","sections":["a","b"],"modelTypes":{"\(composed)":{},"\(decomposed)":{}},"cells":{"A":{}},
             "bindings":[{"on":{"section":"a"},"cell":"A","modelType":"\(composed)","moving":{"to":["b"]}},{"on":{"section":"b"},"cell":"A","modelType":"\(decomposed)"}]}
            """)
        #expect(Self.faults(of: moving)?.map(\.pointer.description) == ["/bindings/0/moving/to/0"])
    }
}
