import Testing

@testable import BraidEngine

struct JSONTextTests {
    private let text = try! JSONText(
        parsing: #" { "a" : [1, 2.50, {"b":"x\u00e9\ud83d\ude00"}] , "c\n":null, "":"", "t":true } "#)

    @Test("The values in a JSON text can be read without building a tree")
    func readsWithoutATree() {
        #expect(text.kind == .object)
        #expect(text["a"]?.elements()?.map(\.text) == ["1", "2.50", #"{"b":"x\u00e9\ud83d\ude00"}"#])
        #expect(text.members()?.map(\.name) == ["a", "c\n", "", "t"])
        #expect(text["c\n"]?.isNull == true)
        #expect(text[""]?.stringValue == "")
        #expect(text["t"]?.boolValue == true)
        #expect(text["b"] == nil)
        #expect(text["a"]?["b"] == nil)
        #expect(text.elements() == nil)
        #expect(text["a"]?.members() == nil)
        #expect(text.stringValue == nil && text.intValue == nil && text.boolValue == nil && text.doubleValue == nil)
        #expect(JSONText.emptyArray.elements() == [] && JSONText.emptyObject.members()?.isEmpty == true)
    }

    @Test("A JSON Pointer returns the value at its place in a JSON text, or `nil`")
    func followsPointers() {
        #expect(text[JSONPointer("")!] == text)
        #expect(text[JSONPointer("/a/2/b")!]?.stringValue == "xé😀")
        #expect(text[JSONPointer("/a/1")!]?.doubleValue == 2.5)
        for nowhere in ["/a/3", "/a/-", "/a/01", "/a/+1", "/a/1/x", "/b", "/a/99999999999999999999", "/c\n/x", "/a/"] {
            #expect(text[JSONPointer(nowhere)!] == nil)
            #expect(text.value()[JSONPointer(nowhere)!] == nil)
        }
    }

    @Test("The first byte of a JSON text determines the kind of its value")
    func kinds() throws {
        let kinds: [(String, JSONKind)] = [
            ("null", .null), ("true", .bool), ("false", .bool), ("-1", .number), ("0", .number), ("\"\"", .string),
            ("[]", .array), ("{}", .object),
        ]
        for (source, kind) in kinds { #expect(try JSONText(parsing: source).kind == kind) }
        #expect(JSONText.null.isNull && !JSONText.false.isNull)
    }

    @Test("JSON texts can be created from numbers, strings and booleans")
    func scalarsAreMade() {
        #expect(JSONText.number(-42).text == "-42")
        #expect(JSONText.number(.min).intValue == .min)
        #expect(JSONText.string("a\"b\\c\n\u{1}é😀/").text == #""a\"b\\c\n\u0001é😀/""#)
        #expect(JSONText.string("a\"b\\c\n\u{1}é😀/").stringValue == "a\"b\\c\n\u{1}é😀/")
        #expect(JSONText.bool(true).boolValue == true && JSONText.bool(false).boolValue == false)
    }

    @Test("Two JSON texts are equal if the bytes of their compact forms are equal")
    func equality() throws {
        let one = try JSONText(parsing: "[\"abcdefghij\", 1.0]"),
            other = try JSONText(parsing: " [\"abcdefghij\",1.0 ]")
        #expect(one == other && one.hashValue == other.hashValue)
        #expect(try JSONText(parsing: "1.0") != JSONText(parsing: "1.00"))
        #expect(try JSONText(parsing: "\"A\"") != JSONText(parsing: "\"\\u0041\""))
        #expect(try JSONText(parsing: "\"\u{E9}\"") != JSONText(parsing: "\"e\u{301}\""))
        // Texts are compared eight bytes at a time.
        for count in 0..<40 {
            let bytes = [UInt8](repeating: 0x61, count: count)
            let text = JSONText.string(String(decoding: bytes, as: UTF8.self))
            #expect(text == JSONText.string(String(decoding: bytes, as: UTF8.self)).detached)
            for index in 0..<count {
                var changed = bytes
                changed[index] = 0x62
                #expect(text != JSONText.string(String(decoding: changed, as: UTF8.self)))
            }
        }
    }

    @Test("A slice of a JSON text shares the text's bytes, and a detached copy does not")
    func slices() throws {
        let source = Array("[[1,2],\"x\"]".utf8)
        let text = try JSONText(parsing: source)
        let element = text.elements()![0]
        #expect(MemoryLayout<JSONText>.size == 16 && MemoryLayout<JSONText?>.size == 16)
        let inside = element.withBytes { part in text.withBytes { $0.baseAddress! + 1 == part.baseAddress! } }
        #expect(inside)
        #expect(element.detached == element && element.detached.bytes == Array("[1,2]".utf8))
        #expect(text.bytes == source)
        let shared = source.withUnsafeBytes { source in text.withBytes { source.baseAddress == $0.baseAddress } }
        #expect(shared, "bytes that are compact are not copied")
        #expect(try JSONText(parsing: " 7 ").bytes == [0x37])
    }

    @Test("The pretty form of a JSON text is indented by two spaces")
    func prettyIsIndentedByTwo() throws {
        let pretty = String(
            decoding: try JSONText(parsing: #"{"a":[1,{"b":[]}],"c":{},"d":"{,}:"}"#).pretty(), as: UTF8.self)
        #expect(
            pretty == """
                {
                  "a": [
                    1,
                    {
                      "b": []
                    }
                  ],
                  "c": {},
                  "d": "{,}:"
                }
                """)
        #expect(JSONText.number(1).pretty() == [0x31])
    }

    @Test("A JSON text is not indented if the indented text would be longer than the limit")
    func prettyLimit() throws {
        let nested = String(repeating: "[", count: 50) + "1,1,1,1" + String(repeating: "]", count: 50)
        for source in [nested, #"{"a":[1,{"b":[]}],"c":{},"d":"text"}"#, "[]", "1"] {
            let text = try JSONText(parsing: source), pretty = text.pretty()
            #expect(text.pretty(limit: pretty.count) == pretty)
            #expect(text.pretty(limit: pretty.count - 1) == nil)
            #expect(text.pretty(limit: 0) == nil)
        }
    }

    @Test("Every escape sequence in a JSON string is decoded")
    func unescapesEverything() throws {
        #expect(
            try JSONText(parsing: #""\"\\\/\b\f\n\r\t\u0000\u00e9\u20AC\ud83d\ude00\uDBFF\uDFFF""#).stringValue
                == "\"\\/\u{8}\u{C}\n\r\t\u{0}é€😀\u{10FFFF}")
        // Every scalar below U+10000, from an escape and back.
        for start in stride(from: 0, to: 0x10000, by: 256) where start & 0xF800 != 0xD800 {
            var source = "\"", expected = String.UnicodeScalarView()
            for number in start..<start + 256 {
                let hexadecimal = String(number, radix: 16)
                source += "\\u" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
                expected.append(Unicode.Scalar(UInt32(number))!)
            }
            let string = try JSONText(parsing: source + "\"").stringValue!
            #expect(string.hasSameBytes(as: String(expected)))
            #expect(JSONText.string(string).stringValue?.hasSameBytes(as: string) == true)
        }
    }
}

struct JSONNumberTests {
    private func number(_ lexeme: String) throws -> JSONNumber {
        try #require(try JSONText(parsing: lexeme).numberValue)
    }

    @Test(
        "JSON numbers are equal if their values are equal",
        arguments: [
            ("1", "1.0"), ("1", "10e-1"), ("100", "1e2"), ("100", "1E+2"), ("0", "-0"), ("0", "0.000e5"),
            ("0", "0e99999999999999999999"), ("1.10", "1.1"),
            ("12345678901234567890", "1234567890123456789e1"), ("1e400", "10e399"), ("0.001", "1e-3"), ("-5", "-0.5e1"),
        ])
    func equalNumbers(_ left: String, _ right: String) throws {
        #expect(try number(left) == number(right))
    }

    @Test(
        "JSON numbers with different values are not equal",
        arguments: [
            ("1", "-1"), ("12345678901234567890", "12345678901234567891"), ("1e400", "1e401"),
            ("9007199254740993", "9007199254740992"), ("0.1", "0.10000000000000000001"),
            ("1e-400", "0"), ("1", "10"), ("1e-1", "1"),
        ])
    func differWhenTheirValuesDo(_ left: String, _ right: String) throws {
        #expect(try number(left) != number(right))
    }

    @Test(
        "`intValue` is the number if it is whole and in the range of Int, in any notation",
        arguments: [
            ("0", 0), ("-0", 0), ("1.0", 1), ("1e2", 100), ("-12.50e1", -125), ("9223372036854775807", .max),
            ("-9223372036854775808", .min), ("-9223372036854775808.0", .min),
            ("9223372036854775807.0", .max), ("9223372036854775808", nil),
            ("9007199254740993.0", 9_007_199_254_740_993), ("-9223372036854775809.0", nil),
            ("9223372036854775808.0", nil),
            ("1.5", nil), ("1e19", nil), ("1e18", 1_000_000_000_000_000_000), ("1e400", nil), ("1e-1", nil),
            ("10e-1", 1), ("1e99999999999999999999", nil), ("0e99999999999999999999", 0),
            ("1e-99999999999999999999", nil),
        ] as [(String, Int?)])
    func wholeNumbersThatFitAreInts(_ lexeme: String, _ int: Int?) throws {
        #expect(try number(lexeme).intValue == int)
    }

    @Test("Reading the JSON text of a double returns the same double")
    func doubles() throws {
        for value in [
            0, -0.0, 1, -1, 0.1, 1e20, 1e-7, .leastNonzeroMagnitude, 1.7976931348623157e308, -9223372036854775808,
            0x1p53, 0x1p52 + 0.5, 0x1p63, -0x1p64,
        ] as [Double] {
            let lexeme = try #require(JSONNumber(value)).lexeme
            #expect(try JSONText(parsing: lexeme).doubleValue == value)
        }
        #expect(JSONNumber(3.0)?.lexeme == "3" && JSONNumber(2.5)?.lexeme == "2.5")
        #expect(
            JSONNumber(Double.nan) == nil && JSONNumber(Double.infinity) == nil && JSONNumber(-Double.infinity) == nil)
        #expect(
            try JSONText(parsing: "1e400").doubleValue == .infinity
                && JSONText(parsing: "-1e400").doubleValue == -.infinity)
    }
}
