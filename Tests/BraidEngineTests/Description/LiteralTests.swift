import Testing

@testable import BraidEngine

/// Warnings about constant texts that read like expressions.
@Suite struct LiteralTests {
    private static func warned(_ parts: String) throws -> [String] {
        let description = try TableDescription(
            JSONText(
                parsing:
                    #"{"table":"t","sections":["a","row"],"bindings":[{"on":{"section":"row"},"cell":"C"},{"on":{"section":"a"},"cell":"C",\#(parts)}]}"#
            ))
        return description.warnings.map { warning in
            let text = warning.detail.split(separator: "\"").dropFirst().first ?? ""
            return "\(warning.pointer.description.replacing("/bindings/1", with: "")) \(text)"
        }
    }

    @Test(
        "A constant text that reads like an expression causes a warning",
        arguments: [
            (#""viewModel":"model.title""#, "/viewModel model.title"),
            (#""viewModel":{"a":[1,"count"]}"#, "/viewModel/a/1 count"),
            (
                #""viewModel":{"$if":"row == 0","then":"model","else":{"b":"state.x.y"}}"#,
                "/viewModel/then model /viewModel/else/b state.x.y"
            ),
            (
                #""viewModel":{"$map":{"$eval":"model.items"},"each(item)":"item.name"}"#,
                "/viewModel/each(item) item.name"
            ),
            (#""viewModel":{"$let":{"x":"${model.a}"},"in":["x","x.y"]}"#, "/viewModel/in/1 x.y"),
            (
                #""viewModel":{"$switch":{"row == 0":"section","$default":"now"}}"#,
                "/viewModel/$switch/row == 0 section /viewModel/$switch/$default now"
            ),
            (#""header":"displayedCount""#, "/header displayedCount"),
            (#""onEvent":{"e":[{"setState":{"text":"event.text"}}]}"#, "/onEvent/e/0/setState/text event.text"),
            (#""onTap":[{"emit":{"name":"opened","payload":"model.id"}}]"#, "/onTap/0/emit/payload model.id"),
        ])
    func aTextLikeAnExpressionIsWarnedOf(parts: String, expected: String) throws {
        #expect(try Self.warned(parts).joined(separator: " ") == expected)
    }

    @Test(
        "Constant texts that do not read like expressions cause no warning",
        arguments: [
            #""viewModel":{"title":"Count","a":"model .x","b":"a model","c":"1","d":"model.","e":".model","f":"model..x","g":"title"}"#,
            #""viewModel":"${'count'}""#, #""viewModel":{"$eval":"count"}"#, #""viewModel":"event.text""#,
            #""viewModels":[{"id":"1","text":"count"}]"#, #""header":"row""#, #""footer":"model""#,
            #""onTap":[{"setState":{"a":"event.text"}},{"insert":{"section":"row","model":{"id":"1"}}},{"emit":{"name":"count"}}]"#,
        ])
    func otherTextsAreNot(parts: String) throws {
        #expect(try Self.warned(parts) == [])
    }

    @Test("The warning about a text that reads like an expression says what to write")
    func warning() throws {
        let description = try TableDescription(
            JSONText(parsing: #"{"table":"t","templates":{"x":["event.text"]},"bindings":[{"cell":"C"}]}"#))
        #expect(
            description.warnings.map { "\($0.pointer) \($0.detail)" } == [
                #"/templates/x/0 the text "event.text" reads like an expression: for its value write {"$eval": "event.text"}, or "${event.text}" inside a text; for the text itself write "${'event.text'}""#
            ])
    }
}
