/// The epoch suffix of a database: a text that the database appends to its sessions' epochs. The database gets a new
/// suffix when it may have lost commits that clients have seen. The new suffix changes the epochs of all sessions that
/// exist at that time.
public enum EpochSuffix {
    /// Returns a random epoch suffix: a hyphen, followed by eight letters and digits. It almost certainly differs from
    /// all earlier suffixes.
    public static func random(after last: String) -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        var generator = SystemRandomNumberGenerator()
        return "-" + String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
    }

    /// Returns the counted epoch suffix that follows `last`: `-1`, `-2`, … Counted suffixes make the answers of tests
    /// predictable. They are not unique: a backup that is restored twice gets the same counted suffix twice.
    public static func counted(after last: String) -> String { "-\((Int(last.dropFirst()) ?? 0) + 1)" }
}
