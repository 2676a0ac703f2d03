import BraidEngine

/// Runs `work` several times, and prints the speed of the fastest run in MB/s. `bytes` is the length of the text.
@discardableResult
private func measure(_ name: String, _ bytes: Int, runs: Int = Size.count(9, small: 1), _ work: () -> Int) -> Int {
    let clock = ContinuousClock()
    var best = Duration.seconds(1000), result = 0
    for _ in 0..<runs {
        let time = clock.measure { result = work() }
        best = min(best, time)
    }
    let seconds = Double(best.components.seconds) + Double(best.components.attoseconds) / 1e18
    let padded = name + String(repeating: " ", count: max(0, 52 - name.count))
    print(" ", padded, Int(Double(bytes) / seconds / 1e6), "MB/s ", Double(Int(seconds * 1e5)) / 100, "ms ", result)
    return result
}

private func table(rows: Int, unicode: Bool = false) -> [UInt8] {
    var writer = JSONWriter(capacity: rows * 270)
    writer.beginArray()
    for row in 0..<rows {
        writer.beginObject()
        writer.name("id"); writer.value("row-\(row)")
        writer.name("title");
        writer.value(
            unicode ? "Заголовок строки номер \(row) и ещё" : "A title for the row number \(row), with some words")
        writer.name("price"); writer.value(try! JSONText(parsing: "\(row % 1000).50"))
        writer.name("done"); writer.value(row % 2 == 0)
        writer.name("note"); writer.value(row % 3 == 0 ? "two\nlines" : "Nothing to say")
        writer.name("tags"); writer.beginArray(); writer.value("red"); writer.value("green"); writer.value("blue");
        writer.endArray()
        writer.name("position"); writer.beginObject(); writer.name("x"); writer.value(row); writer.name("y");
        writer.value(row * 7 % 4001); writer.endObject()
        writer.name("owner"); writer.null()
        writer.name("count"); writer.value(row * 3)
        writer.endObject()
    }
    writer.endArray()
    return writer.bytes
}

/// Measures reading, validating and writing JSON, in MB/s.
func jsonBenchmark() throws {
    let compact = table(rows: 23_000)
    let pretty = try JSONText(parsing: compact).pretty()
    let spaced = compact.flatMap { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ":") ? [$0, 0x20] : [$0] }
    let unicode = table(rows: 20_000, unicode: true)
    let text = try JSONText(parsing: compact)
    print("\nJSON (best of 9 runs):", compact.count, "bytes compact,", pretty.count, "pretty,", spaced.count, "spaced")

    measure("validate, compact already", compact.count) { try! JSONText(parsing: compact).count }
    measure("validate + slice top objects, compact already", compact.count) {
        try! JSONText(parsing: compact).elements()!.count
    }
    measure("the same + id of each", compact.count) {
        let pointer = JSONPointer("/id")!
        return try! JSONText(parsing: compact).elements()!.reduce(0) { $0 + $1[pointer]!.stringValue!.utf8.count }
    }
    measure("validate + compact + slice, `, ` and `: `", spaced.count) {
        try! JSONText(parsing: spaced).elements()!.count
    }
    measure("validate + compact + slice, pretty", pretty.count) { try! JSONText(parsing: pretty).elements()!.count }
    measure("validate + slice, Cyrillic", unicode.count) { try! JSONText(parsing: unicode).elements()!.count }
    measure("slice alone", compact.count) { text.elements()!.count }
    measure("parse into a tree", compact.count) { try! JSONValue(parsing: compact).arrayValue!.count }
    measure("tree of a checked text", compact.count) { text.value().arrayValue!.count }
    let tree = text.value()
    measure("write a tree", compact.count) { JSONText(tree).count }
    let rows = text.elements()!.map(\.detached)
    measure("write from cached slices", compact.count) {
        var writer = JSONWriter(capacity: compact.count)
        writer.beginArray()
        for row in rows { writer.value(row) }
        writer.endArray()
        return writer.bytes.count
    }
    measure("equality of equal rows", compact.count) {
        zip(rows, text.elements()!).reduce(0) { $0 + ($1.0 == $1.1 ? 1 : 0) }
    }
    measure("equality of trees", compact.count) { tree == text.value() ? 1 : 0 }
    measure("pretty", compact.count) { text.pretty().count }
    let wide = Array(("{" + (0..<100_000).map { "\"name\($0)\":\($0)" }.joined(separator: ",") + "}").utf8)
    measure("validate an object of 100,000 members", wide.count) { try! JSONText(parsing: wide).count }
    measure("the same into a tree", wide.count) { try! JSONValue(parsing: wide).objectValue!.count }
}
