import BraidEngine
import BraidStore

extension SessionHost {
    package func summary(_ id: String) async throws -> SessionSummary? {
        try await store.sessionSummary(id).map(readable)
    }

    /// The first `limit` after `after` that a token with `scope` covers.
    package func summaries(
        of table: String?, after: String?, limit: Int, within scope: TokenScope = .all
    ) async throws -> [SessionSummary] {
        if let table, !scope.covers(table: table) { return [] }
        let tables = table.map { [$0] } ?? scope.tables
        var found: [SessionSummary] = []
        if let patterns = scope.sessions {
            for pattern in patterns {
                found += try await summaries(matching: pattern, of: tables, after: after, limit: limit)
            }
        } else if let tables {
            for table in tables { found += try await store.sessions(of: table, after: after, limit: limit) }
        } else {
            return try await store.sessions(after: after, limit: limit).map(readable)
        }
        // Two patterns can match the same session.
        let distinct = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
        return distinct.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }.prefix(limit).map(readable)
    }

    private func summaries(
        matching pattern: String, of tables: [String]?, after: String?, limit: Int
    ) async throws -> [SessionSummary] {
        let prefix = TokenScope.prefix(pattern).map(String.init), first = prefix ?? pattern
        func isCovered(_ summary: SessionSummary) -> Bool { TokenScope(tables: tables).covers(table: summary.table) }
        let isPast = after.map { !$0.utf8.lexicographicallyPrecedes(first.utf8) } ?? false
        var found: [SessionSummary] = []
        // A prefix can be an id, and a page begins after it.
        if !isPast, let summary = try await store.sessionSummary(first), isCovered(summary) { found.append(summary) }
        guard let prefix else { return found }
        var last = isPast ? after : first
        while found.count < limit {
            let page = try await store.sessions(after: last, limit: 1_000)
            found += page.prefix { $0.id.hasPrefix(prefix) }.filter(isCovered)
            guard page.count == 1_000, let end = page.last?.id, end.hasPrefix(prefix) else { break }
            last = end
        }
        return found
    }
}
