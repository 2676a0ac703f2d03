import BraidEngine
import Foundation
import TestSupport
import Testing

@testable import BraidStore

#if PostgreSQL
@testable import BraidPostgres
#endif

@Suite("Archives") struct ArchiveTests {
    private let directory = TestDirectory.make()

    private func export(_ kind: StoreKind, _ place: String) throws -> [UInt8] {
        var archive: [UInt8] = []
        func write(_ data: any StoredData) throws { _ = try Archive.write(data) { archive += $0 } }
        #if PostgreSQL
        if kind == .postgres {
            try PostgresStore.reading(place, isAtOneMoment: true, write)
            return archive
        }
        #endif
        try SQLiteStore.reading(place, write)
        return archive
    }

    @discardableResult
    private func `import`(_ archive: [UInt8], _ kind: StoreKind, _ place: String) throws -> Archive.Counts {
        var lines = archive.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        if lines.last?.isEmpty == true { lines.removeLast() }
        func read(_ target: any ArchiveTarget) throws -> Archive.Counts {
            try Archive.read({ lines.popFirst().map { [UInt8]($0) } }, into: target)
        }
        #if PostgreSQL
        if kind == .postgres { return try PostgresStore.filling(place, read) }
        #endif
        return try SQLiteStore.creating(place, read)
    }

    // MARK: Nothing is lost

    @Test("Export, import into each kind of database and export again give the same bytes", arguments: 1...5)
    func sameBytes(seed: Int) async throws {
        let original = directory + "/original.sqlite"
        var random = SeededGenerator(seed: UInt64(seed))
        let store = try SQLiteStore(path: original, options: SQLiteStoreOptions(journalLimit: 9))
        try await RandomFlow(on: store).run(steps: 120, using: &random)
        let first = try export(.file, original)
        let kinds: [StoreKind] = PostgresCluster.isThere ? [.file, .postgres, .file, .postgres] : [.file, .file]
        var place = original, kind = StoreKind.file, archive = first
        for next in kinds {
            kind = next
            place = try kind.place()
            try `import`(archive, kind, place)
            archive = try export(kind, place)
            #expect(archive == first, "\(kind): the same bytes")
        }
        let copy = try kind.open(at: place, journalLimit: 9)
        try await expectSame(store, copy)
        await store.close()
        await copy.close()
    }

    @Test("A PostgreSQL database becomes an SQLite file with the same content", .enabled(if: PostgresCluster.isThere))
    func fromPostgres() async throws {
        let original = try StoreKind.postgres.place()
        var random = SeededGenerator(seed: 77)
        let store = try StoreKind.postgres.open(at: original, journalLimit: 9)
        try await RandomFlow(on: store).run(steps: 150, using: &random)
        let archive = try export(.postgres, original), place = try StoreKind.file.place()
        try `import`(archive, .file, place)
        #expect(try export(.file, place) == archive)
        let copy = try StoreKind.file.open(at: place, journalLimit: 9)
        try await expectSame(store, copy)
        await store.close()
        await copy.close()
    }

