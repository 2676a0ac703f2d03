import BraidEngine
import Foundation

/// Measures three things: compiling a table description, rendering view models, and changing a state from which rows
/// are derived.
func descriptionBenchmark() throws {
    print("\ndescriptions (median of 5 runs)")
    let now = "2000-01-01T00:00:00.000Z"
    func median(_ work: () throws -> Void) rethrows -> Duration {
        try (0..<5).map { _ in try ContinuousClock().measure(work) }.sorted()[2]
    }
    let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Examples")
    func example(_ name: String) throws -> JSONText {
        try JSONText(parsing: [UInt8](Data(contentsOf: examples.appendingPathComponent("\(name)/\(name).table.json"))))
    }
    for name in ["attendees", "form"] {
        let text = try example(name)
        let time = try median { for _ in 0..<200 { _ = try TableDescription(text) } }
        print("  \(name) (\(text.count) bytes): \(Int(200 / (time / .seconds(1)))) compiled a second")
    }

    let template =
        #"{"title":"${model.name}","subtitle":"${model.city}, ${model.country}","detail":{"$eval":"model.age + 1"},"style":{"$if":"model.age > 17","then":"adult","else":"child"}}"#
    let description = try TableDescription(
        JSONText(
            parsing:
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":\#(template)}]}"#
        ))
    let models = try (0..<10_000).map {
        try JSONText(parsing: #"{"id":"\#($0)","name":"Name \#($0)","city":"City","country":"Land","age":\#($0 % 90)}"#)
    }
    let table = try description.openingTable(models: [("table", models)])
    let time = try median { _ = try description.binder.snapshot(of: table, revision: 0, now: now) }
    print(
        "  10,000 rows with 5 expressions each: \(Int(time / .milliseconds(1))) ms, \(Int(10_000 / (time / .seconds(1)))) view models a second"
    )

    let form = try TableDescription(example("form"))
    var model = try form.openingTable()
    var snapshot = try form.binder.snapshot(of: model, revision: 0, now: now)
    let patches = try [#"{"x":1}"#, #"{"x":2}"#].map { try JSONText(parsing: $0) }
    let change = try median {
        for number in 0..<200 {
            let outcome = try form.binder.applying(
                .setState(patches[number % 2], merging: true), to: model, shown: snapshot, unpublished: nil, now: now)
            (model, snapshot) = (outcome.table, outcome.snapshot)
        }
    }
    print(
        "  a change of the state in the form example (\(snapshot.totalRowCount) rows): \(Int(change / .microseconds(200))) us"
    )
}
