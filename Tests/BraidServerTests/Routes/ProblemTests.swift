import BraidEngine
import BraidSessions
import BraidStore
import Testing

@testable import BraidServer

@Suite struct ProblemTests {
    @Test(
        "If the database temporarily accepts no commits, the answer is 503 with Retry-After"
    )
    func triedAgain() {
        for error: StoreError in [
            .readOnly(path: "x"), .busy(path: "x"), .unavailable("x"), .closed, .revisionConflict,
        ] {
            let problem = ProblemError(error)
            #expect(problem?.problem == .unavailable && problem?.headers.first?.0 == "Retry-After", "\(error)")
        }
    }

    @Test("If it is not known whether a change is stored, the answer is 503 with a type of its own and Retry-After")
    func outcomeUnknown() {
        let problem = ProblemError(StoreError.outcomeUnknown("x"))
        #expect(problem?.problem == .outcomeUnknown && problem?.status == 503)
        #expect(problem?.headers.first?.0 == "Retry-After")
    }

    @Test("An error counts as a refusal for sessions exactly if its status is 4xx")
    func refusals() {
        let store: [StoreError] = [
            .sessionExists, .sessionMissing, .revisionConflict, .tableMissing, .exhausted, .tooLarge, .closed, .full,
            .io("x"), .busy(path: "x"), .corrupt("x"), .unavailable("x"), .readOnly(path: "x"),
            .outcomeUnknown("x"),
        ]
        let errors: [any Error] =
            SessionError.Code.allCases.map { SessionError($0, "x") } + Refusal.Code.allCases.map { Refusal($0, "x") }
            + store + [CancellationError()]
        for error in errors {
            let status = ProblemError(error)?.problem.status ?? 500
            #expect(SessionError.isRefusal(error) == (status < 500), "\(error)")
        }
        for code in Refusal.Code.allCases { #expect(Problem(rawValue: code.rawValue) != nil, "\(code)") }
    }

    @Test("Every problem page has a summary, a cause, a remedy and an example of the problem's type")
    func everyProblemIsExplained() throws {
        #expect(Set(Problem.pages.members()?.map(\.name) ?? []) == Set(Problem.allCases.map(\.rawValue)))
        for problem in Problem.allCases {
            let entry = Problem.pages[problem.rawValue]
            #expect(entry?.members()?.map(\.name) == ["summary", "cause", "remedy", "example"], "\(problem.rawValue)")
            let parts = entry?["example"]?.members()?.map(\.name) ?? []
            #expect(parts.filter { $0 != "errors" } == ["instance", "detail"], "\(problem.rawValue)")
            var writer = JSONWriter()
            writer.object(problem.writePage)
            let page = try JSONText(parsing: writer.bytes)
            for member in ["detail", "cause", "remedy"] {
                #expect(page[member]?.stringValue?.hasSuffix(".") == true, "\(problem.rawValue): \(member)")
            }
            let example = try #require(page["example"])
            for member in ["type", "title", "status"] {
                #expect(example[member] == page[member], "\(problem.rawValue): \(member)")
            }
            #expect(example["type"]?.stringValue == "/problems/\(problem.rawValue)")
            #expect(example["status"]?.intValue == problem.status)
            #expect(example["detail"]?.stringValue?.isEmpty == false)
            for fault in example["errors"]?.elements() ?? [] {
                #expect(fault["code"]?.stringValue.flatMap(Refusal.Fault.Code.init(rawValue:)) != nil)
                #expect(fault["pointer"]?.stringValue.flatMap { JSONPointer($0) } != nil)
            }
        }
    }

    @Test("A problem document leaves out the middle of long texts, and the end of long pointers")
    func longTexts() throws {
        let long = String(repeating: "ä", count: 1_000_000)
        let fault = Refusal.Fault(
            pointer: JSONPointer(tokens: ["commands", "0", long, "x"]), code: .unknownName, detail: "no \(long)!")
        let error = ProblemError(Refusal(.badRequest, "The \(long).", faults: [fault]))
        let document = try JSONText(parsing: error.response(path: "/v1/x", requestID: "r").body.bytes ?? [])
        let start = String(repeating: "ä", count: 996), end = String(repeating: "ä", count: 999)
        #expect(document["detail"]?.stringValue == "The \(start)…\(end).")
        let told = try #require(document["errors"]?.elements()?.first)
        #expect(told["pointer"]?.stringValue == "/commands/0")
        #expect(told["detail"]?.stringValue?.unicodeScalars.count == 2_001)
    }

    @Test("The detail of a problem names the first fault, and says if there are more faults")
    func detailNamesTheFirstFault() {
        let first = Refusal.Fault(
            pointer: JSONPointer(tokens: ["a", "0"]), code: .wrongType, detail: "must be a string")
        let one = ProblemError(Refusal(.modelInvalid, "A model is not valid.", faults: [first]))
        #expect(one.detail == "A model is not valid. At \"/a/0\": must be a string.")
        let several = ProblemError(Refusal(.modelInvalid, "A model is not valid.", faults: [first, first]))
        #expect(several.detail == "\(one.detail) `errors` lists all faults.")
        let long = Refusal.Fault(
            pointer: JSONPointer(tokens: [String(repeating: "a", count: 2_000)]), code: .wrongType,
            detail: "must be a string")
        let shortened = ProblemError(Refusal(.modelInvalid, "A model is not valid.", faults: [long]))
        #expect(shortened.detail == "A model is not valid. At the first pointer of `errors`: must be a string.")
        let none = ProblemError(Refusal(.modelInvalid, "A model is not valid."))
        #expect(none.detail == "A model is not valid.")
    }
}
