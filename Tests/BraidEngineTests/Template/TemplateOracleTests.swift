import Foundation
import Testing

/// The engine against JSON-e's reference implementation: stored cases always, fresh ones where the reference is there.
///
/// To see the fresh ones run: `pip install json-e`. `BRAID_ORACLE_SEED` and `BRAID_ORACLE_COUNT` choose others.
/// To write the stored ones again: `Tests/Oracles/write-jsone-golden`.
@Suite struct TemplateOracleTests {
    @Test(arguments: ["jsone-cases", "jsone-random"])
    func storedCasesAgree(file: String) throws {
        let url = try #require(Bundle.module.url(forResource: file, withExtension: "jsonl", subdirectory: "Golden"))
        let cases = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { OracleCase($0) }
        #expect(cases.count > 200)
        report(cases)
    }

    @Test(.enabled(if: JSONeOracle.isInstalled, "needs python3 with the package json-e"))
    func freshCasesAgree() throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["BRAID_ORACLE_SEED"] ?? "7"
        let cases = try JSONeOracle.lines(["random", seed, environment["BRAID_ORACLE_COUNT"] ?? "4000"])
            .map { OracleCase($0) }
        report(cases)
    }

    private func report(_ cases: [OracleCase]) {
        let disagreements = cases.compactMap(\.disagreement)
        for disagreement in disagreements.prefix(10) { Issue.record("\(disagreement)") }
        #expect(disagreements.isEmpty, "\(disagreements.count) of \(cases.count)")
    }
}

enum JSONeOracle {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Oracles/jsone_oracle.py")

    static let isInstalled = (try? run(["-c", "import jsone"])) != nil

    static func lines(_ arguments: [String]) throws -> [Substring] {
        try run([script.path()] + arguments).split(separator: "\n")
    }

    private struct Failed: Error {}

    private static func run(_ arguments: [String]) throws -> String {
        let process = Process(), output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed() }
        return String(decoding: data, as: UTF8.self)
    }
}
