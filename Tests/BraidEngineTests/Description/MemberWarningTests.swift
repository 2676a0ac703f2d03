import Testing

@testable import BraidEngine

/// Warnings about members that a value may lack, and about signs before an access.
@Suite struct MemberWarningTests {
    private static let item =
        #"{"schema":{"properties":{"id":{"type":"string"},"at":{"ref":"place"},"any":{},"map":{"values":{}}},"optionalProperties":{"note":{"type":"string"},"by":{"ref":"place"}},"definitions":{"place":{"properties":{"x":{"type":"int8"}},"optionalProperties":{"y":{"type":"int8"}}}}}}"#
    private static let open = #"{"schema":{"properties":{"id":{"type":"string"}},"additionalProperties":true}}"#

    /// Of two sections of items, and one of each other kind.
    private static func warnings(_ bindings: String, _ parts: String = "") throws -> [String] {
        try TableDescription(
            JSONText(
                parsing: """
                    {"table":"t","sections":["a","b","open","free"],"modelTypes":{"Item":\(item),"Open":\(open)},
                     "state":{"query":"","other":1},\(parts)"bindings":[\(bindings),
                     {"on":{"sections":["a","b"]},"cell":"C","modelType":"Item"},
                     {"on":{"section":"open"},"cell":"C","modelType":"Open"},{"on":{"section":"free"},"cell":"C"}]}
                    """)
        ).warnings.map { "\($0.pointer): \($0.detail)" }
    }

    /// On the rows of `section`.
    private static func pointers(_ members: String, on section: String = "a", with parts: String = "") throws
        -> [String]
    {
        try warnings(#"{"on":{"section":"\#(section)"},\#(members)}"#, parts).map {
            $0.replacing("/bindings/0", with: "").split(separator: ": ").first.map(String.init) ?? ""
        }
    }

