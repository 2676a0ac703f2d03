import Foundation
import Testing

@testable import BraidEngine

/// Against the Python implementation of JSON Type Definition: stored cases and, with `pip install jtd`, fresh random
/// ones.
///
/// `BRAID_ORACLE_SEED` and `BRAID_ORACLE_COUNT` choose others; `Tests/Oracles/write-jtd-golden` writes the stored ones.
@Suite struct SchemaOracleTests {
    private static let oracle = PythonOracle(script: "jtd_oracle.py", module: "jtd")

    @Test("The engine agrees with the stored results of the Python implementation of JSON Type Definition")
    func storedCasesAgree() throws {
        let url = try #require(
            Bundle.module.url(forResource: "jtd-random", withExtension: "jsonl", subdirectory: "SchemaGolden"))
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 100)
        try report(lines)
    }

    @Test(
        "The engine agrees with the Python implementation of JSON Type Definition on fresh random cases",
        .enabled(if: Self.oracle.isInstalled, "needs python3 with the package jtd"))
    func freshCasesAgree() throws {
        let environment = ProcessInfo.processInfo.environment
        try report(
            Self.oracle.lines([environment["BRAID_ORACLE_SEED"] ?? "7", environment["BRAID_ORACLE_COUNT"] ?? "4000"]))
    }

    private func report(_ lines: [Substring]) throws {
        let disagreements = try lines.compactMap(disagreement)
        for disagreement in disagreements.prefix(10) { Issue.record("\(disagreement)") }
        #expect(disagreements.isEmpty, "\(disagreements.count) of \(lines.count)")
    }

    /// In whether the schema is correct, or in the error indicators; `nil` if both agree.
    private func disagreement(_ line: Substring) throws -> String? {
        let value = try JSONValue(parsing: String(line))
        let example = try #require(value.objectValue)
        let (schema, faults) = try JTDSchema.compile(#require(example["schema"]))
        guard let errors = example["errors"]?.arrayValue else {
            return schema == nil ? nil : "\(line)\n  expected to be wrong"
        }
        guard let schema else { return "\(line)\n  expected to be correct, but was \(faults)" }
        let expected = errors.map { $0.arrayValue!.map { $0.stringValue! }.joined(separator: " ") }.inByteOrder
        let actual = try schema.errorIndicators(of: #require(example["instance"]), limit: .max).map(\.indicator)
            .inByteOrder
        return actual.hasSameBytes(as: expected) ? nil : "\(line)\n  expected \(expected)\n  but was  \(actual)"
    }
}
