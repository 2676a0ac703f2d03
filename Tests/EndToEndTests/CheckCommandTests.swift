import Foundation
import Testing

/// `braid-server check FILE...`
@Suite struct CheckCommandTests {
    static func check(_ files: [String]) throws -> (output: String, status: Int32) {
        let run = try CommandRun(["check"] + files)
        return (run.output, run.status)
    }

    @Test("`check` prints every fault with its file, and with its line and column if the file can be read")
    func faults() throws {
        let directory = try TemporaryDirectory()
        let faulty = directory.path("faulty.json"), broken = directory.path("broken.json")
        try """
        { "table": "t",
          "cells": { "C": {} },
          "bindings": [
            { "cell": "D", "models": [] },
            { "on": "anySection", "onTap": [ { "setState": { "$eval": "1 +" } } ] }
          ] }
        """.write(toFile: faulty, atomically: true, encoding: .utf8)
        try "{ \"table\": \"t\",\n  oops }".write(toFile: broken, atomically: true, encoding: .utf8)
        let (output, status) = try Self.check([faulty, broken, directory.path("missing.json")])
        let lines = output.split(separator: "\n").map(String.init)
        #expect(status == 1)
        #expect(lines.count == 4)
        #expect(lines.first == "\(faulty):4:15: /bindings/0/cell: the cell \"D\" is not declared; add it to `cells`")
        #expect(
            lines.dropFirst().first?.hasPrefix("\(faulty):5:63: /bindings/1/onTap/0/setState/$eval: ") == true,
            "\(output)")
        #expect(lines.dropFirst(2).first?.hasPrefix("\(broken):2:3: ") == true, "\(output)")
        #expect(lines.last == "\(directory.path("missing.json")): does not exist")
    }

    @Test("An unknown name in an expression is only a warning, for `check` and for `/v1/tables/validate`")
    func unknownName() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("typo.json")
        let description = """
            { "table": "t", "cells": { "C": {} },
              "bindings": [{ "cell": "C",
                "viewModel": { "title": "${Model.title}" } }] }
            """
        try description.write(toFile: file, atomically: true, encoding: .utf8)
        let warning = "/bindings/0/viewModel: nothing gives the name `Model` here; did you mean `model`?"
        #expect(try Self.check([file]) == ("\(file):3:18: warning: \(warning)\n", 0))

        let answer = try ServerProcess().keptClient().request("POST", "/v1/tables/validate", description)
        #expect(answer.status == 200)
        let warnings = answer.object["warnings"] as? [[String: String]]
        #expect(warnings?.map { "\($0["pointer"] ?? ""): \($0["detail"] ?? "")" } == [warning])
    }

    @Test("With `check --strict`, a warning makes the exit status 1")
    func warningsAreErrorsIfStrict() throws {
        let directory = try TemporaryDirectory(), warned = directory.path("warned.json"),
            clean = directory.path("clean.json")
        for (path, title) in [(warned, "model.title"), (clean, "${model.title}")] {
            try
                #"{ "table": "t", "bindings": [{ "cell": "C", "models": [{ "id": "1", "title": "A" }], "viewModel": "\#(title)" }] }"#
                .write(toFile: path, atomically: true, encoding: .utf8)
        }
        let (output, status) = try Self.check([warned])
        #expect(status == 0 && output.contains(#": warning: /bindings/0/viewModel: the text "model.title" reads like"#))
        #expect(try Self.check(["--strict", warned]) == (output, 1))
        #expect(try Self.check(["--strict", clean]) == ("", 0))
        #expect(try Self.check(["--strict", clean, warned]).status == 1)
    }

    @Test(
        "If no session can be opened with a description, that is a fault for `check` and a warning for `validate`",
        arguments: [
            (
                #"{ "table": "t", "cells": { "C": { "viewModel": { "properties": { "title": { "type": "string" } } } } },"#
                    + #" "bindings": [{ "cell": "C", "viewModels": [{ "id": 1, "title": 2 }] }] }"#,
                #"The view model of row 0 of the section "table" is not what its cell "C" declares"#
            ),
            (
                #"{ "table": "t", "cells": { "C": {} }, "bindings": [{ "cell": "C", "models": [{ "id": 1 }], "viewModel": { "title": "${model.title}" } }] }"#,
                "title"
            ),
        ])
    func aDescriptionThatCannotBeOpenedIsFaulty(text: String, reason: String) throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("unopenable.json")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let (output, status) = try Self.check([file])
        #expect(
            output.hasPrefix("\(file):1:1: no session can be opened with the description's own models and state: "),
            "\(output)")
        #expect(output.contains(reason), "\(output)")
        #expect(status == 1)
        let client = try ServerProcess().keptClient()
        let opened = try client.request("POST", "/v1/sessions", #"{"table":\#(text)}"#)
        #expect(opened.status == 422, "\(opened.text)")
        let validated = try client.request("POST", "/v1/tables/validate", text),
            warnings = validated.object["warnings"] as? [[String: String]]
        #expect(validated.status == 200 && warnings?.map { $0["pointer"] } == [""], "\(validated.text)")
        #expect(output == "\(file):1:1: \(warnings?.first?["detail"] ?? "")\n", "the two say the same")
    }

    @Test("`check` also prints the warnings of a description with which no session can be opened")
    func warningsOfFaultyDescription() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("both.json")
        try
            #"{ "table": "t", "cells": { "C": {} }, "bindings": [{ "cell": "C", "models": [{ "id": 1 }], "viewModel": { "title": "${Model.title}" } }] }"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        let (output, status) = try Self.check([file])
        #expect(
            output.contains(": warning: /bindings/0/viewModel: ") && output.contains(": no session can be opened "),
            "\(output)")
        #expect(status == 1)
    }

    @Test("The table descriptions of the examples have neither faults nor warnings")
    func examples() throws {
        let root = ServerProcess.package.appendingPathComponent("Examples").path
        let files = (FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []).filter {
            $0.hasSuffix(".table.json")
        }.map { "\(root)/\($0)" }
        #expect(files.count >= 7)
        let (output, status) = try Self.check(files)
        #expect(output.isEmpty && status == 0, "\(output)")
    }
}
