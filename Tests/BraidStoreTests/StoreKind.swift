import BraidEngine
import BraidStore
import Foundation
import Testing

#if PostgreSQL
@testable import BraidPostgres
#endif

enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case file, memory, postgres

    static let forTests = allCases.filter { $0 != .postgres || PostgresCluster.isThere }
    var testDescription: String { rawValue }

    func open(journalLimit: Int = 1000, journalBytes: Int = 64 << 20) throws -> any SessionStore {
        try open(at: place(), journalLimit: journalLimit, journalBytes: journalBytes)
    }

    /// A path or address. In memory, it cannot be opened again.
    func place() throws -> String {
        switch self {
        case .file: TestDirectory.make() + "/braid.sqlite"
        case .memory: ":memory:"
        case .postgres: try PostgresCluster.newSchema()
        }
    }

    func open(at place: String, journalLimit: Int = 1000, journalBytes: Int = 64 << 20) throws -> any SessionStore {
        let options = StoreOptions(journalLimit: journalLimit, journalBytes: journalBytes)
        #if PostgreSQL
        if self == .postgres { return try PostgresStore(url: place, options: options) }
        #endif
        return try SQLiteStore(path: place, options: options)
    }
}

extension SessionStore {
    func journal(of sessionNumber: Int, after revision: Int, limit: Int) async throws -> [JournalRecord] {
        try await journal(of: sessionNumber, after: revision, limit: limit, bytes: .max)
    }

    func deleteSession(_ id: String) async throws -> Int? { try await deleteSession(id, as: nil) }
}

/// Made by `Scripts/with-postgres`.
enum PostgresCluster {
    static let directory = ProcessInfo.processInfo.environment["BRAID_TEST_POSTGRES"]

    #if PostgreSQL
    static let isThere = directory != nil
    #else
    static let isThere = false
    #endif

    static func address(of database: String) -> String { "postgres://braid@/\(database)?host=\(directory ?? "")" }

    /// Returns its address.
    static func newDatabase(_ options: String = "ENCODING 'UTF8'") throws -> String {
        let name = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
        try run("CREATE DATABASE \(name) TEMPLATE template0 \(options)", in: address(of: "postgres"))
        return address(of: name)
    }

    /// Needs much less time and disk than a database.
    static func newSchema() throws -> String {
        let name = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
        try run("CREATE SCHEMA \(name)", in: address(of: "postgres"))
        return address(of: "postgres") + "&options=-csearch_path%3D\(name)"
    }

    static func run(_ sql: String, in database: String) throws {
        #if PostgreSQL
        try PostgresConnection(url: database, timeout: .seconds(30), settings: []).script(sql)
        #endif
    }
}

/// Deleted when the tests end.
enum TestDirectory {
    static func make() -> String {
        let path = NSTemporaryDirectory() + "store-tests-\(getpid())/\(UUID().uuidString)"
        try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        _ = removal
        return path
    }

    private static let removal: Void = {
        _ = atexit { try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "store-tests-\(getpid())") }
    }()
}

extension JSONText: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { try! self.init(parsing: Array(text.utf8)) }
}

extension StoredRow {
    static func make(_ key: Int, rank: Int? = nil, id: String? = nil, _ model: JSONText = "{}") -> StoredRow {
        StoredRow(key: key, rank: rank ?? key * 1000, id: id.map { RowID($0) }, model: model)
    }
}

extension NewSession {
    static func make(
        _ id: String = "s", table: String? = nil, version: Int? = nil, description: JSONText? = #"{"table":"inline"}"#,
        opening: JSONText = "{}", state: JSONText = "{}", displayed: JSONText? = nil, cells: JSONText? = nil,
        sections: [StoredSectionSummary] = [.init(number: 1, id: "a", ordinal: 1)],
        rows: [(section: Int, row: StoredRow)] = []
    ) -> NewSession {
        NewSession(
            summary: SessionSummary(
                id: id, number: 0, table: table, tableVersion: version, epoch: "e-\(id)", revision: 0, created: 1000,
                updated: 1000, totalRowCount: rows.count),
            description: description, opening: opening, state: state, displayedSections: displayed, cells: cells,
            nextKey: (rows.map(\.row.key).max() ?? 0) + 1, nextSection: (sections.map(\.number).max() ?? 0) + 1,
            sections: sections, rows: rows)
    }
}

extension NewSession {
    /// With its opening and rows in a shared table.
    func sharing(_ opening: JSONText) -> NewSession {
        var session = self
        let rows = rows
        session.rows = []
        session.shared = SharedTable(opening: { opening }, rows: { rows })
        return session
    }
}

extension SessionCommit {
    static func make(
        _ session: Int, to revision: Int, at: Int = 2000, publishes: Bool = true, nextKey: Int = 1000,
        nextSection: Int = 100, rows: Int = 0,
        command: JSONText = "{}", update: JSONText = #"{"stages":[]}"#,
        undo: JSONText = #"{"updated":1,"nextKey":1,"nextSection":1}"#, change: (inout TableChange) -> Void = { _ in }
    ) -> SessionCommit {
        var made = TableChange()
        change(&made)
        return SessionCommit(
            session: session, from: revision - 1,
            record: JournalRecord(revision: revision, at: at, command: command, update: update), change: made,
            publishes: publishes, nextKey: nextKey, nextSection: nextSection, totalRowCount: rows, undo: undo)
    }
}

/// As text, so that differences are easy to see.
func dump(_ session: StoredSession?) -> String {
    guard let session else { return "none" }
    let summary = session.summary
    var lines = [
        "\(summary.id) table=\(summary.table ?? "-")/\(summary.tableVersion ?? 0) \(summary.epoch).\(summary.revision) "
            + "\(summary.created)-\(summary.updated) rows=\(summary.totalRowCount) next=\(session.nextKey)",
        "description \(session.description?.text ?? "-")", "state \(session.state.text)",
        "displayed \(session.displayedSections?.text ?? "-")",
    ]
    if let cells = session.cells { lines.append("cells \(cells.text)") }
    lines += dump(session.sections)
    if let published = session.published {
        lines.append("published \(published.updated) displayed \(published.displayedSections?.text ?? "-")")
        lines += dump(published.sections)
    }
    return lines.joined(separator: "\n")
}

private func dump(_ sections: [(summary: StoredSectionSummary, rows: [StoredRow])]) -> [String] {
    sections.flatMap { summary, rows in
        [
            "[\(summary.number) \(summary.id) @\(summary.ordinal) \(summary.header?.text ?? "-") \(summary.footer?.text ?? "-")]"
        ]
            + rows.map { "  \($0.key) @\($0.rank) \($0.id?.text ?? "-") \($0.model.text)" }
    }
}
