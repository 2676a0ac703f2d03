import Foundation
import Testing

/// Against JSON-e's reference implementation: stored cases and, with `pip install json-e`, fresh random ones.
///
/// `BRAID_ORACLE_SEED` and `BRAID_ORACLE_COUNT` choose others; `Tests/Oracles/write-jsone-golden` writes the stored
/// ones.
@Suite struct TemplateOracleTests {
    private static let oracle = PythonOracle(script: "jsone_oracle.py", module: "jsone")

    @Test("All 1,175 test cases of JSON-e's specification pass")
    func theSpecificationHolds() throws {
        let url = try #require(
            Bundle.module.url(forResource: "jsone-specification", withExtension: "jsonl", subdirectory: "Golden"))
        let cases = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { OracleCase($0) }
        #expect(cases.count == 1_175)
        let wrong = cases.filter { !$0.isAsSpecified }
        for wrong in wrong.prefix(10) { Issue.record("\(wrong.line)\n  but was  \(wrong.actual)") }
        #expect(wrong.isEmpty)
    }

    @Test(
        "The engine agrees with the stored results of JSON-e's reference implementation",
        arguments: ["jsone-cases", "jsone-random"])
    func storedCasesAgree(file: String) throws {
        let url = try #require(Bundle.module.url(forResource: file, withExtension: "jsonl", subdirectory: "Golden"))
        let cases = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { OracleCase($0) }
        #expect(cases.count > 200)
        report(cases)
    }

    @Test(
        "The engine agrees with JSON-e's reference implementation on fresh random cases",
        .enabled(if: Self.oracle.isInstalled, "needs python3 with the package json-e"))
    func freshCasesAgree() throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["BRAID_ORACLE_SEED"] ?? "7"
        let cases = try Self.oracle.lines(["random", seed, environment["BRAID_ORACLE_COUNT"] ?? "4000"])
            .map { OracleCase($0) }
        report(cases)
    }

    private func report(_ cases: [OracleCase]) {
        let disagreements = cases.compactMap(\.disagreement)
        for disagreement in disagreements.prefix(10) { Issue.record("\(disagreement)") }
        #expect(disagreements.isEmpty, "\(disagreements.count) of \(cases.count)")
    }
}
