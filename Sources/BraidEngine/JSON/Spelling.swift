/// Suggestions for names with typing mistakes.
package enum Spelling {
    /// Returns the known name that is most similar to `name`, or the first of several. A known name that differs only in
    /// case is similar, and one of at least four bytes that at most `limit` mistakes lead to.
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

    /// Returns a hint for a name that does not exist: the most similar known name, or else a list of the known names.
    ///
    /// - Parameter limit: the maximum number of names to list.
    package static func hint(
        for name: String, among known: [String], else list: String, listing limit: Int = .max
    ) -> String {
        if let near = nearest(to: name, among: known.prefix(searchLimit)) { return "did you mean `\(near)`?" }
        let names = known.prefix(limit).map { "`\($0)`" }.joined(separator: ", ")
        return known.count > limit ? "\(list) \(names) and \(known.count - limit) more" : "\(list) \(names)"
    }

    /// Among all names of a large document, the search would take too long.
    private static let searchLimit = 1_000

    /// Returns the number of inserted, missing, replaced and swapped bytes that lead from one name to the other (the
    /// Damerau-Levenshtein distance, where no byte takes part in two mistakes), or `nil` above the limit.
    ///
    /// - Complexity: O(bytes), and quadratic only for the at most 64 bytes between the names' common ends.
    private static func mistakes(_ name: String, _ known: String, atMost limit: Int) -> Int? {
        // Comparing the lengths first avoids a copy of a long name for each known name.
        guard limit >= 0, abs(name.utf8.count - known.utf8.count) <= limit else { return nil }
        if name.lowercased() == known.lowercased() { return 0 }
        guard limit > 0, known.utf8.count > 3 else { return nil }
        var a = Array(name.utf8)[...], b = Array(known.utf8)[...]
        while let first = a.first, first == b.first { (a, b) = (a.dropFirst(), b.dropFirst()) }
        while let last = a.last, last == b.last { (a, b) = (a.dropLast(), b.dropLast()) }
        guard max(a.count, b.count) <= 64 else { return nil }
        // Each row contains the distances of a prefix of `a` to all prefixes of `b`.
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

/// Returns a count with its noun: `1 row`, `2 rows`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

extension String {
    /// This clause with the full stop that ends a sentence, unless it ends with a question.
    package var asSentence: String { hasSuffix("?") ? self : self + "." }
}
