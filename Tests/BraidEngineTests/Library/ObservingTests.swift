import Synchronization
import TestSupport
import Testing
@testable import BraidEngine

/// Asynchronous sequences as input, the stream of updates as output.
@Suite struct ObservingTests {
    @Test("Each new element of a sequence of models or titles refreshes the table")
    func sequences() async throws {
        let (models, give) = AsyncStream.makeStream(of: [Person].self)
        let (titles, name) = AsyncStream.makeStream(of: String?.self)
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onSection(.attending).bind(cellType: PlainCell.self, models: models).bind(headerTitle: titles)
        binder.onAllOtherSections().bind(cellType: PlainCell.self, models: { [:] as [Place: [Person]] })
        try binder.finish()
        #expect(binder.snapshot.ids == [[], [], []])
        var shown = binder.snapshot
        let updates = binder.updates
        give.yield(people("a"))
        give.yield(people("b", "c"))
        name.yield("TITLE")
        give.finish()
        name.finish()
        try await binder.observe()
        #expect(binder.snapshot.ids == [["b", "c"], [], []])
        #expect(binder.snapshot.sections[0].header["title"]?.stringValue == "TITLE")
        // Applied to the first snapshot, they lead to the current one.
        for await update in updates {
            shown = try update.applied(to: shown)
            if update.to == binder.snapshot.revision { break }
        }
        #expect(shown.json == binder.snapshot.json)
    }

    @Test("`latest(of:initially:)` provides the latest element of a sequence to any closure")
    func latestElement() async throws {
        let (counts, give) = AsyncStream.makeStream(of: Int.self)
        let binder = TableBinder()
        let count = binder.latest(of: counts, initially: 1)
        binder.onTable().bind(cellProvider: { _, row in PlainCell(title: "\(row)") }, numberOfCells: { count() })
        try binder.finish()
        #expect(binder.snapshot.totalRowCount == 1)
        give.yield(4)
        give.finish()
        try await binder.observe()
        #expect(binder.snapshot.totalRowCount == 4)
    }

    @Test("If a sequence throws an error, `observe` ends with this error")
    func failingSequence() async throws {
        struct Broken: Error {}
        let models = AsyncThrowingStream<[Person], any Error> { continuation in
            continuation.yield(people("a"))
            continuation.finish(throwing: Broken())
        }
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: models)
        try binder.finish()
        await #expect(throws: Broken.self) { try await binder.observe() }
        #expect(binder.snapshot.ids == [["a"]])
    }

    @Test("If a sequence throws an error, `observe` ends even if other sequences continue")
    func oneOfTwoFails() async throws {
        struct Broken: Error {}
        /// Has no elements. Ends when its task is cancelled.
        struct Silent: AsyncSequence, AsyncIteratorProtocol {
            let wasCancelled: @Sendable () -> Void
            func makeAsyncIterator() -> Silent { self }
            func next() async -> [Place: [Person]]? {
                try? await Task.sleep(for: .seconds(36_000))
                if Task.isCancelled { wasCancelled() }
                return nil
            }
        }
        let cancelled = Mutex(false)
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onAllSections()
            .bind(cellType: PlainCell.self, models: Silent { cancelled.withLock { $0 = true } })
            .bind(headerTitle: AsyncThrowingStream<String?, any Error> { $0.finish(throwing: Broken()) })
        try binder.finish()
        await #expect(throws: Broken.self) { try await binder.observe() }
        #expect(cancelled.withLock { $0 })
    }

    @Test("If a refresh fails during `observe`, the sequences are cancelled", .timeLimit(.minutes(1)))
    func failingRefresh() async throws {
        struct Broken: Error {}
        let (models, give) = AsyncStream.makeStream(of: [Place: [Person]].self),
            (ends, end) = AsyncStream.makeStream(of: Never.self)
        give.onTermination = { _ in end.finish() }
        var fails = false
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onAllSections().bind(cellType: PlainCell.self, models: models).bind(headerTitle: "H")
            .headerHeight { _ in
                if fails { throw Broken() }
                return 1
            }
        try binder.finish()
        fails = true
        give.yield([:])
        await #expect(throws: Broken.self) { try await binder.observe() }
        for await _ in ends {}
    }

    @MainActor final class Screen {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        var attending = people("a")

        func start() throws {
            binder.onAllSections().bind(cellType: PlainCell.self, models: { [unowned self] in [.attending: attending] })
            try binder.finish()
        }
    }

    @MainActor @Test("A binder can be isolated to an actor while tasks outside of the actor receive its updates")
    func isolatedBinder() async throws {
        let screen = Screen()
        try screen.start()
        let updates = screen.binder.updates, inserted = Watched(0)
        let listener = Task.detached {
            for await update in updates {
                inserted.withLock { $0 += update.stages.flatMap(\.insertRows).count }
            }
        }
        screen.attending += people("b", "c")
        try screen.binder.refresh()
        screen.attending += people("d")
        try screen.binder.refresh()
        #expect(await inserted.wait { $0 == 3 })
        listener.cancel()
        await listener.value
    }

    @Test("A binder's stream of updates ends when the binder is deallocated")
    func updatesEndWithTheirBinder() async throws {
        var binder: TableBinder? = TableBinder()
        binder?.onTable().bind(cellType: PlainCell.self, models: { people("a") })
        try binder?.finish()
        let updates = try #require(binder?.updates)
        binder = nil
        for await _ in updates { Issue.record("there was an update") }
    }
}
