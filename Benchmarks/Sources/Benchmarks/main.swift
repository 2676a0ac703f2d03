import Foundation

/// All benchmarks, by their names on the command line.
let parts: [(name: String, measure: () throws -> Void)] = [
    ("json", jsonBenchmark),
    (
        "diff",
        {
            try diffBenchmark()
            try typedChainBenchmark()
        }
    ),
    (
        "engine",
        {
            try engineBenchmark()
            try sectionBenchmark()
        }
    ),
    ("descriptions", descriptionBenchmark),
    ("http", httpBenchmark),
    ("commands", commandBenchmark),
    ("streams", streamBenchmark),
    ("presence", presenceBenchmark),
    ("views", viewsBenchmark),
    ("windows", windowBenchmark),
    ("compression", compressionBenchmark),
    ("nginx", nginxBenchmark),
    (
        "neighbours",
        {
            try neighbourBenchmark()
            try busyMachineBenchmark()
        }
    ),
    ("isolation", isolationBenchmark),
    ("large", largeBenchmark),
    ("long", longTableBenchmark),
    ("edits", editBenchmark),
    ("durable", durableBenchmark),
    ("postgres", durablePostgresBenchmark),
    ("cluster", clusterBenchmark),
    ("records", recordBenchmark),
    ("memory", memoryBenchmark),
    ("forks", forkBenchmark),
    ("start", startBenchmark),
    ("curves", curveBenchmark),
]
/// The benchmarks that need PostgreSQL and a server that is built with the trait `PostgreSQL`. They run only if the
/// command line names them or `check`.
let partsWithPostgres: Set = ["postgres", "cluster"]

let wanted = CommandLine.arguments.dropFirst().filter { $0 != Size.smallFlag }
let unknown = wanted.filter { name in name != "check" && !parts.contains { $0.name == name } }
guard unknown.isEmpty else {
    print(
        "Unknown: \(unknown.joined(separator: ", ")). The parts are: \(parts.map(\.name).joined(separator: ", ")); or `check`, which runs each for a moment."
    )
    exit(64)
}
if wanted.contains("check") { exit(try check(parts.map(\.name)) ? 0 : 1) }
print("\(ProcessInfo.processInfo.activeProcessorCount) cores, \(ProcessInfo.processInfo.operatingSystemVersionString)")
for part in parts where wanted.contains(part.name) || wanted.isEmpty && !partsWithPostgres.contains(part.name) {
    do {
        try part.measure()
    } catch let missing as Missing {
        print("  \(missing)")
        if wanted.contains(part.name) { exit(Missing.status) }
    } catch {
        print("  \(part.name) failed: \(error)")
        exit(1)
    }
}
