import BraidEngine
import Testing

@Suite struct JSONWritableTests {
    @Test("A literal has the commas, colons and brackets of its shape, in the order of its calls")
    func shape() {
        let name = "b\"", none: Int? = nil, null: [String?] = ["x", nil]
        let text = JSONText.object {
            $0.member("number", -7)
            $0.member("none", none)
            $0.member(name, true)
            $0.object("object") { $0.member("array", [[1, 2], []]) }
            $0.array("rows", of: ["p", "q"]) { writer, row in
                writer.object { $0.member("id", row) }
            }
            $0.nonEmptyArray("empty", of: [Int]()) { $0.value($1) }
            $0.member("null", null)
            $0.array("mixed") {
                $0.value(JSONText.emptyObject)
                $0.null()
                $0.object { _ in }
            }
        }
        #expect(
            text.text
                == #"{"number":-7,"b\"":true,"object":{"array":[[1,2],[]]},"rows":[{"id":"p"},{"id":"q"}],"null":["x",null],"mixed":[{},null,{}]}"#
        )
    }

    @Test("The form of identifiers, places and moments is that of the wire")
    func engineTypes() {
        #expect(JSONText(RowID("a\n")).text == #""a\n""#)
        #expect(JSONText(SectionID("s")).text == #""s""#)
        #expect(JSONText(RowPath(section: 1, row: 2)).text == "[1,2]")
        #expect(JSONText(Instant(millisecondsSince1970: 0)).text == #""1970-01-01T00:00:00.000Z""#)
    }
}
