import Testing

@testable import BraidEngine

/// One call on the table `start`, and what it leads to.
struct DataSourceCase: CustomTestStringConvertible, Sendable {
    var name: String
    /// As in the journal: name and arguments.
    var call: String
    /// In short form; `nil` if the call is ignored.
    var after: String?
    /// As JSON; `nil` for none.
    var notification: String?

    var testDescription: String { name }

    init(_ name: String, _ call: String, _ after: String?, _ notification: String?) {
        self.name = name
        self.call = call
        self.after = after
        self.notification = notification
    }

    /// Each section's title, and its rows in brackets.
    static let start = "A[a b c] B[d] -[]"

    static let all: [DataSourceCase] = [
        .init(
            "add a row before another", #"{"addRow":{"at":[0,1],"model":"x"}}"#, "A[a x b c] B[d] -[]",
            #"{"section":0}"#),
        .init(
            "add a row at the front", #"{"addRow":{"at":[1,0],"model":"x"}}"#, "A[a b c] B[x d] -[]", #"{"section":1}"#),
        .init(
            "add a row at the count: appended", #"{"addRow":{"at":[0,3],"model":"x"}}"#, "A[a b c x] B[d] -[]",
            #"{"section":0}"#),
        .init(
            "add a row far behind: appended", #"{"addRow":{"at":[2,99],"model":"x"}}"#, "A[a b c] B[d] -[x]",
            #"{"section":2}"#),
        .init(
            "add a row to no section: a new one", #"{"addRow":{"at":[3,0],"model":"x"}}"#, "A[a b c] B[d] -[] -[x]",
            #"{"dataSource":true}"#),
        .init(
            "add a row far beyond the sections",
            #"{"addRow":{"at":[9223372036854775807,9223372036854775807],"model":"x"}}"#, "A[a b c] B[d] -[] -[x]",
            #"{"dataSource":true}"#),
        .init("update a row", #"{"updateRow":{"at":[0,2],"model":"x"}}"#, "A[a b x] B[d] -[]", #"{"rows":[[0,2]]}"#),
        .init("update a row too high", #"{"updateRow":{"at":[0,3],"model":"x"}}"#, nil, nil),
        .init("update a row of an empty section", #"{"updateRow":{"at":[2,0],"model":"x"}}"#, nil, nil),
        .init("update a row of no section", #"{"updateRow":{"at":[3,0],"model":"x"}}"#, nil, nil),
        .init(
            "update a section's rows", #"{"updateRowsOfSection":{"at":1,"rows":["x","y","z"]}}"#,
            "A[a b c] B[x y z] -[]", #"{"rows":[[1,0],[1,1],[1,2]]}"#),
        .init(
            "update a section's rows to none", #"{"updateRowsOfSection":{"at":1,"rows":[]}}"#, "A[a b c] B[] -[]",
            #"{"rows":[]}"#),
        .init("update the rows of no section", #"{"updateRowsOfSection":{"at":3,"rows":["x"]}}"#, nil, nil),
        .init(
            "update rows by index path",
            #"{"updateRows":{"rows":[{"at":[0,1],"model":"x"},{"at":[1,0],"model":"y"}]}}"#, "A[a x c] B[y] -[]",
            #"{"rows":[[0,1],[1,0]]}"#),
        .init(
            "update rows, one too high: skipped",
            #"{"updateRows":{"rows":[{"at":[0,1],"model":"x"},{"at":[1,1],"model":"y"}]}}"#, "A[a x c] B[d] -[]",
            #"{"rows":[[0,1]]}"#),
        .init(
            "update rows, a section too high: all ignored",
            #"{"updateRows":{"rows":[{"at":[0,1],"model":"x"},{"at":[3,0],"model":"y"}]}}"#, nil, nil),
        .init(
            "update rows, none there", #"{"updateRows":{"rows":[{"at":[2,0],"model":"x"}]}}"#, start, #"{"rows":[]}"#),
        .init("update no rows", #"{"updateRows":{"rows":[]}}"#, start, #"{"rows":[]}"#),
        .init("remove a row", #"{"removeRow":{"at":[0,0]}}"#, "A[b c] B[d] -[]", #"{"dataSource":true}"#),
        .init("remove a section's only row", #"{"removeRow":{"at":[1,0]}}"#, "A[a b c] -[]", #"{"dataSource":true}"#),
        .init("remove a row too high", #"{"removeRow":{"at":[1,1]}}"#, nil, nil),
        .init("remove a row of no section", #"{"removeRow":{"at":[3,0]}}"#, nil, nil),
        .init(
            "add a section", #"{"addSection":{"section":{"header":"X","rows":["x"]},"at":1}}"#,
            "A[a b c] X[x] B[d] -[]", #"{"dataSource":true}"#),
        .init(
            "add a section at the front", #"{"addSection":{"section":{"rows":[]},"at":0}}"#, "-[] A[a b c] B[d] -[]",
            #"{"dataSource":true}"#),
        .init(
            "add a section at the end",
            #"{"addSection":{"section":{"header":"X","footer":"F","rows":["x"]},"at":null}}"#,
            "A[a b c] B[d] -[] X/F[x]", #"{"dataSource":true}"#),
        .init(
            "add a section out of bounds: at the end", #"{"addSection":{"section":{"rows":["x"]},"at":4}}"#,
            "A[a b c] B[d] -[] -[x]", #"{"dataSource":true}"#),
        .init(
            "update a section's data", #"{"updateSectionData":{"at":0,"header":"X","footer":"F"}}"#,
            "X/F[a b c] B[d] -[]", #"{"section":0}"#),
        .init("take a section's data away", #"{"updateSectionData":{"at":0}}"#, "-[a b c] B[d] -[]", #"{"section":0}"#),
        .init("update the data of no section", #"{"updateSectionData":{"at":3,"header":"X"}}"#, nil, nil),
        .init(
            "update a section", #"{"updateSection":{"at":1,"footer":"F","rows":["x","d"]}}"#, "A[a b c] -/F[x d] -[]",
            #"{"section":1}"#),
        .init("update no section", #"{"updateSection":{"at":3,"rows":["x"]}}"#, nil, nil),
        .init(
            "update all sections", #"{"updateAllSections":{"sections":[{"header":"X","rows":["x"]},{"rows":["d"]}]}}"#,
            "X[x] -[d]", #"{"dataSource":true}"#),
        .init(
            "update all sections to more",
            #"{"updateAllSections":{"sections":[{"rows":[]},{"rows":[]},{"rows":[]},{"rows":["x"]}]}}"#,
            "-[] -[] -[] -[x]", #"{"dataSource":true}"#),
        .init("update all sections to none", #"{"updateAllSections":{"sections":[]}}"#, "", #"{"dataSource":true}"#),
        .init("remove a section", #"{"removeSection":{"at":0}}"#, "B[d] -[]", #"{"dataSource":true}"#),
        .init("remove no section", #"{"removeSection":{"at":3}}"#, nil, nil),
        .init("remove all sections", #"{"removeAllSections":{}}"#, "", #"{"dataSource":true}"#),
    ]

    func command(notify: Bool = true) throws -> Command {
        guard case .dataSource(let call, _) = try Command(json: JSONText(parsing: #"{"dataSource":\#(call)}"#)) else {
            throw Refusal(.badRequest, "no call to the data source")
        }
        return .dataSource(call, notify: notify)
    }

    static func sections() throws -> [SectionContent] {
        func rows(_ names: String) -> [JSONText] { names.map { .string(String($0)) } }
        return [
            SectionContent(header: .string("A"), rows: rows("abc")),
            SectionContent(header: .string("B"), rows: rows("d")), SectionContent(),
        ]
    }
}
