import Testing

@testable import BraidEngine

struct JSONValueTests {
    @Test("Parsing a compact JSON text and encoding the tree returns the same bytes")
    func roundTrip() throws {
        for source in [
            "[]", "{}", #"{"b":1.10,"a":[-0,1e400,12345678901234567890,null,true,false],"":{"x":[[],{}]}}"#,
            #"["é\n\"\\"]"#, #"[[1],[2,[3]],{"a":{"b":{}}}]"#,
        ] {
            #expect(JSONText(try JSONValue(parsing: source)).text == source)
        }
    }

    @Test("Equality of JSON values ignores the order of members and the notation of numbers")
    func equalityIsStructural() throws {
        #expect(try JSONValue(parsing: #"{"a":1,"b":[2]}"#) == JSONValue(parsing: #"{"b":[2.0],"a":1e0}"#))
        #expect(try JSONValue(parsing: #"{"a":1}"#) != JSONValue(parsing: #"{"a":1,"b":null}"#))
        #expect(try JSONValue(parsing: #"{"a":1,"b":2}"#) != JSONValue(parsing: #"{"a":1,"c":2}"#))
        #expect(try JSONValue(parsing: "[1,2]") != JSONValue(parsing: "[2,1]"))
    }

    @Test("A Swift literal creates the corresponding JSON value")
    func literalsReadAsJSON() throws {
        let value: JSONValue = ["a": [1, 2.5, .null, true], "b": "x", "c": [:], "d": []]
        #expect(JSONText(value).text == #"{"a":[1,2.5,null,true],"b":"x","c":{},"d":[]}"#)
        #expect(value.objectValue?["a"]?.arrayValue?.first?.intValue == 1)
    }

    @Test("JSON objects of any size keep the order of their members", arguments: [3, 15, 16, 17, 40])
    func memberOrder(_ count: Int) {
        var object = JSONObject()
        for index in 0..<count { object["n\(index)"] = .number(JSONNumber(index)) }
        object["n1"] = "again"
        object["n0"] = nil
        object["n0"] = "last"
        object["none"] = nil
        #expect(object.members.map(\.name) == (1..<count).map { "n\($0)" } + ["n0"])
        #expect(object["n1"] == "again" && object["n0"] == "last" && object["n\(count)"] == nil)
        #expect(object.count == count)
        #expect(object["e\u{301}"] == nil)
    }

    /// RFC 7396, appendix A.
    @Test(
        "A JSON merge patch has the result that RFC 7396 defines",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
            (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#), (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
            // RFC 7396, section 3.
            (
                #"{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}"#,
                #"{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}"#,
                #"{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}"#
            ),
        ])
    func mergesPatches(_ target: String, _ patch: String, _ result: String) throws {
        #expect(JSONText(try JSONValue(parsing: target).merging(patch: JSONValue(parsing: patch))).text == result)
    }
}

struct JSONPointerTests {
    /// RFC 6901, section 5.
    @Test(
        "A JSON Pointer finds the values in the examples of RFC 6901",
        arguments: [
            ("", nil), ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
            ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
        ] as [(String, String?)])
    func findsWhatTheRFCSays(_ pointer: String, _ value: String?) throws {
        let document = try JSONText(
            parsing: #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#)
        let parsed = try #require(JSONPointer(pointer))
        #expect(parsed.description == pointer)
        #expect(document[parsed]?.text == value ?? document.text)
        #expect(document.value()[parsed] == (try JSONValue(parsing: value ?? document.text)))
    }

    @Test("A malformed JSON Pointer is refused")
    func refusesWhatIsMalformed() {
        for text in ["a", "a/b", "/~", "/~2", "/a~", "/~/a", "#/a", " /a", "/a/~x"] {
            #expect(JSONPointer(text) == nil)
        }
    }

    @Test("The escape sequences in a JSON Pointer are decoded only once")
    func tokensAreUnescapedOnce() {
        #expect(JSONPointer("/~01/~1/~0/a//")?.tokens == ["~1", "/", "~", "a", "", ""])
        #expect(
            JSONPointer.root.appending("a/b").appending(0).appending("~").appending("").description == "/a~1b/0/~0/")
        #expect(JSONPointer.root.tokens.isEmpty && JSONPointer("") == .root && JSONPointer("/") != .root)
        #expect(
            JSONPointer("/\u{E9}") != JSONPointer("/e\u{301}") && JSONPointer("/a") == JSONPointer.root.appending("a"))
        #expect(Set([JSONPointer("/a/b")!, JSONPointer("/a/b")!, JSONPointer("/ab")!]).count == 2)
    }
}

struct JSONWriterTests {
    @Test("`JSONWriter` inserts the commas between values")
    func putsTheCommas() {
        var writer = JSONWriter()
        writer.raw("data: ")
        writer.beginObject()
        writer.name("a"); writer.beginArray(); writer.value(1); writer.value(true); writer.null(); writer.value("x");
        writer.endArray()
        writer.name("b\n" as String); writer.beginObject(); writer.endObject()
        writer.name("c"); writer.value(JSONText.emptyArray)
        writer.name("é"); writer.value(["k": [false]] as JSONValue)
        writer.name("d"); writer.value(Int.min)
        writer.endObject()
        writer.raw(Array("\n".utf8))
        writer.value(7)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"data: {"a":[1,true,null,"x"],"b\n":{},"c":[],"é":{"k":[false]},"d":-9223372036854775808}"# + "\n7")
    }

    @Test("`JSONWriter` escapes only the characters that JSON requires to escape")
    func escapesOnlyWhatMust() {
        for byte in 0..<0x80 as Range<UInt8> {
            for padding in 0..<10 {
                let string =
                    String(repeating: "p", count: padding) + String(Unicode.Scalar(byte))
                    + String(repeating: "q", count: 9)
                let text = JSONText.string(string)
                #expect(text.stringValue == string)
                #expect((text.count > string.utf8.count + 2) == (byte < 0x20 || byte == 0x22 || byte == 0x5C))
                #expect((try? JSONText(parsing: text.bytes)) == text)
            }
        }
    }
}

struct JSONLocationsTests {
    private let locations = JSONLocations(
        of: Array(
            """
            {
              "a": [1,
                {"b\\u00e9": true}],
              "é": "x", "z": 1
            }
            """.utf8))

    @Test(
        "`JSONLocations` returns the line and column of the value at a JSON Pointer",
        arguments: [
            ("", 1, 1), ("/a", 2, 8), ("/a/0", 2, 9), ("/a/1", 3, 5), ("/a/1/bé", 3, 17), ("/é", 4, 9), ("/z", 4, 19),
        ])
    func saysWhereValuesStand(_ pointer: String, _ line: Int, _ column: Int) throws {
        let position = try #require(locations.position(of: JSONPointer(pointer)!))
        #expect(position == (line, column))
    }

    @Test("For a missing value, `position(nearest:)` returns the position of the nearest enclosing value")
    func missingValues() throws {
        #expect(locations.position(of: JSONPointer("/a/1/c")!) == nil)
        #expect(try #require(locations.position(nearest: JSONPointer("/a/1/c/d")!)) == (3, 5))
        #expect(try #require(locations.position(nearest: JSONPointer("/a/7")!)) == (2, 8))
        #expect(JSONLocations(of: Array("[1".utf8)).position(of: .root) == nil)
    }
}