    @Test("A member of `view` that is not declared causes a warning, and so does reading all of `user`")
    func viewers() throws {
        let view = #""view":{"query":""},"#
        #expect(try Self.pointers(#""header":"${view.query}${view.qery}""#, with: view) == ["/header"])
        #expect(
            try Self.pointers(
                #""header":"${user.role} ${user.claims.team}","footer":{"view":"F","viewModel":{"$eval":"user"}}"#)
                == ["/footer"])
        #expect(
            try Self.pointers(#""onTap":[{"setState":{"other":{"$eval":"user"}}}]"#).isEmpty, "handlers share nothing")
    }

    @Test("A sign before an access causes a warning that says where the brackets belong")
    func signs() throws {
        #expect(
            try Self.warnings(
                #"{"on":{"section":"free"},"editing":{"$if":"state.other && !model.done","then":"none","else":"delete"},"onTap":[{"if":"!defined('event')","do":[]},{"setState":{"other":"${-model.a[0]}"}}]}"#
            ) == [
                "/bindings/0/editing/$if: `!model.done` means `(!model).done`, which fails: write `!(model.done)`",
                "/bindings/0/onTap/0/if: `!defined(…)` means `(!defined)(…)`, which fails: write `!(defined(…))`",
                "/bindings/0/onTap/1/setState/other: `-model.a[…]` means `(-model).a[…]`, which fails: write `-(model.a[…])`",
            ])
        #expect(
            try Self.pointers(#""onTap":[{"if":"!(model.done) && !row && -(model.a) < 1","do":[]}]"#, on: "free") == [])
    }

    @Test("A member of `state` that the description does not declare causes a warning")
    func undeclaredState() throws {
        #expect(
            try Self.warnings(
                #"{"on":{"section":"a"},"header":"${state.qeury}","footer":{"$if":"state.open","then":"","else":""}}"#)
                == [
                    "/bindings/0/header: `state` of the description has no member `qeury`, without which `state.qeury` fails; did you mean `query`?",
                    "/bindings/0/footer/$if: `state` of the description has no member `open`, without which `state.open` fails; declare it, ask `'open' in state` first, or write `state['open']`, null without it",
                ])
        let reads = #""header":"${state.open}""#
        #expect(try Self.pointers(reads, with: #""templates":{"t":["${state.x}"]},"#) == ["/templates/t/0", "/header"])
        for fine in [
            #""header":"${state.query}${state['open']}""#,
            #""header":{"$if":"'open' in state","then":"${state.open}","else":""}"#,
            #""header":{"$let":{"state":{"open":1}},"in":"${state.open}"}"#,
            reads + #","onTap":[{"setState":{"open":1}}]"#,
            reads + #","onTap":[{"setState":{"$if":"row == 0","then":{"open":"${row}"},"else":{}}}]"#,
        ] { #expect(try Self.pointers(fine) == [], "\(fine)") }
    }

    @Test("A member that the schema of the row's model does not require causes a warning")
    func absentMembers() throws {
        #expect(
            try Self.warnings(
                #"{"on":{"sections":["a","b"]},"onTap":[{"setState":{"other":["${model.note}","${model.at.z}","${model.nothing}"]}}]}"#
            ) == [
                "/bindings/0/onTap/0/setState/other/0: a model of the type \"Item\" may lack `note`, and then `model.note` fails: ask `'note' in model` first, or write `model['note']`, null without it",
                "/bindings/0/onTap/0/setState/other/1: by the schema of the type \"Item\", `model.at` has no member `z`; it has `x`, `y`",
                "/bindings/0/onTap/0/setState/other/2: by the schema of the type \"Item\", `model` has no member `nothing`; it has `id`, `at`, `any`, `map`, `note`, `by`",
            ])
        let tap = #""onTap":[{"if":"model.at.x + model.at.y + model.by.x","do":[]}]"#
        #expect(try Self.pointers(tap) == ["/onTap/0/if", "/onTap/0/if"])
        for section in ["open", "free"] { #expect(try Self.pointers(tap, on: section) == []) }
        #expect(try Self.warnings(#"{"on":"anySection",\#(tap)}"#) == [], "the sections have several types")
        for fine in [
            #""onTap":[{"if":"model.id + model.any.x + model.map.x + model['note'] + models.a[0].nothing","do":[]}]"#,
            #""onTap":[{"if":"'by' in model && !('y' in model.by)","do":[],"else":[{"emit":{"name":"e","payload":"${model.by.y}"}}]}]"#,
            #""onTap":[{"setState":{"other":{"$map":[1],"each(model)":"${model.nothing}"}}}]"#,
        ] { #expect(try Self.pointers(fine) == [], "\(fine)") }
        #expect(
            try Self.pointers(
                #""onTap":[{"if":"'note' in model","do":[]}],"editing":{"$if":"model.note","then":"none","else":"none"}"#
            )
                == ["/editing/$if"])
    }

    @Test("What `shown` asks is true wherever its binding reads the model")
    func shownAsks() throws {
        let warnings = try TableDescription(
            JSONText(
                parsing:
                    #"{"table":"t","modelTypes":{"Item":\#(Self.item)},"bindings":[{"cell":"C","modelType":"Item","shown":"'note' in model","viewModel":"${model.note}${model.by.x}"}]}"#
            )
        ).warnings
        #expect(warnings.map { "\($0.pointer) \($0.detail.contains("`by`"))" } == ["/bindings/0/viewModel true"])
    }

    @Test("A named handler or template reads the model of the bindings that use it")
    func namedParts() throws {
        let parts =
            #""templates":{"inner":{"note":"${model.note}"},"t":{"$template":"inner"}},"handlers":{"h":[{"setState":{"other":{"$template":"t"}}}],"r":[{"run":"h"}]},"#
        let uses = #"{"on":{"section":"a"},"onTap":"r"}"#
        #expect(
            try Self.warnings(uses, parts).map { String($0.prefix { $0 != ":" }) } == ["/templates/inner/note"])
        #expect(try Self.warnings(uses + #",{"on":{"section":"free"},"onTap":"h"}"#, parts) == [])
        #expect(try Self.warnings(#"{"on":{"section":"a"},"header":{"$let":{"model":{}},"in":""}}"#, parts) == [])
        #expect(
            try Self.warnings(#"{"on":{"section":"a"},"onTap":[{"if":"'note' in model","do":[{"run":"r"}]}]}"#, parts)
                == [])
    }
}
