import BraidEngine
import BraidRuntime
import BraidStore
import TestSupport
import Synchronization
import Testing

@testable import BraidSessions

/// New, in a new database in memory.
struct TestSession {
    let sessions: SessionHost
    let session: Session
    var feed: ChangeFeed { session.feed }

    init(_ limits: StreamLimits = StreamLimits(), journalLimit: Int = 1_000) async throws {
        let store = try SQLiteStore(path: ":memory:", options: StoreOptions(journalLimit: journalLimit))
        sessions = SessionHost(
            store: store, streams: limits)
        let body = try JSONText(
            parsing:
                #"{"id":"s","table":{"table":"t","cells":{"C":{"events":{"go":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"}],"editing":"delete"}]}}"#
        )
        session = try await sessions.open(SessionOpening(body), text: body).session
    }

    @discardableResult
    func perform(_ kind: String, _ body: String) async throws -> Int {
        let body = try JSONText(parsing: body)
        let command = try Command(kind: kind, body: body)
        return try await sessions.execute(CommandRequest(session: "s", command, text: body)).revision
    }

    func setState(_ number: Int, padding: Int = 0) async throws {
        try await perform("patchState", #"{"n":\#(number),"padding":"\#(String(repeating: "x", count: padding))"}"#)
    }

    func subscribe(after position: Int? = nil, _ form: StreamForm = StreamForm()) -> TestReader {
        let subscriber = Subscriber(session.displayed, after: position, form: form)
        #expect(subscriber.start())
        return TestReader(subscriber)
    }
}

/// In place of an event loop: reads a subscriber's queue when a test calls `take`.
final class TestReader: Sendable {
    let subscriber: Subscriber
    private let told = Mutex<[String]>([])
    /// Counts news of the stream: bytes, or its end.
    private let news = Watched(0)

    init(_ subscriber: Subscriber) {
        self.subscriber = subscriber
        subscriber.stream.attach { [news] in news.withLock { $0 += 1 } }
    }

    /// Name and revision of all that was taken; "-" without a position.
    var events: [String] { told.withLock { $0 } }

    /// All bytes, without waiting.
    @discardableResult
    func take() -> ByteStream.Taken {
        let taken = subscriber.stream.take()
        for piece in taken.pieces {
            // Complete events.
            let new = String(decoding: piece, as: UTF8.self).split(separator: "\n\n").compactMap { block -> String? in
                let fields = block.split(separator: "\n").map {
                    $0.split(separator: ": ", maxSplits: 1).map(String.init)
                }
                func value(_ name: String) -> String? { fields.first { $0.first == name }?.last }
                return value("event").map { "\($0) \(value("id")?.split(separator: ".").last ?? "-")" }
            }
            told.withLock { $0 += new }
        }
        return taken
    }

    /// Waits for the revision; all events so far.
    func events(at revision: Int) async -> [String] {
        _ = await takes { _ in told.withLock { $0.last?.hasSuffix(" \(revision)") ?? false } }
        return events
    }

    /// Waits until one of the last three events is this; all events so far.
    func events(through name: String, _ revision: Int) async -> [String] {
        _ = await takes { _ in told.withLock { $0.suffix(3).contains("\(name) \(revision)") } }
        return events
    }

    /// Takes at each news, until what was taken meets a condition.
    func takes(until isMet: (ByteStream.Taken) -> Bool) async -> Bool {
        while true {
            let seen = news.value
            if isMet(take()) { return true }
            guard await news.wait(until: { $0 > seen }) else { return false }
        }
    }
}
