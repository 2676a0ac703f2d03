import BraidEngine
import BraidRuntime
import BraidStore
import TestSupport
import Testing

@testable import BraidSessions

@Suite("Commands of one session do not wait for each other's commit") struct CommitsUnderWayTests {
    // MARK: Whatever becomes of the commits

    /// The first four commits share nothing but the session; each has each outcome.
    private static let scripts: [[HeldCommits.Outcome]] = {
        let all = HeldCommits.Outcome.allCases
        return all.flatMap { a in all.flatMap { b in all.flatMap { c in all.map { [a, b, c, $0] } } } }
    }()

    @Test("Whatever becomes of each commit, what is acknowledged is stored once, and nobody has seen anything else")
    func outcomes() async throws {
        for script in Self.scripts { try await Self.check(script) }
    }

    private static func check(_ script: [HeldCommits.Outcome]) async throws {
        let course = try await Course()
        // Two deletes of the same row: the second is refused because of the first, unless that is not stored.
        await course.send(#"{"patchState":{"by":"first"}}"#)
        await course.send(#"{"edits":{"delete":{"id":"a"}}}"#)
        await course.send(#"{"patchState":{"by":"third"}}"#, ifAt: 2)
        await course.send(#"{"patchState":{"by":"fourth"}}"#)
        #expect(await eventually { course.session.underWay.records.count == 4 })
        await course.send(#"{"edits":{"delete":{"id":"a"}}}"#)
        await course.send(#"{"patchState":{"by":"fourth"}}"#)
        await course.send(#"{"edits":{"delete":{"id":"b"}}}"#, isDryRun: true)
        #expect(course.session.revision == 0 && course.told.value.isEmpty)
        for outcome in script { _ = await course.store.settle(outcome) }
        while await course.store.settle(.stored) {}
        try await course.check("\(script)")
    }

    // MARK: Bounds and order

    @Test("Their number and bytes are bounded", arguments: [(1_500, 0), (20, 100_000)])
    func bounds(count: Int, bytes: Int) async throws {
        let course = try await Course(), padding = String(repeating: "x", count: bytes)
        for number in 0..<count { course.start(#"{"patchState":{"by":"\#(number)","padding":"\#(padding)"}}"#) }
        let records = { course.session.underWay.records }
        #expect(await eventually { records().count >= (bytes == 0 ? CommitsUnderWay.mostCost : 3) })
        // Time for more, if there were no bound.
        try await Task.sleep(for: .milliseconds(50))
        #expect(records().count <= CommitsUnderWay.mostCost)
        #expect(records().reduce(0) { $0 + $1.bytes } < 1_000_000 + 3 * bytes)
        course.store.open()
        try await course.check("\(count) commands")
    }

    /// The store may write it after smaller ones that come later.
    @Test("A large commit is given to the store alone, after those before it and before those after it")
    func large() async throws {
        let course = try await Course()
        let rows = (0..<2_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        await course.send(#"{"patchState":{"by":"first"}}"#)
        await course.send(#"{"patchState":{"by":"second"}}"#)
        await course.send(#"{"patchModels":{"x":[\#(rows)]}}"#)
        course.start(#"{"patchState":{"by":"fourth"}}"#)
        #expect(await eventually { course.session.underWay.records.count == 3 })
        for stored in 0..<4 {
            #expect(await eventually { course.store.held > 0 })
            #expect(course.store.held == 1, "after \(stored)")
            _ = await course.store.settle(.stored)
        }
        try await course.check("large")
    }

    // MARK: One at a time

    @Test("A command whose basis fails while it is executed is executed again")
    func failsMeanwhile() async throws {
        for error in [StoreError.full, .busy(path: "")] {
            let course = try await Course()
            await course.send(#"{"patchState":{"by":"first"}}"#)
            course.start(#"{"patchState":{"by":"second"}}"#) { revision in
                if revision == 1 { course.store.fail(error) }
            }
            #expect(await course.judged.wait { $0.contains { $0.command == 1 } })
            while await course.store.settle(.stored) {}
            #expect(course.judged.value.filter { $0.command == 1 }.map(\.revision) == [1, 0])
            try await course.check("\(error)")
        }
    }

    @Test("A base may be a revision before those under way")
    func base() async throws {
        let course = try await Course()
        await course.send(#"{"edits":{"delete":{"section":0,"row":0}}}"#)
        await course.send(#"{"edits":{"delete":{"section":0,"row":1}}}"#, base: 0)
        await course.send(#"{"edits":{"delete":{"section":0,"row":0}}}"#, base: 0)
        course.store.open()
        #expect(await course.told.wait { $0.count == 3 })
        course.store.end()
        // `a` and `b` are gone; the third meant `a`.
        let snapshot = String(decoding: course.session.displayed.encodedSnapshot().bytes.plain, as: UTF8.self)
        #expect(!snapshot.contains(#""id":"a""#) && !snapshot.contains(#""id":"b""#) && snapshot.contains(#""id":"c""#))
        #expect(course.session.revision == 2)
    }

    @Test("A key in flight is one command, and is free again when its commit has failed")
    func keys() async throws {
        let course = try await Course(), sessions = course.sessions
        let text = try JSONText(parsing: #"{"patchState":{"by":"key"}}"#)
        let request = try CommandRequest(session: "s", Command(journalText: text), text: text)
        let send = { @Sendable () async throws -> Int in
            let key = IdempotencyKey(key: "k", requester: "", request: 1) { _ in nil }
            return try await sessions.once(key, for: request) { _ in
                -1
            } _: { keep in
                var request = request
                request.keptAnswer = { _ in keep(.emptyObject) }
                return try await sessions.execute(request).revision
            }
        }
        for isStored in [false, true] {
            let first = Task { try await send() }
            #expect(await eventually { course.store.held == 1 })
            await #expect(throws: SessionError.self) { try await send() }
            _ = await course.store.settle(isStored ? .stored : .full)
            if isStored {
                #expect(try await first.value == 1)
            } else {
                await #expect(throws: StoreError.full) { try await first.value }
            }
        }
        #expect(try await send() == -1)
        #expect(course.session.revision == 1 && course.store.held == 0)
    }

    @Test("A cancelled client's command is stored if its commit is under way, and not if it waits for the lock")
    func cancelled() async throws {
        let course = try await Course()
        let first = course.start(#"{"patchState":{"by":"first"}}"#)
        #expect(await eventually { course.store.held == 1 })
        first.cancel()
        let held = Flag()
        let holder = Task {
            try await course.session.commands.withLock {
                held.set()
                #expect(await eventually { course.session.commands.isAwaited })
            }
        }
        await held.wait()
        let second = course.start(#"{"patchState":{"by":"second"}}"#)
        second.cancel()
        // Another, for which the holder waits.
        course.start(#"{"patchState":{"by":"third"}}"#)
        try await holder.value
        course.store.open()
        #expect(await course.told.wait { $0.count == 3 })
        course.store.end()
        let told = course.told.value.map(\.fate)
        #expect(told.contains(.applied(1)) && told.contains(.failed), "\(told)")
        try await course.check("cancelled")
    }
}

/// Commands to one session, a reader that follows it, and what all were told.
private final class Course: Sendable {
    enum Fate: Equatable, Sendable {
        case applied(Int)
        /// A dry run, or nothing to change: the revision of which this was told.
        case unchanged(Int)
        case refused
        /// The store has written nothing, or the client was gone.
        case failed
        case unknown
        case wrong(String)
    }

    struct Told: Sendable {
        var command: Int
        var fate: Fate
        /// In the store at this moment.
        var stored: Int
    }

    let store: HeldCommits
    let sessions: SessionHost
    let session: Session
    let told = Watched<[Told]>([])
    /// To which revisions each command was applied.
    let judged = Watched<[(command: Int, revision: Int)]>([])
    private let texts = Watched<[JSONText]>([])
    private let read = Watched<[JSONText]>([])
    private let complaints = Watched<[String]>([])
    private let isOver = Flag()

    private static let opening =
        #"{"id":"s","table":{"table":"t","sections":["x"],"cells":{"C":{}},"bindings":[{"on":{"section":"x"},"cell":"C","models":[{"id":"a"},{"id":"b"},{"id":"c"}],"editing":"delete"}]}}"#

    init() async throws {
        store = try HeldCommits()
        sessions = SessionHost(store: store)
        let body = try JSONText(parsing: Self.opening)
        session = try await sessions.open(SessionOpening(body), text: body).session
        Task { await self.follow() }
    }

    /// Returns when it has been applied to the latest state.
    func send(_ text: String, ifAt revision: Int? = nil, base: Int? = nil, isDryRun: Bool = false) async {
        let number = texts.value.count
        start(text, ifAt: revision, base: base, isDryRun: isDryRun)
        #expect(await judged.wait { $0.contains { $0.command == number } })
    }

    @discardableResult
    func start(
        _ text: String, ifAt expected: Int? = nil, base: Int? = nil, isDryRun: Bool = false,
        judging: @escaping @Sendable (Int) -> Void = { _ in }
    ) -> Task<Void, Never> {
        let text = try! JSONText(parsing: text)
        let number = texts.withLock { texts in
            texts.append(text)
            return texts.count - 1
        }
        var request = try! CommandRequest(session: "s", Command(journalText: text), text: text)
        request.isDryRun = isDryRun
        request.base = base.map { session.position(at: $0) }
        request.condition = PositionCondition("expected") { [judged] position in
            judged.withLock { $0.append((number, position.revision)) }
            judging(position.revision)
            return expected == nil || position.revision == expected
        }
        return Task { [request] in await self.execute(request, number) }
    }

    private func execute(_ request: CommandRequest, _ number: Int) async {
        let fate: Fate
        do {
            let execution = try await sessions.execute(request)
            fate =
                request.isDryRun || execution.outcome.kind != .applied
                ? .unchanged(execution.position.revision) : .applied(execution.revision)
        } catch is Refusal {
            fate = .refused
        } catch is SessionError {
            fate = .refused
        } catch StoreError.outcomeUnknown {
            fate = .unknown
        } catch StoreError.full, StoreError.busy, is CancellationError {
            fate = .failed
        } catch {
            fate = .wrong("\(error)")
        }
        let stored = store.stored(of: session)
        let count = told.withLock { told in
            told.append(Told(command: number, fate: fate, stored: stored))
            return told.count
        }
        if count == texts.value.count { store.end() }
    }

    /// Long polls, from the opening.
    private func follow() async {
        while !isOver.isSet {
            let seen = read.value.count
            var request = UpdatesRequest(since: session.position(at: seen), account: Quota.Account())
            request.wait = .seconds(1)
            do {
                let answer = try await sessions.withCurrent("s") { [request] in try await $0.displayed.updates(request)
                }
                let stored = store.stored(of: session)
                let json = try JSONText(parsing: answer.json ?? [])
                guard let updates = json["updates"]?.elements() else { throw SessionError(unavailable: json.text) }
                if answer.position.revision > stored {
                    complaints.withLock { $0.append("\(answer.position.revision) was read while \(stored) was stored") }
                }
                read.withLock { $0 += updates }
            } catch {
                complaints.withLock { $0.append("\(error)") }
                return
            }
        }
    }

    /// After the end.
    func check(_ label: String) async throws {
        let count = texts.value.count
        #expect(await told.wait { $0.count == count })
        let records = try await store.journal(of: session.number, after: 0, limit: 10_000, bytes: .max)
        #expect(await read.wait { $0.count >= records.count })
        let read = read.value, complaints = complaints.value
        #expect(complaints.isEmpty, "\(label): \(complaints)")
        #expect(read == records.map(\.update), "\(label): the reader")
        #expect(records.map(\.revision) == Array(1..<records.count + 1), "\(label)")
        var owners: [Int: Int] = [:], possible: [String: Int] = [:]
        for told in told.value {
            let text = texts.value[told.command], judged = judged.value.last { $0.command == told.command }?.revision
            switch told.fate {
            case .applied(let revision):
                #expect(revision <= told.stored, "\(label): \(text) was told \(revision) before it was stored")
                #expect(owners.updateValue(told.command, forKey: revision) == nil, "\(label): \(revision) twice")
                #expect(records.count >= revision && records[revision - 1].command == text, "\(label): \(text)")
                #expect(judged == revision - 1, "\(label): \(text)")
            case .unchanged(let revision):
                #expect(revision <= told.stored, "\(label): \(text) was told of \(revision)")
            case .refused: #expect(judged ?? .max <= told.stored, "\(label): \(text) was refused at \(judged ?? -1)")
            case .failed: break
            case .wrong(let error): Issue.record("\(label): \(text) was told \(error)")
            case .unknown: possible[text.text, default: 0] += 1
            }
        }
        for record in records where owners[record.revision] == nil {
            possible[record.command.text, default: 0] -= 1
            #expect(possible[record.command.text] ?? 0 >= 0, "\(label): \(record.command) was not sent, or was refused")
        }
        // In memory, read again, and replayed: the same bytes.
        let text = String(
            decoding: try await sessions.current("s").displayed.encodedSnapshot().bytes.plain, as: UTF8.self)
        let again = try await SessionHost(store: store).session("s").displayed.encodedSnapshot().bytes.plain
        #expect(String(decoding: again, as: UTF8.self) == text, "\(label)")
        let opening = try #require(try await store.opening("s"))
        let lines = [JournalFile.opening(of: opening, checkpoint: nil)] + records.map { JournalFile.lines(of: [$0]) }
        #expect(String(decoding: try JournalFile.replay(lines), as: UTF8.self) == text, "\(label)")
        isOver.set()
        await store.close()
    }
}
