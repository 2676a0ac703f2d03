/// The suffix of the epochs of all sessions that a database had when it may have lost commits that clients have seen.
public enum EpochSuffix {
    /// Returns a random suffix, which is almost certainly new: a hyphen, followed by eight letters and digits.
    public static func random(after last: String) -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var generator = SystemRandomNumberGenerator()
        return "-" + String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
    }

    /// Returns the suffix after `last`: `-1`, `-2`, … These suffixes are for tests, which compare texts. A backup that
    /// is restored twice gets the same such suffix twice.
    public static func counted(after last: String) -> String { "-\((Int(last.dropFirst()) ?? 0) + 1)" }
}
