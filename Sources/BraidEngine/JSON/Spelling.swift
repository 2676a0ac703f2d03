/// Suggestions for mistyped names.
package enum Spelling {
    /// The first of the most similar names: one that differs only in case, or else has at least four bytes and at most
    /// `limit` mistakes.
    package static func nearest(
        to name: String, among known: some Sequence<String>, mistakes limit: Int = 1
    ) -> String? {
        var best: (name: String, mistakes: Int)?
        for other in known {
            guard let mistakes = mistakes(name, other, atMost: best.map { $0.mistakes - 1 } ?? limit) else { continue }
            best = (other, mistakes)
            if mistakes == 0 { break }
        }
        return best?.name
    }

    /// The nearest name, or else a list of at most `limit`.
    package static func hint(
        for name: String, among known: [String], else list: String, listing limit: Int = .max
    ) -> String {
        if let near = nearest(to: name, among: known.prefix(searchLimit)) { return "did you mean `\(near)`?" }
        let names = known.prefix(limit).map { "`\($0)`" }.joined(separator: ", ")
        return known.count > limit ? "\(list) \(names) and \(known.count - limit) more" : "\(list) \(names)"
    }

    /// More would take too long.
    static let searchLimit = 1_000

    /// Damerau-Levenshtein, no byte in two mistakes; `nil` above the limit. O(bytes), quadratic for the at most 64
    /// between the common ends.
    private static func mistakes(_ name: String, _ known: String, atMost limit: Int) -> Int? {
        // Checked before a long name is copied for each known one.
        guard limit >= 0, abs(name.utf8.count - known.utf8.count) <= limit else { return nil }
        if name.lowercased() == known.lowercased() { return 0 }
        guard limit > 0, known.utf8.count > 3 else { return nil }
        var a = Array(name.utf8)[...], b = Array(known.utf8)[...]
        while let first = a.first, first == b.first { (a, b) = (a.dropFirst(), b.dropFirst()) }
        while let last = a.last, last == b.last { (a, b) = (a.dropLast(), b.dropLast()) }
        guard max(a.count, b.count) <= 64 else { return nil }
        // A row: the distances from a prefix of `a` to all prefixes of `b`.
        var previous: [Int] = [], row = Array(0...b.count), last: UInt8?
        for (i, x) in a.enumerated() {
            var next = [i + 1], lastOfB: UInt8?
            for (j, y) in b.enumerated() {
                var best = min(row[j + 1] + 1, next[j] + 1, row[j] + (x == y ? 0 : 1))
                if x == lastOfB, y == last { best = min(best, previous[j - 1] + 1) }
                next.append(best)
                lastOfB = y
            }
            (previous, row, last) = (row, next, x)
        }
        return row.last.flatMap { $0 <= limit ? $0 : nil }
    }
}

/// `1 row`, `2 rows`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

extension String {
    /// With a full stop, except after a question.
    package var asSentence: String { hasSuffix("?") ? self : self + "." }
}
