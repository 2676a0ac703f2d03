import BraidEngine
import Foundation

/// Measures one edit in tables of growing size. Only the engine runs: it checks the policy, edits the table, renders
/// rows and makes the update.
func engineBenchmark() throws {
    print("\nengine: one edit, microseconds (median of 5 runs)")
    let now = "2000-01-01T00:00:00.000Z"
    let description = try TableDescription(
        JSONText(
            parsing: Array(
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"title":"${model.name}"},"editing":"delete","moving":{"to":"anySection"}}]}"#
                    .utf8)))
    var first: [Double] = []
    for count in Size.counts([1_000, 10_000, 100_000, 1_000_000]) {
        let models = try (0..<count).map {
            try JSONText(parsing: Array(#"{"id":"row-\#($0)","name":"Name of \#($0)"}"#.utf8))
        }
        let table = try description.openingTable(models: [("table", models)])
        let snapshot = try description.binder.snapshot(of: table, revision: 0, now: now)
        func time(_ command: (Int) -> Command) throws -> Double {
            try (0..<5).map { _ in
                var table = table, snapshot = snapshot
                let edits = 500
                let start = ContinuousClock.now
                for number in 0..<edits {
                    let outcome = try description.binder.applying(
                        command(number), to: table, shown: snapshot, unpublished: nil, now: now)
                    (table, snapshot) = (outcome.table, outcome.snapshot)
                }
                return (ContinuousClock.now - start) / .microseconds(edits)
            }.sorted()[2]
        }
        let times = try [
            time { .delete(.at(.displayed(0), row: ($0 * 7919) % (count - 500))) },
            time {
                .move(.at(.displayed(0), row: ($0 * 7919) % count), to: .at(.displayed(0), row: ($0 * 104_729) % count))
            },
            time { .delete(.id(RowID("row-\($0)"), in: nil)) },
        ]
        if first.isEmpty { first = times }
        let ratios = zip(times, first).map { String(format: "%.1f (%.2fx)", $0, $0 / $1) }
        print("  \(count) rows: delete \(ratios[0]), move \(ratios[1]), delete by id \(ratios[2])")
    }
}

/// Measures one edit in tables of 10,000 rows with a growing number of sections. Only the engine runs.
func sectionBenchmark() throws {
    print("\nengine: one edit by sections (10,000 rows in all), microseconds (median of 5 runs)")
    let now = "2000-01-01T00:00:00.000Z"
    for count in Size.counts([1, 10, 100, 1_000, 10_000]) {
        let names = (0..<count).map { "s\($0)" }
        let source =
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"viewModel":{"title":"${model.name}"},"editing":"delete","moving":{"to":"anySection"}}]}"#
        let description = try TableDescription(JSONText(parsing: Array(source.utf8)))
        let each = 10_000 / count
        let table = try description.openingTable(
            models: try names.map { name in
                (
                    SectionID(name),
                    try (0..<each).map {
                        try JSONText(parsing: Array(#"{"id":"\#(name)-\#($0)","name":"Name of \#($0)"}"#.utf8))
                    }
                )
            })
        let snapshot = try description.binder.snapshot(of: table, revision: 0, now: now)
        let times = try (0..<5).map { _ in
            var table = table, snapshot = snapshot
            let start = ContinuousClock.now
            for number in 0..<100 {
                let command = Command.setHeaders(
                    [(SectionID(names[number % count]), .string("\(number)"))], merging: true)
                let outcome = try description.binder.applying(
                    command, to: table, shown: snapshot, unpublished: nil, now: now)
                (table, snapshot) = (outcome.table, outcome.snapshot)
                let move = Command.move(
                    .at(.displayed(number % count), row: 0), to: .at(.displayed(number % count), row: each - 1))
                let moved = try description.binder.applying(
                    move, to: table, shown: snapshot, unpublished: nil, now: now)
                (table, snapshot) = (moved.table, moved.snapshot)
            }
            return (ContinuousClock.now - start) / .microseconds(200)
        }
        /// Returns the average time of one delete over 100 consecutive deletes, as the median of 5 runs.
        func deletion(_ reference: (Int) -> RowReference) throws -> Double {
            try (0..<5).map { _ in
                var table = table, snapshot = snapshot
                let edits = 100
                let start = ContinuousClock.now
                for number in 0..<edits {
                    let outcome = try description.binder.applying(
                        .delete(reference(number)), to: table, shown: snapshot, unpublished: nil, now: now)
                    (table, snapshot) = (outcome.table, outcome.snapshot)
                }
                return (ContinuousClock.now - start) / .microseconds(edits)
            }.sorted()[2]
        }
        func place(_ number: Int) -> (section: Int, row: Int) { (number * 7919 % count, number * 7919 / count % each) }
        func id(_ number: Int) -> RowID { RowID("s\(place(number).section)-\(place(number).row)") }
        let named = try deletion { .id(id($0), in: .id(SectionID(names[place($0).section]))) }
        let unnamed = try deletion { .id(id($0), in: nil) }
        print(
            "  \(count) sections: header or move \(format(times.sorted()[2])), delete by id \(format(unnamed)), with its section \(format(named))"
        )
    }
}
