import BraidEngine
import Foundation
#if DIFFERENCEKIT
import DifferenceKit
#endif

/// Measures the diff of two tables that share no memory. For comparison, the benchmark measures DifferenceKit, if it is
/// available, and the time of hashing all ids.
func diffBenchmark() throws {
    print("\ndiff: median of runs that take turns; ratios with their goals in brackets")
    for workload in DiffWorkload.measured {
        let old = try DiffWorkload.snapshot(workload.old), new = try DiffWorkload.snapshot(workload.new)
        let ids = (workload.old + workload.new).flatMap { $0.rows.map { DiffWorkload.id($0.id) } }
        var update = try BatchUpdate(from: old, to: new)
        let peers = differenceKitRuns(workload)
        let contenders: [() throws -> Void] =
            [
                { update = try BatchUpdate(from: old, to: new) },
                { blackHole = ids.reduce(0) { $0 ^ fastHash($1) } },
            ] + peers.map { peer in { peer.run() } }
        let times = try medians(contenders, rounds: ids.count > 50_000 ? 9 : 101)
        let operations = update.stages.reduce(0) { $0 + $1.deleteRows.count + $1.insertRows.count + $1.moveRows.count }
        var line = "  \(workload.name): \(format(times[0] / 1_000)) us, \(format(times[0] / times[1])) of hashing"
        if let goal = workload.hashGoal { line += " (\(goal))" }
        for (index, peer) in peers.enumerated() {
            line += "; \(format(times[0] / times[index + 2])) of DifferenceKit with \(peer.name) ids (\(peer.goal))"
        }
        line += "; operations \(operations) of \(workload.fewestOperations)"
        if let first = peers.first { line += " (DifferenceKit \(first.operations()))" }
        print(line)
    }
    try equalIDs()
}

/// Measures tables in which many rows have the same id. With a weak hash table, the diff of such tables takes quadratic
/// time. The engine refuses them.
private func equalIDs() throws {
    for distinct in [1, 10] {
        let rows = (0..<10_000).map { DiffWorkload.Row(id: $0 % distinct) }
        let workload = DiffWorkload("", (1, 1), rows, Array(rows.reversed()))
        guard (try? DiffWorkload.snapshot(workload.old)) == nil else { continue }
        let source =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{}}]}"#
        let description = try TableDescription(JSONText(parsing: Array(source.utf8)))
        let models = try rows.map { try JSONText(parsing: Array(#"{"id":"\#(DiffWorkload.id($0.id))"}"#.utf8)) }
        var contenders: [() throws -> Void] = [
            { blackHole = (try? description.openingTable(models: [("table", models)])) == nil ? 0 : 1 }
        ]
        contenders += differenceKitRuns(workload).map { peer in { peer.run() } }
        let times = try medians(contenders, rounds: 9)
        let ratio = times.count > 1 ? ", \(format(times[0] / times[1])) of DifferenceKit's diff (1.0)" : ""
        print("  10,000 rows with \(distinct) ids: refused in \(format(times[0] / 1_000)) us\(ratio)")
    }
}

nonisolated(unsafe) var blackHole: UInt64 = 0

func format(_ number: Double) -> String { String(format: number < 10 ? "%.3f" : "%.0f", number) }

/// Returns the median time of each contender (an algorithm under test) in nanoseconds.
///
/// The contenders run in turn, so that other work of the machine affects all of them. In each round, each contender
/// runs twice, because the first run only fills the caches.
func medians(_ contenders: [() throws -> Void], rounds: Int) throws -> [Double] {
    let rounds = Size.count(rounds, small: 1)
    var times = contenders.map { _ in [Double]() }
    for round in 0..<rounds + 1 {
        for (index, run) in contenders.enumerated() {
            try run()
            let start = ContinuousClock.now
            try run()
            let time = (ContinuousClock.now - start) / .nanoseconds(1)
            if round > 0 { times[index].append(time) }
        }
    }
    return times.map { $0.sorted()[rounds / 2] }
}

/// Hashes a text, eight bytes with each multiplication. Source: wyhash (github.com/wangyi-fudan/wyhash), in its
/// simplest form.
@inline(__always)
private func fastHash(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { bytes in
        let bytes = UnsafeRawBufferPointer(bytes)
        var state = 0x2D35_8DCC_AA6C_78A5 ^ UInt64(bytes.count)
        var offset = 0
        while offset < bytes.count {
            var word: UInt64 = 0
            if offset + 8 <= bytes.count {
                word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            } else if bytes.count >= 8 {
                word = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
            } else {
                for byte in bytes[offset...] { word = word << 8 | UInt64(byte) }
            }
            let product = (state ^ word).multipliedFullWidth(by: 0x8BB8_4B93_962E_ACC9)
            state = product.high ^ product.low
            offset += 8
        }
        return state
    }
}

struct DifferenceKitRun {
    let name: String
    let goal: Double
    let run: () -> Void
    /// Returns how many deletes, inserts and moves of rows the diff contains.
    let operations: () -> Int
}

#if DIFFERENCEKIT
private struct Element<ID: Hashable>: Differentiable {
    let differenceIdentifier: ID
    let content: String
    func isContentEqual(to source: Element) -> Bool { content == source.content }
}
/// A section whose number is both its identity and its content.
private struct SectionNumber: Hashable, Differentiable {
    let number: Int
}

func differenceKitRuns(_ workload: DiffWorkload) -> [DifferenceKitRun] {
    [
        differenceKitRun(workload, "String", workload.goals.string) { DiffWorkload.id($0) },
        differenceKitRun(workload, "Int", workload.goals.int) { $0 },
        differenceKitRun(workload, "UUID", workload.goals.int) { _ in UUID() },
    ]
}

private func differenceKitRun<ID: Hashable>(
    _ workload: DiffWorkload, _ name: String, _ goal: Double, _ id: (Int) -> ID
) -> DifferenceKitRun {
    // The ids by their numbers, so that the elements with one number share one id object.
    var ids: [Int: ID] = [:]
    func sections(_ sections: [DiffWorkload.Section]) -> [ArraySection<SectionNumber, Element<ID>>] {
        sections.map { section in
            ArraySection(
                model: SectionNumber(number: section.id),
                elements: section.rows.map { row in
                    let known = ids[row.id] ?? id(row.id)
                    ids[row.id] = known
                    return Element(differenceIdentifier: known, content: DiffWorkload.content(row))
                })
        }
    }
    let old = sections(workload.old), new = sections(workload.new)
    func count<Data>(_ changes: StagedChangeset<Data>) -> Int {
        changes.reduce(0) { $0 + $1.elementDeleted.count + $1.elementInserted.count + $1.elementMoved.count }
    }
    // If both tables have one section, compare the sections' elements: DifferenceKit has a faster algorithm for that.
    if old.count == 1, new.count == 1 {
        let (old, new) = (old[0].elements, new[0].elements)
        return DifferenceKitRun(
            name: name, goal: goal, run: { blackHole = UInt64(StagedChangeset(source: old, target: new).count) },
            operations: { count(StagedChangeset(source: old, target: new)) })
    }
    return DifferenceKitRun(
        name: name, goal: goal, run: { blackHole = UInt64(StagedChangeset(source: old, target: new).count) },
        operations: { count(StagedChangeset(source: old, target: new)) })
}
#else
func differenceKitRuns(_ workload: DiffWorkload) -> [DifferenceKitRun] { [] }
#endif
