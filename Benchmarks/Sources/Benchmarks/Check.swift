import Foundation

/// How much a benchmark measures: everything, or just enough to show that the benchmark still works (a check).
enum Size {
    static let smallFlag = "--small"
    static let isSmall = CommandLine.arguments.contains(smallFlag)

    /// Returns the number of rows, sessions, runs or commands: `full`, or `small` in a check.
    static func count(_ full: Int, small: Int) -> Int { isSmall ? small : full }

    /// Returns the table sizes that a benchmark compares. In a check, sizes above 1,000 are left out.
    static func counts(_ full: [Int]) -> [Int] { isSmall ? full.filter { $0 <= 1_000 } : full }

    /// Returns the duration of a load or a pause, in seconds. In a check, this is at most 0.1 seconds.
    static func seconds(_ full: Double) -> Double { isSmall ? min(full, 0.1) : full }
}

/// The error if a benchmark needs a program that is not installed.
struct Missing: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
    /// The exit status for this error: EX_UNAVAILABLE of sysexits.h.
    static let status: Int32 = 69
}

/// Runs every benchmark briefly, each in its own process, and prints the result of each. Returns whether none of them
/// failed.
func check(_ names: [String]) throws -> Bool {
    var counts: [String: Int] = [:]
    for name in names {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [name, Size.smallFlag]
        process.standardOutput = output
        process.standardError = output
        let start = ContinuousClock.now
        try process.run()
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
            separator: "\n")
        process.waitUntilExit()
        let result =
            process.terminationReason == .exit
            ? [0: "pass", Missing.status: "skip"][process.terminationStatus] ?? "FAIL" : "FAIL"
        counts[result, default: 0] += 1
        let reason = result == "skip" ? ": \((lines.last ?? "").trimmingCharacters(in: .whitespaces))" : ""
        print("\(result) \(name), \(String(format: "%.1f", (ContinuousClock.now - start) / .seconds(1))) s\(reason)")
        if result == "FAIL" { for line in lines.suffix(20) { print("    \(line)") } }
        fflush(nil)
    }
    #if !DIFFERENCEKIT
    print("(diff was measured without DifferenceKit: DIFFERENCEKIT names no checkout of it)")
    #endif
    print("\(counts["pass"] ?? 0) passed, \(counts["FAIL"] ?? 0) failed, \(counts["skip"] ?? 0) skipped")
    return counts["FAIL"] == nil
}
