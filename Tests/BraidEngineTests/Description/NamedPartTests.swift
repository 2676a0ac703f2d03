import Testing

@testable import BraidEngine

/// Named handlers and templates, event handlers without their cell's name, descriptions that declare no cells.
@Suite struct NamedPartTests {
    private static func faults(_ parts: String) throws -> [String] {
        let text = try JSONText(parsing: #"{"table":"t",\#(parts)}"#)
        return DescriptionCorpusTests.faults(of: text)?.map { "\($0.pointer) \($0.code.rawValue): \($0.detail)" } ?? []
    }

    private static func warnings(_ parts: String) throws -> [String] {
        try TableDescription(JSONText(parsing: #"{"table":"t",\#(parts)}"#)).warnings.map {
            "\($0.pointer): \($0.detail)"
        }
    }

    @Test("Running a named handler has the same effect as its actions written out in the binding")
    func namedHandlersAreTheirSteps() throws {
        var session = try Played(
            """
            {"table":"t","state":{"n":0},"cells":{"C":{"events":{"e":{}}}},
             "handlers":{"add":[{"setState":{"n":{"$eval":"state.n + model.by"}}}],"twice":[{"run":"add"},{"if":"state.n < 100","do":[{"run":"add"}]}],
                         "said":[{"update":{"merge":{"said":{"$eval":"event"}}}},{"run":"add"}]},
             "bindings":[{"cell":"C","models":[{"id":"1","by":3}],"onTap":"twice","onEvent":{"e":"said"}}]}
            """)
        try session.perform(.tap(.at(.displayed(0), row: 0)))
        #expect(session.snapshot.state.text == #"{"n":6}"#)
        try session.perform(.event(.at(.displayed(0), row: 0), name: "e", parameters: .number(7)))
        #expect(session.snapshot.state.text == #"{"n":9}"#)
        #expect(session.table["table"]?.rows.map(\.model.text) == [#"{"id":"1","by":3,"said":7}"#])
    }

    @Test("A named template reads the names that are defined where it is used")
    func namedTemplatesReadTheirPlace() throws {
        let session = try Played(
            """
            {"table":"t","sections":["a","b"],"templates":{"line":"${item.n}!","row":{"title":"${model.id}","all":{"$map":{"$eval":"model.items"},"each(item)":{"$template":"line"}}}},
             "bindings":[
              {"on":{"section":"a"},"cell":"C","models":[{"id":"1","items":[{"n":1},{"n":2}]}],"viewModel":{"$template":"row"}},
              {"on":{"section":"b"},"cell":"C","models":[{"id":"2","items":[]}],"viewModel":{"$merge":[{"$template":"row"},{"isLast":true}]}}]}
            """)
        #expect(
            session.snapshot.sections.map { $0.rows[0].json["viewModel"]?.text } == [
                #"{"title":"1","all":["1!","2!"]}"#, #"{"title":"2","all":[],"isLast":true}"#,
            ])
    }

    @Test("Unknown handler and template names, and cycles of them, are refused with the pointer to their place")
    func faultyNamesAreRefused() throws {
        let bindings = #""bindings":[{"cell":"C","onTap":"edit","viewModel":{"a":{"$template":"row"}}}]"#
        #expect(
            try Self.faults(bindings) == [
                "/bindings/0/viewModel/a/$template unknown-name: `templates` contains no template \"row\"",
                "/bindings/0/onTap unknown-name: `handlers` contains no handler \"edit\"",
            ])
        #expect(
            try Self.faults(#""handlers":{"edits":[]},"templates":{"rows":1},"# + bindings) == [
                "/bindings/0/viewModel/a/$template unknown-name: `templates` contains no template \"row\"; did you mean `rows`?",
                "/bindings/0/onTap unknown-name: `handlers` contains no handler \"edit\"; did you mean `edits`?",
            ])
        #expect(
            try Self.faults(
                #""handlers":{"edit":[{"if":"true","do":[{"run":"other"}]}],"other":[{"run":"edit"}]},"templates":{"row":[{"$template":"row"}]},"#
                    + bindings) == [
                    "/templates/row/0/$template conflict: the template uses itself: `row`, which uses `row`",
                    "/handlers/other/0/run conflict: the handler uses itself: `edit`, which uses `other`, which uses `edit`",
                ])
        #expect(
            try Self.faults(#""handlers":{"edit":[{"run":1}]},"templates":{"row":{"$template":1}},"# + bindings) == [
                "/templates/row/$template invalid-value: $template must be given the name of a template",
                "/handlers/edit/0/run wrong-type: the name of a handler must be a string",
            ])
        #expect(
            try Self.faults(#""handlers":{"edit":"other","other":[{"zap":1}]},"templates":{"row":"${"},"# + bindings)
                .map {
                    String($0.prefix { $0 != " " })
                } == ["/templates/row", "/handlers/edit", "/handlers/other/0/zap", "/handlers/other/0"])
    }

    @Test("A fault about an unknown name lists at most eight of the known names")
    func longListsOfNames() throws {
        let handlers = (101...120).map { #""handler \#($0)":[]"# }.joined(separator: ",")
        let listed = (101...108).map { "`handler \($0)`" }.joined(separator: ", ")
        #expect(
            try Self.faults(#""handlers":{\#(handlers)},"bindings":[{"cell":"C","onTap":"x"}]"#) == [
                "/bindings/0/onTap unknown-name: `handlers` contains no handler \"x\"; it contains \(listed) and 12 more"
            ])
        let templates = (1_001...1_300).map { #""t\#($0)":1"# }.joined(separator: ",")
        let uses = Array(repeating: #"{"$template":"x"}"#, count: 300).joined(separator: ",")
        let faults = try Self.faults(
            #""templates":{\#(templates)},"bindings":[{"cell":"C","viewModel":[\#(uses)]}]"#)
        #expect(faults.count == 100)
        #expect(faults.allSatisfy { $0.utf8.count < 250 && $0.hasSuffix(" and 292 more") })
    }

    @Test("A similar name is suggested whatever its case, also among more names than a fault lists")
    func similarNamesAreSuggested() throws {
        let handlers = (101...120).map { #""h\#($0)":[]"# }.joined(separator: ",")
        for (name, meant) in [("EDIT", "edit"), ("edits", "edit"), ("H120", "h120")] {
            #expect(
                try Self.faults(
                    #""handlers":{\#(handlers),"edit":[]},"bindings":[{"cell":"C","onTap":"\#(name)"}]"#) == [
                        "/bindings/0/onTap unknown-name: `handlers` contains no handler \"\(name)\"; did you mean `\(meant)`?"
                    ])
        }
    }

    @Test("A fault in a named handler or template is reported once, however often it is used")
    func faultsAreReportedOnce() throws {
        let uses = (0..<9).map {
            #"{"on":{"section":"s\#($0)"},"cell":"C","onTap":"edit","viewModel":{"$template":"row"}}"#
        }
        #expect(
            try Self.faults(
                """
                "sections":[\((0..<9).map { "\"s\($0)\"" }.joined(separator: ","))],"handlers":{"edit":[{"insert":{}}]},"templates":{"row":"${1 +}"},
                "bindings":[\(uses.joined(separator: ","))]
                """
            ).count == 2)
    }

    @Test("If a named handler reads a name that its caller does not define, the call causes a warning")
    func unprovidedNamesAreWarnedOf() throws {
        let handlers =
            #""handlers":{"a":[{"run":"b"}],"b":[{"if":"event.x","do":[]}],"c":[{"if":"defined('reason') && reason == 1","do":[]}]},"#
        #expect(
            try Self.warnings(
                handlers
                    + #""bindings":[{"cell":"C","onTap":"a","onDelete":[{"run":"c"},{"run":"b"}],"onEvent":{"e":"a"}}]"#
            )
                == [
                    "/bindings/0/onDelete/1/run: the handler `b` reads `event`, but nothing gives this name here",
                    "/bindings/0/onTap: the handler `a` reads `event`, but nothing gives this name here",
                ])
        #expect(
            try Self.warnings(#""templates":{"t":"${nmae}"},"bindings":[{"cell":"C","viewModel":{"$template":"t"}}]"#)
                .map { String($0.prefix { $0 != ":" }) } == ["/bindings/0/viewModel"])
        #expect(
            try Self.warnings(
                #""handlers":{"a":[{"update":{"merge":{}}}]},"bindings":[{"cell":"C","modelsFrom":[],"onTap":"a"}]"#
            ).map { String($0.prefix { $0 != ":" }) } == ["/bindings/0/onTap"])
    }

    @Test("Named handlers and templates cannot multiply their work beyond the limit of template steps")
    func partsCannotMultiply() throws {
        // Each part uses the one before twice: the last would run 2^20 steps, or render 2^20 texts.
        let handlers = (0..<20).map { #""h\#($0)":[{"run":"h\#($0 - 1)"},{"run":"h\#($0 - 1)"}]"# }
        let templates = (0..<20).map { #""t\#($0)":[{"$template":"t\#($0 - 1)"},{"$template":"t\#($0 - 1)"}]"# }
        var session = try Played(
            """
            {"table":"t","handlers":{"h-1":[],\(handlers.joined(separator: ","))},"templates":{"t-1":"${model.id}",\(templates.joined(separator: ","))},
             "bindings":[{"cell":"C","models":[{"id":"1"}],"onTap":"h19","onDelete":[{"setState":{"a":{"$template":"t19"}}}],"editing":"delete"}]}
            """)
        session = try Played(binder: Self.cheap(session.binder), table: session.table)
        for command in [Command.tap(.at(.displayed(0), row: 0)), .delete(.at(.displayed(0), row: 0))] {
            let refusal = #expect(throws: Refusal.self) { try session.perform(command) }
            #expect(refusal?.code == .templateFailed, "\(refusal?.detail ?? "")")
        }
        // A long chain would need a lot of stack.
        for (member, use) in [("handlers", #"[{"run":"p\#("%")"}]"#), ("templates", #"[{"$template":"p\#("%")"}]"#)] {
            let parts = (0..<500).map { index in
                #""p\#(index)":"# + use.split(separator: "%").joined(separator: String(index - 1))
            }
            for order in [parts, parts.reversed()] {
                let faults = try Self.faults(
                    #""\#(member)":{"p-1":[],\#(order.joined(separator: ","))},"bindings":[]"#)
                #expect(!faults.isEmpty && faults.allSatisfy { $0.contains("conflict") || $0.contains("invalid") })
            }
        }
    }

    private static func cheap(_ binder: Binder) -> Binder {
        var binder = binder
        binder.limits.templateSteps = 100_000
        return binder
    }

    @Test("A constant text counts towards the limit of rendered bytes each time an action copies it")
    func constantsAreCharged() throws {
        let inserts = (0..<100).map {
            #"{"insert":{"section":"table","model":{"id":"\#($0)","t":{"$template":"big"}}}}"#
        }
        var session = try Played(
            """
            {"table":"t","templates":{"big":"\(String(repeating: "x", count: 200_000))"},
             "bindings":[{"cell":"C","models":[{"id":"a"}],"onTap":[\(inserts.joined(separator: ","))]}]}
            """)
        var binder = session.binder
        binder.limits.renderedBytes = 1_000_000
        session = try Played(binder: binder, table: session.table)
        let refusal = #expect(throws: Refusal.self) { try session.perform(.tap(.at(.displayed(0), row: 0))) }
        #expect(refusal?.code == .templateFailed)
    }

    @Test("`onEvent` needs the cell's name only if the binding has no `cell`")
    func onEventWithoutCell() throws {
        var session = try Played(
            """
            {"table":"t","cells":{"C":{"events":{"e":{},"C":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"}],
             "onEvent":{"e":[{"setState":{"e":1}}],"C":{"C":[{"setState":{"C":1}}]}}}]}
            """)
        for event in ["e", "C"] {
            try session.perform(.event(.at(.displayed(0), row: 0), name: event, parameters: .null))
        }
        #expect(session.snapshot.state.text == #"{"e":1,"C":1}"#)
        let cells = #""cells":{"C":{"events":{"e":{}}}},"#
        #expect(
            try Self.faults(cells + #""bindings":[{"cell":"C","onEvent":{"f":[]}}]"#).map { String($0.prefix(26)) } == [
                "/bindings/0/onEvent/f unkn"
            ])
        #expect(
            try Self.faults(cells + #""bindings":[{"cellProvider":"C","onEvent":{"e":[]}}]"#) == [
                "/bindings/0/onEvent/e conflict: only a binding with a `cell` may leave out the cell's name: write {cell: {event: handler}}"
            ])
    }

    @Test("A description without `cells` accepts every cell and every event")
    func cellsMayBeLeftOut() throws {
        var session = try Played(
            """
            {"table":"t","cellsForModelTypes":{"a":"A"},"bindings":[{"cellProvider":"${model.id}","models":[{"id":"X"},{"id":"Y"}],"onEvent":{"X":{"e":[{"setState":{"e":{"$eval":"event"}}}]}}}]}
            """)
        #expect(session.cells == ["X", "Y"])
        try session.perform(.event(.at(.displayed(0), row: 0), name: "e", parameters: .number(1)))
        #expect(session.snapshot.state.text == #"{"e":1}"#)
        #expect(
            try session.perform(.event(.at(.displayed(0), row: 1), name: "other", parameters: .null)).kind == .applied)
        #expect(try Self.faults(#""cells":{},"bindings":[{"cell":"C"}]"#).count == 1)
    }
}
