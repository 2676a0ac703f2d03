import Foundation

/// How many random cases to check.
public enum TestEffort {
    /// `TEST_EFFORT`: 0.1 in `./test quick`, 50 in a long run.
    private static let factor = ProcessInfo.processInfo.environment["TEST_EFFORT"].flatMap(Double.init) ?? 1

    /// At least 1.
    public static func cases(_ count: Int) -> Int { max(1, Int(Double(count) * factor)) }
}
