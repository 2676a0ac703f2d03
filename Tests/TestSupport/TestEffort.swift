import Foundation

/// Says how many random cases the tests check.
public enum TestEffort {
    /// The factor by which the number of cases is multiplied, from the environment variable `TEST_EFFORT`. `./test
    /// quick` sets it to 0.1. A long run sets it to 50.
    private static let factor = ProcessInfo.processInfo.environment["TEST_EFFORT"].flatMap(Double.init) ?? 1

    /// Multiplies a usual number of cases by the factor. The result is at least 1.
    public static func cases(_ count: Int) -> Int { max(1, Int(Double(count) * factor)) }
}
