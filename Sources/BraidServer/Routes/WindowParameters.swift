import BraidEngine
import BraidHTTP
import BraidSessions

extension WindowQuery {
    static let parameters: Set = ["section", "offset", "limit", "around", "aroundSection", "before", "after"]
    /// The range of `limit`, `before` and `after`.
    private static let rows = 0...10_000
    /// The default of `before` and `after`.
    private static let rowsAround = 50

    init?(_ context: Exchange) throws {
        // As in most requests: do not search for each parameter.
        guard !context.head.query.isEmpty else { return nil }
        try self.init { context.query($0) }
    }

    /// From one parameter that contains all parameters of a window, percent-encoded.
    init?(inParameter name: String, _ context: Exchange) throws {
        guard let members = try context.members(inParameter: name) else { return nil }
        try self.init { name in members.last { $0.name == name }?.value }
    }

    private init?(_ query: (String) -> String?) throws {
        func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
            guard let text = query(name) else { return nil }
            // Not `Int(digits:)`: an offset may be negative.
            guard let value = Int(text), range.contains(value) else {
                let bounds = range == Self.rows ? " from \(range.lowerBound) to \(range.upperBound)" : ""
                throw ProblemError(
                    .badRequest, "The query parameter `\(name)` must be an integer\(bounds), not \"\(text)\".")
            }
            return value
        }
        let section = query("section").map { SectionID($0) }, place = query("aroundSection").map { SectionID($0) }
        let offset = try integer("offset", in: -Int.max...Int.max), limit = try integer("limit", in: Self.rows)
        let before = try integer("before", in: Self.rows), after = try integer("after", in: Self.rows)
        guard let id = query("around") else {
            for name in ["before", "after", "aroundSection"] where query(name) != nil {
                throw ProblemError(.badRequest, "`\(name)` belongs to the row that `around` names: add `around`.")
            }
            guard section != nil || offset != nil || limit != nil else { return nil }
            self.init(section: section, .rows(offset: offset ?? 0, limit: limit ?? 2 * Self.rowsAround))
            return
        }
        guard offset == nil, limit == nil else {
            throw ProblemError(
                .badRequest,
                "A window has either an anchor (`around`, `before`, `after`) or a place (`offset`, `limit`), not both.")
        }
        if let section, let place, section != place {
            throw ProblemError(
                .badRequest,
                "The anchor is in the section \"\(place)\", but the window shows the section \"\(section)\".")
        }
        self.init(
            section: section,
            .around(
                RowID(id), section: place, before: before ?? Self.rowsAround, after: after ?? Self.rowsAround))
    }
}
