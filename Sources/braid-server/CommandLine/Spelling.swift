/// Suggestions for words with typing mistakes.
enum Spelling {
    /// Returns the known word that is most similar to `word`, or the first of several equally similar words. Returns
    /// `nil` if every known word differs from `word` by more than two typing mistakes.
    static func nearest(to word: String, among known: [String]) -> String? {
        let distances = known.map { (word: $0, distance: distance(word, $0)) }
        return distances.filter { $0.distance <= 2 }.min { $0.distance < $1.distance }?.word
    }

    /// Returns the number of typing mistakes that lead from one word to the other: inserted, missing, replaced and
    /// swapped characters (the Damerau-Levenshtein distance, where no character takes part in two mistakes).
    /// - Complexity: O(*a* · *b*) for words of *a* and *b* characters.
    private static func distance(_ a: String, _ b: String) -> Int {
        // Each row contains the distances of a prefix of `a` to all prefixes of `b`.
        var previous: [Int] = [], row = Array(0...b.count)
        var last: Character?
        for (i, x) in a.enumerated() {
            var next = [i + 1]
            var lastOfB: Character?
            for (j, y) in b.enumerated() {
                var best = min(row[j + 1] + 1, next[j] + 1, row[j] + (x == y ? 0 : 1))
                if x == lastOfB, y == last { best = min(best, previous[j - 1] + 1) }
                next.append(best)
                lastOfB = y
            }
            (previous, row, last) = (row, next, x)
        }
        return row.last ?? a.count
    }
}
