import BraidEngine
import Foundation
import TestSupport
import Testing

@testable import BraidStore

#if PostgreSQL
@testable import BraidPostgres
#endif

@Suite("Archives") struct ArchiveTests {
    private static let kinds = StoreKind.forTests.filter { $0 != .memory }
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

    @Test(
        "Exporting a database, importing it into each kind of database and exporting it again gives the same bytes",
        arguments: 1...5)
    func sameBytes(seed: Int) async throws {
        let original = directory + "/original.sqlite"
        var random = SeededGenerator(seed: UInt64(seed))
        let store = try SQLiteStore(path: original, options: StoreOptions(journalLimit: 9))
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

    @Test(
        "An archive of a PostgreSQL database can be imported into an SQLite file with the same content",
        .enabled(if: PostgresCluster.isThere))
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

    /// Except for epochs, because an import begins new ones.
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
        for summary in sessions {
            var mine = try await store.session(summary.id), other = try await copy.session(summary.id)
            #expect(mine?.summary.epoch != other?.summary.epoch, "an import begins new epochs")
            mine?.summary.epoch = ""
            other?.summary.epoch = ""
            #expect(dump(other) == dump(mine))
            let journal = try await store.journal(of: summary.number, after: 0, limit: 100)
            #expect(
                try await copy.journal(of: summary.number, after: 0, limit: 100).map(\.command)
                    == journal.map(\.command))
            var start = try await store.journalStart(of: summary.id),
                otherStart = try await copy.journalStart(of: summary.id)
            start?.summary.epoch = ""
            otherStart?.summary.epoch = ""
            #expect(dump(otherStart) == dump(start))
            #expect(
                try await copy.tokens(of: summary.id, after: nil, limit: 100, now: 0)
                    == store.tokens(of: summary.id, after: nil, limit: 100, now: 0))
        }
        // No session had this number before.
        let numbers = (try await store.createSession(.make("later")), try await copy.createSession(.make("later")))
        #expect(numbers.1 == numbers.0 || numbers.1 > (sessions.map(\.number).max() ?? 0))
    }

    @Test(
        "The first start after an import begins new epochs, and the next start keeps them",
        arguments: kinds)
    func epochs(kind: StoreKind) async throws {
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

    private static let day = 24 * 60 * 60 * 1000

    @Test(
        "After an import, the age of kept answers counts from the newest one, whatever the databases' clocks say",
        arguments: kinds.flatMap { from in kinds.map { (from, $0) } }, [-1_000 * day, 1_000 * day])
    func ageOfAnswers(kinds: (from: StoreKind, to: StoreKind), distance: Int) async throws {
        let original = try kinds.from.place(), store = try kinds.from.open(at: original)
        let newest = store.answerClock.now() + distance, ages = [0, Self.day / 2, 2 * Self.day]
        for age in ages {
            try await store.keep(
                KeptAnswer(session: 0, requester: "", key: "\(age)", at: newest - age, request: 1, answer: "{}"))
        }
        await store.close()
        let archive = try export(kinds.from, original)
        let found = String(decoding: archive, as: UTF8.self).matches(of: /"at":([-0-9]+)/).map { Int($0.1) }
        #expect(found.compactMap(\.self).sorted() == ages.map { -$0 }.sorted())

        // An import does not set the clock of a PostgreSQL server that already runs.
        let place = try kinds.to.place(), running = kinds.to == .postgres ? try kinds.to.open(at: place) : nil
        try `import`(archive, kinds.to, place)
        for copy in [running, try kinds.to.open(at: place)].compactMap({ $0 }) {
            let now = copy.answerClock.now()
            for age in ages {
                let answer = try await copy.answer(to: "\(age)", by: "", of: 0, now: now)
                #expect((answer != nil) == (age < Self.day), "\(age)")
            }
            #expect(try await copy.answer(to: "0", by: "", of: 0, now: now + Self.day / 2) != nil)
            #expect(try await copy.answer(to: "0", by: "", of: 0, now: now + Self.day) == nil)
            await copy.close()
        }
    }

    @Test("An export while a session changes contains the data of one moment", arguments: kinds)
    func oneMoment(kind: StoreKind) async throws {
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

    @Test("The rows in an archive have all columns of the SQLite tables, except of `epoch_suffix` and `compatibility`")
    func sqliteColumns() throws {
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
    @Test(
        "The rows in an archive have all columns of the PostgreSQL tables, except of four tables about the database",
        .enabled(if: PostgresCluster.isThere))
    func postgresColumns() async throws {
        let place = try StoreKind.postgres.place()
        try await StoreKind.postgres.open(at: place).close()
        let found = try PostgresQueries(db: PostgresConnection(url: place, timeout: .seconds(30), settings: [])).texts(
            """
            SELECT table_name || '.' || column_name || ' ' || data_type || CASE is_nullable WHEN 'NO' THEN '' ELSE '?' END
            FROM information_schema.columns WHERE table_schema = current_schema()
            AND table_name NOT IN ('epoch_suffix', 'crash_detector', 'braid_server', 'last_commit')
            """)
        let declared = ArchiveTable.all.flatMap { table in
            table.columns.map { column in
                let type =
                    switch column.kind {
                    case .integer, .answerTime: "bigint"
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
        {"answer":{"session":2,"requester":"","key":"a","at":0,"request":7,"answer":{"status":200},"cost_before":0,"cost":9}}
        {"token":{"id":"k","session":2,"role":"viewer","created":1,"expires":2,"hash":"h"}}
        {"end":{"table_description":1,"session":1,"opening":1,"state":1,"section":1,"model":1,"published":0,"published_section":0,"published_model":0,"journal":1,"answer":1,"token":1}}

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
        (7, #""session":2"#, #""session":-2"#, "must be an integer from 1 to 2147483647"),
        (8, #""section":1"#, #""section":9"#, "section 9 does not exist"),
        (8, #""id":"r""#, #""id":"r""# + #","id":"q""#, "is not JSON"),
        (9, #"{"journal""#, #"{"opening""#, "must come before"),
        (9, #"{"journal""#, #"{"journal":{},"opening""#, "must have one member"),
        (10, #""at":0"#, #""at":1"#, "must be an integer from -315537897599999 to 0"),
        (11, "viewer", "vie\\u0000wer", "must be a string"),
        (12, #""model":1"#, #""model":2"#, #"counts 2 rows of "model", but the archive has 1"#),
        (12, #","token":1"#, "", "needs the number of rows"),
    ]

    @Test(
        "An archive with a mistake is refused, nothing is imported, and a line in the error is the faulty line",
        arguments: kinds)
    func mistakes(kind: StoreKind) async throws {
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
        // Without a mistake, the archive can be imported.
        let place = try kind.place()
        try `import`([UInt8](Self.archive.utf8), kind, place)
        #expect(String(decoding: try export(kind, place), as: UTF8.self) == Self.archive)
    }

    /// Of an archive with one row.
    private func fault(of table: ArchiveTable, _ column: Int, _ value: Int) -> String {
        let members = table.columns.enumerated().map { index, other in
            let text =
                switch other.kind {
                case .integer(let number): "\(index == column ? value : number.range.upperBound)"
                case .answerTime: "\(index == column ? value : 0)"
                case .name, .word: "\"a\""
                case .json: "{}"
                }
            return "\"\(other.name)\":\(text)"
        }
        let row = "{\"\(table.name)\":{\(members.joined(separator: ","))}}"
        var lines = (Self.archive.split(separator: "\n").prefix(2) + [row[...]])[...]
        do {
            _ = try Archive.read({ lines.popFirst().map { [UInt8]($0.utf8) } }, into: Nowhere())
            return ""
        } catch {
            return "\(error)"
        }
    }

    private struct Nowhere: ArchiveTarget {
        func insert(_ row: [ArchiveValue], into table: ArchiveTable) {}
        func finish(_ summary: DatabaseSummary) {}
    }

    @Test("Each integer of an archive is refused outside its range, and accepted at both ends")
    func ranges() {
        var count = 0
        for table in ArchiveTable.all {
            for (index, column) in table.columns.enumerated() {
                let range: ClosedRange<Int>
                switch column.kind {
                case .integer(let number): range = number.range
                case .answerTime: range = StoredNumber.age.range
                case .name, .word, .json: continue
                }
                count += 1
                let place = "\(table.name).\(column.name)"
                for value in [range.lowerBound, range.upperBound] {
                    #expect(fault(of: table, index, value).contains("the archive is cut off"), "\(place) \(value)")
                }
                for value in [Int.min, range.lowerBound &- 1, range.upperBound &+ 1, .max] where !range.contains(value)
                {
                    #expect(fault(of: table, index, value).contains("\"\(column.name)\""), "\(place) \(value)")
                }
            }
        }
        #expect(count > 35)
    }

    @Test("An archive that is cut off at any byte is refused", arguments: kinds)
    func cutOff(kind: StoreKind) async throws {
        let bytes = [UInt8](Self.archive.utf8)
        var random = SeededGenerator(seed: 4)
        let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        let cuts = ends.dropLast() + (1...20).map { _ in Int.random(in: 0..<bytes.count - 1, using: &random) }
        for cut in cuts {
            try await expectRefused(String(decoding: bytes[..<cut], as: UTF8.self), kind) { _ in }
        }
        // Any missing line is noticed: the last one counts the rows.
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
            // Still empty.
            #expect(throws: StoreError.self) { try export(.postgres, place) }
        }
    }

    @Test("An import into a database that is not empty is refused, and changes nothing", arguments: kinds)
    func notEmpty(kind: StoreKind) async throws {
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
        "An import into a PostgreSQL database with empty tables succeeds, even while a server uses it",
        .enabled(if: PostgresCluster.isThere))
    func emptyTables() async throws {
        let place = try StoreKind.postgres.place(), store = try StoreKind.postgres.open(at: place)
        try `import`([UInt8](Self.archive.utf8), .postgres, place)
        #expect(try await store.session("s")?.sections[0].rows.count == 1)
        #expect(try await store.createSession(.make("later")) == 3)
        await store.close()
    }

    @Test(
        "An import into a PostgreSQL database whose sessions were all deleted keeps nothing of them",
        .enabled(if: PostgresCluster.isThere))
    func usedTables() async throws {
        let original = try StoreKind.file.place()
        try await StoreKind.file.open(at: original).close()
        let archive = try export(.file, original)
        let place = try StoreKind.postgres.place()
        var store = try StoreKind.postgres.open(at: place)
        for _ in 1...3 {
            _ = try await store.createSession(.make())
            _ = try await store.deleteSession("s")
        }
        await store.close()
        // A failed import changes nothing, not even the next session's number.
        let faulty = Self.archive.replacingOccurrences(of: #""last_session":2"#, with: #""last_session":1"#)
        #expect(throws: ArchiveError.self) { try `import`([UInt8](faulty.utf8), .postgres, place) }
        store = try StoreKind.postgres.open(at: place)
        #expect(try await store.createSession(.make()) == 4)
        _ = try await store.deleteSession("s")
        await store.close()
        try `import`(archive, .postgres, place)
        #expect(try export(.postgres, place) == archive)
        // A kept answer counts, even without its session.
        store = try StoreKind.postgres.open(at: place)
        try await store.keep(
            KeptAnswer(session: 4, requester: "", key: "k", at: 1, request: 1, answer: "{}"))
        #expect { try `import`(archive, .postgres, place) } throws: {
            if case StoreError.notEmpty = $0 { true } else { false }
        }
        await store.close()
    }
    #endif

    @Test("An import is refused if a write-ahead log already exists next to the new file") func oldLog() throws {
        let place = directory + "/x.sqlite"
        try Data("log".utf8).write(to: URL(fileURLWithPath: place + "-wal"))
        #expect(throws: StoreError.exists(path: place + "-wal")) {
            try `import`([UInt8](Self.archive.utf8), .file, place)
        }
    }

    @Test("An export stops at a damaged value, and the error says where it is") func damagedValue() async throws {
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

/// Makes random changes that leave no table empty.
private struct RandomFlow {
    let store: any SessionStore
    /// With characters that are difficult to encode.
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
                sessions[session.summary.id] = nil
            case (2, let session):
                try await store.keep(
                    KeptAnswer(
                        session: session?.summary.number ?? 0, requester: pick(["", "token"]),
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
                let summary = session.summary, key = session.nextKey
                let undo = StoredUndo(
                    change: {
                        var undo = TableChange(); undo.removedRows = [key]; undo.state = session.state; return undo
                    }(),
                    updated: summary.updated, nextKey: session.nextKey, nextSection: session.nextSection,
                    isPublished: session.published == nil)
                try await store.commit(
                    .make(
                        summary.number, to: summary.revision + 1, at: step, publishes: Bool.random(using: &random),
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
