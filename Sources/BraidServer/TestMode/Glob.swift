/// A pattern for a text. In the pattern, `*` matches any number of characters, including none. Every other character
/// matches itself.
struct Glob: Sendable {
    let pattern: String

    init(_ pattern: String) { self.pattern = pattern }

    /// Returns whether the pattern matches the whole text.
    ///
    /// - Complexity: O(bytes of the pattern · bytes of the text).
    func matches(_ text: String) -> Bool {
        let parts = Array(pattern.utf8), text = Array(text.utf8), star = UInt8(ascii: "*")
        var part = 0, at = 0
        // The place to which the search returns if the bytes after the last star do not match. The star then matches
        // one more byte of the text.
        var retry: (part: Int, at: Int)?
        while at < text.count {
            if part < parts.count, parts[part] == star {
                retry = (part + 1, at)
                part += 1
            } else if part < parts.count, parts[part] == text[at] {
                part += 1
                at += 1
            } else if let last = retry {
                retry = (last.part, last.at + 1)
                (part, at) = (last.part, last.at + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == star }
    }
}
