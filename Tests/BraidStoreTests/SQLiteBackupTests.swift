import CSQLite
import Foundation
import Testing

@testable import BraidStore

@Suite("SQLite's online backup") struct SQLiteBackupTests {
    private let path = TestDirectory.make() + "/file.sqlite"

    private func source(rows: Int = 500) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, mode: .readWrite)
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (k INTEGER PRIMARY KEY, v)")
        try connection.inTransaction(.immediate) {
            for _ in 0..<rows { try connection.run("INSERT INTO t (v) VALUES (zeroblob(500))") }
        }
        return connection
    }

    private func rows(_ connection: SQLiteConnection) throws -> Int? {
        try connection.first("SELECT count(*) FROM t") { $0.int(0) }
    }

    @Test("A backup in steps says how far it is, and ends with the whole database") func steps() throws {
        let source = try source(), target = try SQLiteConnection(path: path + ".copy", mode: .readWrite)
        let backup = try SQLiteBackup(from: source, to: target)
        var left: [Int] = []
        while try backup.step(pages: 10) { left.append(backup.remainingPageCount) }
        #expect(left.count > 5 && left == left.sorted(by: >) && backup.remainingPageCount == 0)
        #expect(try backup.pageCount == source.pragma("page_count"))
        try backup.finish()
        try backup.finish()
        #expect(throws: SQLiteError.closed) { try backup.step(pages: 1) }
        #expect(try rows(target) == 500)
        #expect(try target.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
    }

    @Test("Writes of another connection in the middle of a backup are in the copy") func whileWriting() throws {
        let source = try source(), target = try SQLiteConnection(path: path + ".copy", mode: .readWrite)
        let writer = try SQLiteConnection(path: path, mode: .readWrite, busyTimeout: 1000)
        let backup = try SQLiteBackup(from: source, to: target)
        var steps = 0
        while try backup.step(pages: 7) {
            steps += 1
            if steps % 5 == 0, steps < 30 { try writer.run("INSERT INTO t (v) VALUES (zeroblob(500))") }
        }
        try backup.finish()
        #expect(try rows(target) == rows(writer))
        #expect(try rows(target) == 505)
        #expect(try target.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
    }

    @Test("A backup that is given up leaves the target as it was") func givenUp() throws {
        let source = try source(), target = try SQLiteConnection(path: path + ".copy", mode: .readWrite)
        try target.execute("CREATE TABLE own (v)")
        do {
            let backup = try SQLiteBackup(from: source, to: target)
            #expect(try backup.step(pages: 3))
        }
        #expect(try target.first("SELECT name FROM sqlite_master") { $0.text(0) } == "own")
    }

    @Test("A connection cannot be copied onto itself, nor to or from a closed one") func misuse() throws {
        let source = try source(), target = try SQLiteConnection(path: "", mode: .inMemory)
        #expect { try SQLiteBackup(from: source, to: source) } throws: { has($0, .error) }
        let backup = try SQLiteBackup(from: source, to: target)
        #expect(try backup.step(pages: 1))
        source.close()
        #expect(throws: SQLiteError.closed) { try backup.step(pages: 1) }
        #expect(throws: SQLiteError.closed) { try SQLiteBackup(from: source, to: target) }
        target.close()
        #expect(throws: SQLiteError.closed) { try SQLiteBackup(from: target, to: target) }
    }

    @Test("A lock on the target is an error, after which the backup goes on") func lockedTarget() throws {
        let source = try source(rows: 10), target = try SQLiteConnection(path: path + ".copy", mode: .readWrite)
        let other = try SQLiteConnection(path: path + ".copy", mode: .readWrite)
        try other.begin(.immediate)
        let backup = try SQLiteBackup(from: source, to: target)
        #expect { try backup.step(pages: -1) } throws: { has($0, .busy) }
        try other.rollback()
        #expect(try !backup.step(pages: -1))
        try backup.finish()
        #expect(try rows(target) == 10)
    }
}
