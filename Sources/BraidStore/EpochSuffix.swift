/// The end of the epochs of all sessions that a database had when it may have lost what clients have seen.
public enum EpochSuffix {
    /// A suffix that was never used before, most likely: eight random letters and digits behind a hyphen.
    public static func random(after last: String) -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var generator = SystemRandomNumberGenerator()
        return "-" + String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
    }

    /// The suffix after `last`: `-1`, `-2`, … For tests, which compare texts. A backup that is restored twice has the
    /// same suffix twice.
    public static func counted(after last: String) -> String { "-\((Int(last.dropFirst()) ?? 0) + 1)" }
}
