import Testing

@testable import BraidServer

@Suite struct QuotedListTests {
    @Test(
        "A list is split at separators outside of quoted strings",
        arguments: [
            ("a,b", ["a", "b"]), (",a,,b,", ["a", "b"]), ("", []), (#"a="x,y",b"#, [#"a="x,y""#, "b"]),
            (#"a="\",b",c"#, [#"a="\",b""#, "c"]), (#"a="\\",b"#, [#"a="\\""#, "b"]), (#"a="b,c"#, [#"a="b,c"#]),
            (#"a\,b"#, [#"a\"#, "b"]),
        ])
    func split(list: String, parts: [String]) {
        #expect(list.utf8[...].split(atUnquoted: ",", atMost: 9).compactMap { String($0) } == parts)
    }

    @Test("Parts after the limit are left out")
    func limit() {
        for limit in 1...4 {
            #expect("a,b,c".utf8[...].split(atUnquoted: ",", atMost: limit).count == min(limit, 3))
        }
    }

    @Test("A quoted parameter of `Accept` and `Prefer` is no element and no weight")
    func fields() {
        #expect(Accept(#"text/html;a=",application/json""#).weight(of: "application/json") == 0)
        #expect(Accept(#"application/json;a=";q=0""#).weight(of: "application/json") == 1_000)
        for (field, value) in [
            (#"a="x, return=minimal""#, nil), (#"a="\", return=minimal""#, nil),
            (#"a="b", Return = "minimal";c=d"#, "minimal"),
            (#"return=minimal;x="y, return=representation""#, "minimal"),
            ("return=minimal, return=representation", "minimal"),
        ] {
            #expect(parsedHead("GET", "/", [("Host", "x"), ("Prefer", field)]).returnPreference == value, "\(field)")
        }
    }
}
