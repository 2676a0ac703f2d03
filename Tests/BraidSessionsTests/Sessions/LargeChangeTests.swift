import BraidEngine
import Foundation
import Synchronization
import Testing

@testable import BraidSessions
@testable import BraidStore

@Suite("Commands that would store too much at once") struct LargeChangeTests {
    /// Opens `s`, whose section `a` has 20 rows of 1,000 bytes.
    private static let opening: String = {
        let pad = String(repeating: "x", count: 1_000)
        let rows = (0..<20).map { #"{"id":"\#($0)","pad":"\#(pad)"}"# }.joined(separator: ",")
        let binding = #"{"on":"allOtherSections","cell":"C","editing":"delete","models":{"a":[\#(rows)]}}"#
        return #"{"id":"s","table":{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[\#(binding)]}}"#
    }()

    /// Opens `s`. The returned sessions allow commands of 10,000 bytes.
    private static func sessions(_ store: SQLiteStore) async throws -> SessionHost {
        let body = try JSONText(parsing: opening)
        _ = try await SessionHost(store: store).open(SessionOpening(body), text: body)
        var limits = SessionLimits()
        limits.changeBytes = 10_000
        return SessionHost(store: store, limits: limits)
    }

    private static func perform(_ kind: String, _ body: String, on sessions: SessionHost) async throws -> Int {
        try await sessions.execute(request(kind, body)).revision
    }

    /// Of a command that must be refused.
    private static func refusal(_ request: CommandRequest, on sessions: SessionHost) async throws
        -> SessionError.Code?
    {
        do {
            _ = try await sessions.execute(request)
            return nil
        } catch let error as SessionError {
            return error.code
        }
    }

    private static func request(_ kind: String, _ body: String) throws -> CommandRequest {
        let body = try JSONText(parsing: body)
        return CommandRequest(session: "s", try Command(kind: kind, body: body), text: body)
    }

    private static func follow(_ session: Session) async -> TestReader {
        let subscriber = Subscriber(session.displayed, after: nil, form: StreamForm())
        #expect(subscriber.start())
        let reader = TestReader(subscriber)
        #expect(await reader.events(through: "caught-up", 0).last == "caught-up 0")
        return reader
    }

    @Test("A command that would store too much changes nothing, and smaller commands and the streams go on")
    func refused() async throws {
        let store = try SQLiteStore(path: ":memory:"), sessions = try await Self.sessions(store)
        let session = try await sessions.session("s"), before = session.current.snapshot.encoded()
        let reader = await Self.follow(session)
        // The undo record has all removed rows.
        #expect(try await Self.refusal(Self.request("models", "{}"), on: sessions) == .changeTooLarge)
        #expect(session.current.snapshot.encoded() == before && !session.isStale)
        #expect(try await Self.perform("edits", #"{"delete":{"id":"3"}}"#, on: sessions) == 1)
        #expect(await reader.events(through: "update", 1).last == "update 1")
        #expect(try await Self.perform("displayedSections", #"["b"]"#, on: sessions) == 2)
        // Both would show the section `a` again, so their updates would have all its rows.
        let show = try Self.request("displayedSections", #"["a","b"]"#)
        #expect(try await Self.refusal(show, on: sessions) == .changeTooLarge)
        #expect(try await Self.refusal(.reset("s"), on: sessions) == .changeTooLarge)
        #expect(!session.isStale && session.revision == 2)
        #expect(try await Self.perform("patchState", #"{"n":1}"#, on: sessions) == 3)
        #expect(await reader.events(through: "update", 3).last == "update 3")
        await store.close()
    }

    @Test("If the database refuses a value as too large, the session and its streams go on")
    func refusedByTheDatabase() async throws {
        let fails = Mutex(false)
        var file = SQLiteFileOptions()
        file.simulatedFailure = { fails.withLock { $0 } ? 18 : nil }  // SQLITE_TOOBIG
        let store = try SQLiteStore(path: ":memory:", file: file), sessions = try await Self.sessions(store)
        let session = try await sessions.session("s"), reader = await Self.follow(session)
        fails.withLock { $0 = true }
        await #expect(throws: StoreError.tooLarge) {
            _ = try await Self.perform("patchState", #"{"n":1}"#, on: sessions)
        }
        fails.withLock { $0 = false }
        #expect(!session.isStale && session.revision == 0)
        #expect(try await Self.perform("patchState", #"{"n":1}"#, on: sessions) == 1)
        #expect(await reader.events(through: "update", 1).last == "update 1")
        await store.close()
    }

    @Test("A fork of a table that is too large is refused on disk, and in memory its reset is refused")
    func forks() async throws {
        let body = try JSONText(parsing: #"{"from":{"session":"s"},"id":"f"}"#)
        let memory = try SQLiteStore(path: ":memory:"), inMemory = try await Self.sessions(memory)
        let fork = try await inMemory.open(SessionOpening(body), text: body).session
        await #expect(throws: StoreError.tooLarge) {
            _ = try await inMemory.execute(.reset("f"))
        }
        #expect(!fork.isStale)
        await memory.close()

        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("large-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let disk = try SQLiteStore(path: directory.path + "/braid.sqlite"), onDisk = try await Self.sessions(disk)
        await #expect(throws: StoreError.tooLarge) { _ = try await onDisk.open(SessionOpening(body), text: body) }
        #expect(try await disk.sessionSummary("f") == nil)
        await disk.close()
    }
}