    /// Expects the same content in two stores, except for the epochs: an import begins new ones.
    private func expectSame(_ store: any SessionStore, _ copy: any SessionStore) async throws {
        let tables = try await store.tables()
        #expect(try await copy.tables() == tables)
        for table in tables {
            for version in try await store.versions(ofTable: table.name) {
                #expect(
                    try await copy.table(table.name, version: version.version)?.description
                        == store.table(table.name, version: version.version)?.description)
            }
        }
        let sessions = try await store.sessions(after: nil, limit: 100)
        #expect(try await copy.sessions(after: nil, limit: 100).map(\.id) == sessions.map(\.id))
        try #require(!sessions.isEmpty)
        for facts in sessions {
            var mine = try await store.session(facts.id), other = try await copy.session(facts.id)
            #expect(mine?.facts.epoch != other?.facts.epoch, "an import begins new epochs")
            mine?.facts.epoch = ""
            other?.facts.epoch = ""
            #expect(dump(other) == dump(mine))
            let journal = try await store.journal(of: facts.number, after: 0, limit: 100)
            #expect(
                try await copy.journal(of: facts.number, after: 0, limit: 100).map(\.command) == journal.map(\.command))
            var start = try await store.journalStart(of: facts.id),
                otherStart = try await copy.journalStart(of: facts.id)
            start?.facts.epoch = ""
            otherStart?.facts.epoch = ""
            #expect(dump(otherStart) == dump(start))
            #expect(
                try await copy.tokens(of: facts.id, after: nil, limit: 100, now: 0)
                    == store.tokens(of: facts.id, after: nil, limit: 100, now: 0))
        }
        // A session that is opened later has a number that no session had before.
        let numbers = (try await store.createSession(.make("later")), try await copy.createSession(.make("later")))
        #expect(numbers.1 == numbers.0 || numbers.1 > (sessions.map(\.number).max() ?? 0))
    }

    @Test(
        "The first start after an import begins new epochs, and the next start keeps them",
        arguments: StoreKind.forTests)
    func epochs(kind: StoreKind) async throws {
        guard kind != .memory else { return }
        let original = directory + "/a.sqlite", store = try SQLiteStore(path: original)
        _ = try await store.createSession(.make())
        let old = try await store.sessionSummary("s")?.epoch
        await store.close()
        let place = try kind.place()
        try `import`(export(.file, original), kind, place)
        var epochs: [String?] = []
        for _ in 1...2 {
            let copy = try kind.open(at: place)
            epochs.append(try await copy.sessionSummary("s")?.epoch)
            await copy.close()
        }
        #expect(epochs[0] == epochs[1] && epochs[0] != old, "\(epochs)")
        #expect(try await SQLiteStore(path: original).sessionSummary("s")?.epoch == old, "an export changes nothing")
    }

    @Test("An export while a session is changed contains one moment", arguments: StoreKind.forTests)
    func oneMoment(kind: StoreKind) async throws {
        guard kind != .memory else { return }
        let place = try kind.place(), store = try kind.open(at: place)
        let number = try await store.createSession(.make())
        let writer = Task {
            for revision in 1...300 where !Task.isCancelled {
                try await store.commit(
                    .make(number, to: revision, rows: revision) { $0.writtenRows = [(1, .make(revision))] })
            }
        }
        for _ in 1...5 {
            let text = String(decoding: try export(kind, place), as: UTF8.self)
            let revision = try #require(text.firstMatch(of: /"revision":([0-9]+),"created"/)?.1)
            #expect(text.contains(#""model":\#(revision),"#) && text.contains(#""journal":\#(revision),"#))
        }
        writer.cancel()
        _ = try? await writer.value
        await store.close()
    }

    // MARK: The format

    @Test("Archives contain every column of every table of SQLite's schema") func sqliteColumns() throws {
        let database = try SQLiteConnection(path: "", mode: .inMemory)
        defer { database.close() }
        try database.execute(SQLiteSchema.text)
        let found = try database.texts(
            """
            SELECT t.name || '.' || c.name || CASE WHEN c."notnull" OR c.pk THEN '' ELSE '?' END
            FROM pragma_table_list t, pragma_table_xinfo(t.name) c
            WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%' AND t.name NOT IN ('epoch_suffix', 'compatibility')
            """)
        let declared = ArchiveTable.all.flatMap { table in
            (table.hasSessionKey ? ["\(table.name).key"] : [])
                + table.columns.dropFirst(table.hasSessionKey ? 2 : 0).map {
                    "\(table.name).\($0.name)\($0.isOptional ? "?" : "")"
                }
        }
        #expect(found.sorted() == declared.sorted())
    }

    #if PostgreSQL
    @Test("Archives contain every column of every table of PostgreSQL's schema", .enabled(if: PostgresCluster.isThere))
    func postgresColumns() async throws {
        let place = try StoreKind.postgres.place()
        try await StoreKind.postgres.open(at: place).close()
        let found = try PostgresConnection(url: place, timeout: .seconds(30), settings: []).texts(
            """
            SELECT table_name || '.' || column_name || ' ' || data_type || CASE is_nullable WHEN 'NO' THEN '' ELSE '?' END
            FROM information_schema.columns WHERE table_schema = current_schema()
            AND table_name NOT IN ('epoch_suffix', 'crash_detector', 'braid_server')
            """)
        let declared = ArchiveTable.all.flatMap { table in
            table.columns.map { column in
                let type =
                    switch column.kind {
                    case .integer: "bigint"
                    case .name: "bytea"
                    case .word, .json: "text"
                    }
                return "\(table.name).\(column.name) \(type)\(column.isOptional ? "?" : "")"
            }
        }
        #expect(found.sorted() == declared.sorted())
    }
    #endif

    // MARK: What is refused

    private static let archive = """
        {"archive":"braid-server","version":1}
        {"database":{"epoch_suffix":"","suffixed_sessions":0,"last_session":2}}
        {"table_description":{"name":"t","version":1,"updated":5,"description":{"table":"t"}}}
        {"session":{"number":2,"id":"s","table_name":"t","table_version":1,"epoch":"e","revision":1,"created":1,"updated":2,"next_key":2,"next_section":2,"total_row_count":1,"journal_bytes":20}}
        {"opening":{"session":2,"body":{}}}
        {"state":{"session":2,"state":{}}}
        {"section":{"session":2,"key":1,"ordinal":1,"id":"a"}}
        {"model":{"session":2,"key":1,"section":1,"rank":1,"id":"r","body":[1.50,"\\u00e9"]}}
        {"journal":{"session":2,"revision":1,"at":2,"command":{},"changes":{},"undo":{}}}
        {"token":{"id":"k","session":2,"role":"viewer","created":1,"expires":2,"hash":"h"}}
        {"end":{"table_description":1,"session":1,"opening":1,"state":1,"section":1,"model":1,"published":0,"published_section":0,"published_model":0,"journal":1,"answer":0,"token":1}}

        """

    private static let mistakes: [(line: Int, of: String, by: String, message: String?)] = [
        (1, #""version":1}"#, #""version":2}"#, "format version 2"),
        (1, "braid-server", "other", "not the first line"),
        (2, "database", "databases", "must be the line"),
        (2, #","last_session":2"#, "", "last_session"),
        (2, #""last_session":2"#, #""last_session":1"#, "a session has the number 2"),
        (3, "table_description", "description", "not a table"),
        (4, #""number":2,"#, "", #"needs the column "number""#),
        (4, #""number":2"#, #""number":"2""#, "must be an integer"),
        (4, #""id":"s""#, #""id":7"#, "must be a string"),
        (4, #""epoch""#, #""epoch2""#, "has no column"),
        (4, #""table_version":1"#, #""table_version":2"#, nil),
        (5, #""session":2"#, #""session":3"#, "session number 3 does not exist"),
        (6, "state", "states", "not a table"),
        (7, #""session":2"#, #""session":-2"#, "must be from 0"),
        (8, #""section":1"#, #""section":9"#, "section 9 does not exist"),
        (8, #""id":"r""#, #""id":"r""# + #","id":"q""#, "is not JSON"),
        (9, #"{"journal""#, #"{"opening""#, "must come before"),
        (9, #"{"journal""#, #"{"journal":{},"opening""#, "must have one member"),
        (10, "viewer", "vie\\u0000wer", "must be a string"),
        (11, #""model":1"#, #""model":2"#, #"counts 2 rows of "model", but the archive has 1"#),
        (11, #","token":1"#, "", "needs the number of rows"),
    ]

    @Test("A mistake in an archive is named, and nothing is imported", arguments: StoreKind.forTests)
    func mistakes(kind: StoreKind) async throws {
        guard kind != .memory else { return }
        let lines = Self.archive.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for mistake in Self.mistakes {
            var faulty = lines
            faulty[mistake.line - 1] = lines[mistake.line - 1].replacingOccurrences(of: mistake.of, with: mistake.by)
            try #require(faulty != lines, "\(mistake)")
            try await expectRefused(faulty.joined(separator: "\n"), kind) {
                if let message = mistake.message { #expect($0.contains(message), "\(mistake): \($0)") }
                guard $0.hasPrefix("line ") else { return }
                #expect($0.hasPrefix("line \(mistake.line):"), "\(mistake): \($0)")
            }
        }
        // The archive itself is right.
        let place = try kind.place()
        try `import`([UInt8](Self.archive.utf8), kind, place)
        #expect(String(decoding: try export(kind, place), as: UTF8.self) == Self.archive)
    }

    @Test("An archive that is cut off anywhere is refused", arguments: StoreKind.forTests)
    func cutOff(kind: StoreKind) async throws {
        guard kind != .memory else { return }
        let bytes = [UInt8](Self.archive.utf8)
        var random = SeededGenerator(seed: 4)
        let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        let cuts = ends.dropLast() + (1...20).map { _ in Int.random(in: 0..<bytes.count - 1, using: &random) }
        for cut in cuts {
            try await expectRefused(String(decoding: bytes[..<cut], as: UTF8.self), kind) { _ in }
        }
        // Each line but the last is needed, because the last line counts them.
        let lines = Self.archive.split(separator: "\n").map(String.init)
        for index in lines.indices {
            var rest = lines
            rest.remove(at: index)
            try await expectRefused(rest.joined(separator: "\n"), kind) { _ in }
        }
    }

    private func expectRefused(_ archive: String, _ kind: StoreKind, _ message: (String) -> Void) async throws {
        let place = kind == .file ? directory + "/refused/x.sqlite" : try kind.place()
        let folder = directory + "/refused"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        do {
            try `import`([UInt8](archive.utf8), kind, place)
            Issue.record("imported: \(archive)")
        } catch {
            message("\(error)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        if kind == .postgres {
            // The database is as empty as it was.
            #expect(throws: StoreError.self) { try export(.postgres, place) }
        }
    }

    @Test("A database that is not empty is left as it is", arguments: StoreKind.forTests)
    func notEmpty(kind: StoreKind) async throws {
        guard kind != .memory else { return }
        let place = try kind.place(), store = try kind.open(at: place)
        _ = try await store.putTable("t", description: "{}", at: 1)
        let before = try export(kind, place)
        #expect { try `import`([UInt8](Self.archive.utf8), kind, place) } throws: {
            switch ($0 as? StoreError, kind) {
            case (.exists, .file), (.notEmpty, .postgres): true
            default: false
            }
        }
        #expect(try export(kind, place) == before)
        await store.close()
    }

    #if PostgreSQL
    @Test(
        "A PostgreSQL database with empty tables accepts an import, and a server that runs on it continues",
        .enabled(if: PostgresCluster.isThere))
    func emptyTables() async throws {
        let place = try StoreKind.postgres.place(), store = try StoreKind.postgres.open(at: place)
        try `import`([UInt8](Self.archive.utf8), .postgres, place)
        #expect(try await store.session("s")?.sections[0].rows.count == 1)
        #expect(try await store.createSession(.make("later")) == 3)
        await store.close()
    }
    #endif

    @Test("An import does not put a database next to the write-ahead log of another one") func oldLog() throws {
        let place = directory + "/x.sqlite"
        try Data("log".utf8).write(to: URL(fileURLWithPath: place + "-wal"))
        #expect(throws: StoreError.exists(path: place + "-wal")) {
            try `import`([UInt8](Self.archive.utf8), .file, place)
        }
    }

    @Test("A damaged value stops an export with its place") func damagedValue() async throws {
        let place = directory + "/x.sqlite"
        try `import`([UInt8](Self.archive.utf8), .file, place)
        let connection = try SQLiteConnection(path: place, mode: .readWrite)
        try connection.run("UPDATE model SET body = '[1'")
        connection.close()
        #expect { try export(.file, place) } throws: {
            "\($0)".contains("table model, session 2, key 1: body is not JSON")
        }
    }
}

/// Random requests to a store, so that every table contains rows.
private struct RandomFlow {
    let store: any SessionStore
    /// Names that are hard to write.
    private static let names = ["a", "é\u{301}", "nul\u{0}l", "\"quoted\\", "line\nfeed", "😀", "ÿ"]

    init(on store: any SessionStore) { self.store = store }

    func run(steps: Int, using random: inout SeededGenerator) async throws {
        var sessions: [String: StoredSession] = [:]
        func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: 0..<elements.count, using: &random)]
        }
        func json() -> JSONText {
            pick(["null", "1.50", "-0e+7", #""\u00e9é""#, #"{"b":[1,{"a":null}],"a":""}"#, "[]"])
        }
        for name in Self.names.prefix(3) { _ = try await store.putTable(name, description: json(), at: 1) }
        for step in 1...steps {
            let id = pick(Self.names) + "\(Int.random(in: 0..<2, using: &random))"
            switch (Int.random(in: 0..<12, using: &random), sessions[id]) {
            case (0, _):
                _ = try await store.putTable(pick(Array(Self.names.prefix(3))), description: json(), at: step)
            case (1, let session?) where sessions.count > 2:
                _ = try await store.deleteSession(id)
                sessions[session.facts.id] = nil
            case (2, let session):
                try await store.keep(
                    KeptAnswer(
                        session: session?.facts.number ?? 0, requester: pick(["", "token"]),
                        key: "\(pick(Self.names))\(step)",
                        at: step, request: Int.random(in: .min ... .max, using: &random), answer: json()))
            case (3, .some):
                try await store.createToken(
                    NewToken(
                        id: "\(pick(Self.names))\(step)", role: pick(["viewer", "participant"]), created: step,
                        expires: step + 1000, hash: "hash\(step)"), for: id)
            case (_, nil):
                let kind = Int.random(in: 0..<3, using: &random), name = Self.names[kind]
                let registered = kind == 0 ? try await store.table(name) : nil
                let new = NewSession.make(
                    id, table: kind == 2 ? nil : name, version: registered?.version,
                    description: registered?.description ?? json(), opening: json(),
                    state: json(), displayed: pick([nil, #"["a"]"#]), cells: pick([nil, "{}"]),
                    sections: [
                        .init(
                            number: 1, id: "a", ordinal: 1, header: pick([nil, "null"]), footer: json(), prefetched: 3)
                    ],
                    rows: [(1, .make(1, id: pick(Self.names), json())), (1, .make(2, json()))])
                _ = try await store.createSession(new)
                sessions[id] = try await store.session(id)
            case (_, let session?):
                let facts = session.facts, key = session.nextKey
                let undo = StoredUndo(
                    change: {
                        var undo = TableChange(); undo.removedRows = [key]; undo.state = session.state; return undo
                    }(),
                    updated: facts.updated, nextKey: session.nextKey, nextSection: session.nextSection,
                    isPublished: session.published == nil)
                try await store.commit(
                    .make(
                        facts.number, to: facts.revision + 1, at: step, publishes: Bool.random(using: &random),
                        nextKey: key + 1, nextSection: session.nextSection, rows: key, command: json(), update: json(),
                        undo: undo.json
                    ) {
                        $0.writtenRows = [(1, .make(key, id: pick([nil] + Self.names), json()))]
                        $0.state = json()
                    })
                sessions[id] = try await store.session(id)
            }
        }
    }
}
