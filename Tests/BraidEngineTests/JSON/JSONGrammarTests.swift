import Testing

@testable import BraidEngine

/// What RFC 8259 and RFC 7493 allow and forbid; errors have the offset of the wrong byte.
struct JSONGrammarTests {
    /// With their compact form.
    static let accepted: [(String, String)] = [
        // Literals.
        ("null", "null"), ("true", "true"), ("false", "false"), (" null", "null"), ("true\n", "true"),
        ("\t\r\n false \t\r\n", "false"),
        // Numbers keep their digits.
        ("0", "0"), ("-0", "-0"), ("1", "1"), ("-1", "-1"), ("10", "10"), ("1234567890", "1234567890"), ("0.0", "0.0"),
        ("-0.0", "-0.0"),
        ("1.10", "1.10"), ("0.5", "0.5"), ("10.01", "10.01"), ("1e1", "1e1"), ("1E1", "1E1"), ("1e+1", "1e+1"),
        ("1E-1", "1E-1"),
        ("1e400", "1e400"), ("-1e-400", "-1e-400"), ("0e0", "0e0"), ("0e+00", "0e+00"), ("1.0e10", "1.0e10"),
        ("1e00001", "1e00001"),
        ("12345678901234567890", "12345678901234567890"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ("-9223372036854775808", "-9223372036854775808"), (" 5 ", "5"),
        // Strings.
        (#""""#, #""""#), (#""a""#, #""a""#), (#"" ""#, #"" ""#), (#""a b\tc""#, #""a b\tc""#),
        (#""\"\\\/\b\f\n\r\t""#, #""\"\\\/\b\f\n\r\t""#),
        (#""\u0000""#, #""\u0000""#), (#""\u00e9\u00E9""#, #""\u00e9\u00E9""#),
        (#""\ud83d\ude00""#, #""\ud83d\ude00""#),
        (#""\uD800\uDC00""#, #""\uD800\uDC00""#), (#""\uDBFF\uDFFF""#, #""\uDBFF\uDFFF""#),
        (#""\uD7FF\uE000""#, #""\uD7FF\uE000""#),
        (#""\ud83d\ude00\ud83d\ude00""#, #""\ud83d\ude00\ud83d\ude00""#), (#""\\u12""#, #""\\u12""#),
        (#""\\ud800""#, #""\\ud800""#),
        ("\"é\"", "\"é\""), ("\"日本\"", "\"日本\""), ("\"😀\"", "\"😀\""), ("\"\u{7F}\"", "\"\u{7F}\""),
        ("\"\u{80}\u{7FF}\u{800}\u{FFFD}\u{10000}\u{10FFFF}\"", "\"\u{80}\u{7FF}\u{800}\u{FFFD}\u{10000}\u{10FFFF}\""),
        ("\"\u{2028}\u{2029}\u{FEFF}\"", "\"\u{2028}\u{2029}\u{FEFF}\""), ("\"1234567\"", "\"1234567\""),
        ("\"12345678\"", "\"12345678\""), ("\"123456789\"", "\"123456789\""),
        (#""1234567\n90123456""#, #""1234567\n90123456""#), ("\"[1, 2 ]\"", "\"[1, 2 ]\""),
        ("\"{ } : ,\"", "\"{ } : ,\""), ("\"/* */\"", "\"/* */\""),
        // Arrays.
        ("[]", "[]"), ("[ ]", "[]"), ("[\n\n]", "[]"), ("[1]", "[1]"), ("[ 1 ]", "[1]"), ("[1,2]", "[1,2]"),
        ("[1 , 2]", "[1,2]"), ("[[]]", "[[]]"),
        ("[[],[]]", "[[],[]]"), ("[ [ ] , [ ] ]", "[[],[]]"),
        ("[null,true,false,0,\"\",[],{}]", "[null,true,false,0,\"\",[],{}]"),
        ("[\"a\\\\\",\"b\"]", "[\"a\\\\\",\"b\"]"),
        ("  [1]  ", "[1]"), ("[1,\t2,\r3,\n4]", "[1,2,3,4]"), ("[-0,-1.5e3]", "[-0,-1.5e3]"), ("[1.0 ]", "[1.0]"),
        ("[true ]", "[true]"),
        // Objects.
        ("{}", "{}"), ("{ }", "{}"), (#"{"a":1}"#, #"{"a":1}"#), (#"{ "a" : 1 }"#, #"{"a":1}"#),
        (#"{"a":1,"b":2}"#, #"{"a":1,"b":2}"#), (#"{"":0}"#, #"{"":0}"#),
        (#"{"b":1 ,"a":2}"#, #"{"b":1,"a":2}"#), (#"{"a":{"a":{"a":1}}}"#, #"{"a":{"a":{"a":1}}}"#),
        (#"{"a":1,"A":2}"#, #"{"a":1,"A":2}"#),
        (#"[{"a":1},{"a":1}]"#, #"[{"a":1},{"a":1}]"#),
        (#"{"a":[{"b":1},{"b":2}],"b":3}"#, #"{"a":[{"b":1},{"b":2}],"b":3}"#),
        (#"{"a\u0000b":1,"a":2}"#, #"{"a\u0000b":1,"a":2}"#),
        ("{\"\u{E9}\":1,\"e\u{301}\":2}", "{\"\u{E9}\":1,\"e\u{301}\":2}"), (#"{"\"":1,"\\":2}"#, #"{"\"":1,"\\":2}"#),
        (#"{"a":"a"}"#, #"{"a":"a"}"#),
        (#"{"abcdefgh":1,"abcdefghi":2,"abcdefghj":3}"#, #"{"abcdefgh":1,"abcdefghi":2,"abcdefghj":3}"#),
        (#"{"\u0000":1,"":2,"\u0000\u0000":3}"#, #"{"\u0000":1,"":2,"\u0000\u0000":3}"#),
    ]

    static let refused: [(String, Int)] = [
        // No value, or more after it.
        ("", 0), (" ", 1), ("\n\t\r ", 4), ("1 2", 2), ("null,", 4), ("[] []", 3), ("{}}", 2), ("[]]", 2),
        ("\"a\"b", 3), ("truefalse", 4), ("nullx", 4), ("1a", 1), ("[1]\u{0}", 3), ("\u{0}", 0), ("\u{C}1", 0),
        ("\u{A0}1", 0), ("1\u{B}", 1),
        // Byte order marks, comments, values of other languages.
        ("\u{FEFF}1", 0), ("\u{FEFF}", 0), (" \u{FEFF}1", 1), ("//\n1", 0), ("/* */1", 0), ("1 // one", 2), ("#", 0),
        ("'a'", 0), ("a", 0), ("NaN", 0), ("Infinity", 0), ("-Infinity", 1), ("undefined", 0), ("None", 0), ("True", 0),
        ("TRUE", 0), ("é", 0),
        // Incomplete or misspelled literals.
        ("t", 1), ("tru", 3), ("trux", 3), ("tRue", 1), ("f", 1), ("fals", 4), ("falze", 3), ("n", 1), ("nul", 3),
        ("nuLl", 2), ("[nul]", 4), ("[tru,1]", 4),
        // Numbers.
        ("-", 1), ("--1", 1), ("+1", 0), ("-+1", 1), (".5", 0), ("-.5", 1), ("1.", 2), ("1.e1", 2), ("1..2", 2),
        ("1.2.3", 3), ("1e", 2), ("1e+", 3), ("1e-", 3), ("1e+-1", 3), ("1ee1", 2), ("1e1.5", 3), ("1e1e1", 3),
        ("00", 1), ("01", 1), ("-01", 2), ("-00", 2), ("0x10", 1), ("1_000", 1), ("1,000", 1), ("1 000", 2), ("0.", 2),
        ("0e", 2), ("[1.]", 3), ("[-]", 2), ("[01]", 2), ("1f", 1), ("1E", 2), ("١", 0), ("- 1", 1), ("1. 5", 2),
        // Strings.
        ("\"", 1), ("\"a", 2), ("\"abcdefgh", 9), ("\"abcdefghijk", 12), ("\"\\", 2), ("\"\\\"", 3), ("\"\\x\"", 2),
        ("\"\\a\"", 2), ("\"\\'\"", 2), ("\"\\0\"", 2), ("\"\\U0041\"", 2), ("\"\\u\"", 3), ("\"\\u1\"", 4),
        ("\"\\u12\"", 5), ("\"\\u123\"", 6), ("\"\\u12G4\"", 5), ("\"\\u-123\"", 3), ("\"\\u 123\"", 3), ("\"\\u12", 5),
        ("\"\\\n\"", 2), ("\"\\é\"", 2),
        ("\"\n\"", 1), ("\"\t\"", 1), ("\"a\u{0}\"", 2), ("\"\u{1F}\"", 1), ("\"abcdefgh\u{1}\"", 9),
        ("\"abc\rdefghijk\"", 4), ("[\"a\nb\"]", 3), ("\"é\n\"", 3),
        // A lone surrogate: the offset of its escape's backslash. In the two cases with 9, the next escape is
        // malformed.
        ("\"\\ud800\"", 1), ("\"\\uD83D\"", 1), ("\"\\udc00\"", 1), ("\"\\udfff\"", 1), ("\"\\ud800a\"", 1),
        ("\"\\ud800\\n\"", 1), ("\"\\ud800\\u0041\"", 1), ("\"\\ud800\\ud800\"", 1), ("\"\\ud800\\ud800\\udc00\"", 1),
        ("\"\\ud83d\\ude00\\ude00\"", 13), ("\"\\ud800", 1), ("\"\\ud800\\", 1), ("\"\\ud800\\u", 9),
        ("\"\\ud800\\uZ\"", 9), ("\"a\\udc00\\ud800\"", 2),
        // Arrays.
        ("[", 1), ("]", 0), ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,]", 1), ("[,1]", 1), ("[1,,2]", 3), ("[1 2]", 3),
        ("[1}", 2), ("[1:2]", 2), ("[\"a\":1]", 4), ("[[]", 3), ("[[1]", 4), ("[[1],", 5), ("[1;2]", 2), ("[ ", 2),
        ("[1 ", 3), ("[}", 1), ("[\"a\"", 4), ("[\"a", 3), ("[1,\n]", 4), ("[1]]", 3), ("(1)", 0),
        // Objects.
        ("{", 1), ("}", 0), ("{\"a\"", 4), ("{\"a\":", 5), ("{\"a\":1", 6), ("{\"a\":1,", 7), ("{\"a\":1,}", 7),
        ("{,}", 1), ("{\"a\"}", 4), ("{\"a\",\"b\"}", 4), ("{\"a\":}", 5), ("{\"a\" 1}", 5), ("{\"a\"::1}", 5),
        ("{a:1}", 1), ("{'a':1}", 1), ("{1:1}", 1), ("{null:1}", 1), ("{\"a\":1 \"b\":2}", 7), ("{\"a\":1]", 6),
        ("{\"a\":1,,\"b\":2}", 7), ("{[]:1}", 1), ("{\"a\":1;}", 6), ("{\"a\"=1}", 4), ("{ ", 2), ("{]", 1),
        ("{\"a", 3), ("{\"a\\", 4), ("{\"a\":1}}", 7), ("{\"a\":1:2}", 6), ("{:1}", 1), ("{\"a\":{\"b\":1}", 12),
        ("{\"a\":1, }", 8),
        // Repeated names: the offset of the second one's quote.
        (#"{"a":1,"a":1}"#, 7), (#"{"a":1,"b":2,"a":3}"#, 13), (#"{"a":1,"\u0061":2}"#, 7),
        (#"{"\u0061":1,"a":2}"#, 12), (#"{"":1,"":2}"#, 6), (#"{"x":{"a":1,"b":2,"a":3}}"#, 18),
        (#"{"x":{"x":1},"x":2}"#, 13),
        (#"{"a/b":1,"a\/b":2}"#, 9), (#"{"abcdefgh":1,"abcdefgh":2}"#, 14),
        (#"{"abcdefghijklmnop":1,"abcdefghijklmnop":2}"#, 22), (#"[{"a":1},{"b":1, "b":2}]"#, 17),
        (#"{"😀":1,"\ud83d\ude00":2}"#, 10), (#"{"\n":1,"\u000a":2}"#, 8),
    ]

    @Test("A valid JSON text is accepted and has the expected compact form", arguments: accepted)
    func acceptsAndCompacts(_ text: String, _ compact: String) throws {
        let parsed = try JSONText(parsing: text)
        #expect(parsed.text == compact)
        #expect(parsed.count == compact.utf8.count)
        #expect(try JSONText(parsing: parsed.bytes) == parsed)
        #expect(try JSONText(parsing: parsed.pretty()) == parsed)
        #expect(JSONText(parsed.value()).value() == parsed.value())
        #expect(try JSONText(parsing: "[\(text),\(text)]").elements() == [parsed, parsed])
        #expect(try JSONText(parsing: "{\"x\":\(text)}")["x"] == parsed)
    }

    @Test("A malformed JSON text is refused with the offset of the wrong byte", arguments: refused)
    func faultOffsets(_ text: String, _ offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSONText(parsing: text) }
        #expect(error?.offset == offset, "\(text.debugDescription): \(error.map(String.init(describing:)) ?? "")")
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        // The same fault inside an array, except after a complete value.
        let before = Array(text.utf8.prefix(offset))
        guard text.utf8.count > offset, (try? JSONText(parsing: before)) == nil, !text.hasPrefix("\u{FEFF}") else {
            return
        }
        let inner = #expect(throws: JSONError.self) { try JSONText(parsing: "[ 7, " + text) }
        #expect(inner?.offset == offset + 5)
    }

    @Test("The test cases contain at least 250 valid and malformed JSON texts")
    func thereAreEnoughCases() {
        #expect(Self.accepted.count + Self.refused.count >= 250)
    }

    /// Up to four bytes at the borders of the ranges in RFC 3629, section 4.
    @Test("The parser accepts exactly the UTF-8 that Swift's standard library accepts")
    func utf8() {
        let borders: [UInt8] = [
            0x20, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
            0xEF, 0xF0, 0xF1, 0xF3,
            0xF4, 0xF5, 0xFF,
        ]
        var cases: [[UInt8]] = [[]]
        for _ in 0..<4 {
            cases = cases.flatMap { prefix in borders.map { prefix + [$0] } }
            for bytes in cases where bytes.count < 4 || bytes[0] > 0x7F {
                let isValid = String(validating: bytes, as: UTF8.self) != nil
                let text: [UInt8] = [0x22] + bytes + [0x22]
                #expect(((try? JSONText(parsing: text)) != nil) == isValid, "\(bytes)")
            }
        }
    }

    @Test(
        "A text with malformed UTF-8 or another wrong byte is refused with the offset of the fault's first byte",
        arguments: [
            ([0x22, 0xC3, 0x22], 1), ([0x22, 0x61, 0xE2, 0x82, 0x22], 2), ([0x22, 0xC3, 0xA9, 0xC0, 0x80, 0x22], 3),
            ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
            ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1), ([0x22, 0x80, 0x22], 1), ([0x22, 0xF0, 0x9F, 0x98], 1),
            ([0xFF, 0xFE, 0x31, 0x00], 0), ([0x31, 0x00], 1),
            ([0x22, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0xFF, 0x22], 9),
            ([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], 2), ([0x5B, 0xC3, 0xA9, 0x5D], 1), ([0x5B, 0x31, 0xFF], 2),
        ] as [([UInt8], Int)])
    func refusesMalformedBytesWhereTheyStart(_ bytes: [UInt8], _ offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSONText(parsing: bytes) }
        #expect(error?.offset == offset)
    }

    @Test(
        "A parsing error's message contains the position of the fault and says what is wrong",
        arguments: [
            ("", "1:1: the text ends, but a value must follow"),
            ("[1,\n  \"x\" 2", "2:7: /1: expected `,` or `]`, but found `2`"),
            ("[1,]", "1:4: /1: remove the comma before this `]`: JSON allows none after the last element"),
            (#"{"a":1,}"#, "1:8: remove the comma before this `}`: JSON allows none after the last member"),
            (#"{"a/b":{"c":[0,{"d":tru}]}}"#, "1:24: /a~1b/c/1/d: expected `true`, but found `}`"),
            (#"{"a":[{"\u0062":1,"b":2}]}"#, #"1:19: /a/0/b: the member name "b" is in this object twice"#),
            ("01", "1:2: a number must not start with a needless zero"),
            ("\"a\tb\"", "1:3: the control character U+0009 must be escaped inside a string"),
            ("é", "1:1: expected a value, but found `é` (U+00E9)"),
            ("1 1", "1:3: expected the end of the text, but found `1`"),
            ("{\r\n\"a\" 1}", "2:5: /a: expected `:`, but found `1`"),
            ("\"\\q\"", "1:3: expected one of `\"\\/bfnrtu`, but found `q`"),
            ("\u{FEFF}{}", "1:1: the text must not start with a byte order mark"),
            ("[\"é\",x]", "1:7: /1: expected a value, but found `x`"),
        ])
    func saysWhatIsWrongAndWhere(_ text: String, _ message: String) {
        let error = #expect(throws: JSONError.self) { try JSONText(parsing: text) }
        #expect(error?.description == message)
    }

    // MARK: Depth

    @Test("The parser accepts arrays and objects that are nested up to the limit")
    func nesting() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            func nested(_ depth: Int) -> String {
                String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            }
            for limit in [0, 1, 2, 128] {
                let text = try JSONText(parsing: nested(limit), depthLimit: limit)
                #expect(text.depth == limit)
                let error = #expect(throws: JSONError.self) {
                    try JSONText(parsing: nested(limit + 1), depthLimit: limit)
                }
                #expect(error?.offset == limit * open.utf8.count)
            }
            #expect(
                try JSONText(parsing: nested(1000), depthLimit: .max).value()
                    == JSONText(parsing: nested(1000), depthLimit: .max).value())
            #expect(throws: JSONError.self) { try JSONText(parsing: nested(1_000_000), depthLimit: .max) }
            #expect(throws: JSONError.self) { try JSONText(parsing: nested(1), depthLimit: -1) }
        }
    }

    // MARK: Names

    @Test(
        "A duplicate name is found in an object with many names", arguments: [2, 15, 16, 17, 18, 63, 64, 65, 66, 500])
    func duplicateNames(_ count: Int) throws {
        for duplicate in Set([0, 1, count / 2, count - 1]) {
            for long in ["", "a name longer than eight bytes "] {
                let members = (0..<count).map { "\"\(long)\($0)\":{\"0\":1,\"1\":2}" }.joined(separator: ",")
                #expect(try JSONText(parsing: "{\(members)}").members()?.count == count)
                let error = #expect(throws: JSONError.self) {
                    try JSONText(parsing: "{\(members),\"\(long)\(duplicate)\":0}")
                }
                #expect(error?.offset == members.utf8.count + 2)
                let escaped = #expect(throws: JSONError.self) {
                    try JSONText(parsing: "{\(members),\"\(long)\\u003\(duplicate % 10)\":0}")
                }
                if duplicate < 10 { #expect(escaped?.offset == members.utf8.count + 2) }
            }
        }
    }

    @Test("The same name in different objects is not a duplicate")
    func namesOfOtherObjects() throws {
        // The same 40 names at each depth, some with escapes.
        func object(_ depth: Int) -> String {
            let members = (0..<40).map { index in
                (index % 7 == 0 ? "\"\\u006e\(index)\"" : "\"n\(index)\"") + ":"
                    + (depth > 0 && index % 20 == 17 ? object(depth - 1) : "0")
            }
            return "{" + members.joined(separator: ", ") + "}"
        }
        let text = object(4)
        #expect(try JSONText(parsing: text).members()?.count == 40)
        #expect(throws: JSONError.self) { try JSONText(parsing: String(text.dropLast()) + ",\"n17\":1}") }
        #expect(throws: JSONError.self) { try JSONText(parsing: String(text.dropLast()) + ",\"n0\":1}") }
        #expect(try JSONText(parsing: String(text.dropLast()) + ",\"n40\":1}").members()?.count == 41)
    }

    @Test("Checking the many names of an object for duplicates takes linear time", .timeLimit(.minutes(1)))
    func manyNamesTakeLinearTime() throws {
        let clock = ContinuousClock()
        for prefix in ["", String(repeating: "a", count: 100), "\\u0061"] {
            let text = Array(("{" + (0..<100_000).map { "\"\(prefix)\($0)\":0" }.joined(separator: ",") + "}").utf8)
            var count: Int?
            let time = clock.measure { count = try? JSONText(parsing: text).count }
            #expect(count == text.count && time < .seconds(100))
        }
    }
}
