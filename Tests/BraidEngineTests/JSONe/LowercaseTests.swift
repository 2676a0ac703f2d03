import Foundation
import Testing

@testable import BraidEngine

@Suite struct LowercaseTests {
    static let oracle = PythonOracle(script: "lowercase_oracle.py", module: "json")

    /// A sigma, another letter, a case-ignorable letter and mark, two characters that end a word.
    @Test("`lowercase` is as in Python for every short text with a sigma", .enabled(if: oracle.isInstalled))
    func asInPython() throws {
        let lines = try Self.oracle.lines(["ΣΑʰ\u{301}.1"])
        #expect(lines.count == 1 + 6 + 36 + 216 + 1_296 + 7_776)
        for line in lines {
            let pair = try JSONText(parsing: String(line)).elements()?.compactMap(\.stringValue) ?? []
            #expect(pair.count == 2 && Array(pair[0].inLowerCase.utf8) == Array(pair[1].utf8), "\(pair)")
        }
    }

    @Test("`lowercase` writes a final sigma in a template")
    func inATemplate() throws {
        let template = try JSONeTemplate(["$eval": "lowercase('ΟΔΥΣΣΕΥΣ ΣΑΣ, İ')"])
        var budget = JSONeBudget()
        #expect(try template.render(JSONeContext(now: ""), budget: &budget) == "οδυσσευς σας, i̇")
    }
}
