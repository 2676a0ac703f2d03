// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct UpdatingDataTests {
    // snippet: model
    struct Song: Equatable, CollectionIdentifiable, Sendable {
        var id: String
        var title: String
        var collectionId: String { id }
    }
    // end

    struct SongCell: ReuseIdentifiable { var title = "" }

    @Test("A refresh evaluates all closures of the bindings again")
    func aRefreshReadsEverythingAnew() throws {
        // snippet: refresh
        var songs = [Song(id: "1", title: "Heroes"), Song(id: "2", title: "Changes"), Song(id: "3", title: "Starman")]
        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: SongCell.self, models: { songs })
            .bind(headerTitle: { _ in "\(songs.count) songs" })
            .onDequeue { _, _, cell, song in cell.title = song.title }
        try binder.finish()

        songs.remove(at: 0)
        songs[1].title = "Starman (live)"
        let update = try binder.refresh()
        // end
        #expect(update.stages.count == 1)
        #expect(update.stages[0].deleteRows == [RowPath(section: 0, row: 0)])
        #expect(update.stages[0].reloadRows.map(\.at) == [RowPath(section: 0, row: 2)])
        #expect(update.stages[0].updateSections.map { $0.header?["title"]?.stringValue } == ["2 songs"])
        #expect(try binder.refresh().isEmpty)
    }

    @Test("An update leads from one snapshot to the next")
    func leadingUpdates() throws {
        var songs = [Song(id: "1", title: "Heroes"), Song(id: "2", title: "Changes"), Song(id: "3", title: "Starman")]
        let binder = TableBinder()
        binder.onTable().bind(cellType: SongCell.self, models: { songs })
        try binder.finish()
        // snippet: applied
        let before = binder.snapshot
        songs.reverse()
        let update = try binder.refresh()
        let after = try update.applied(to: before)      // `after` equals `binder.snapshot`
        // end
        #expect(after.encoded() == binder.snapshot.encoded() && after.encoded() != before.encoded())

        // snippet: sequential
        var steps: [String] = []
        for operation in update.sequential() {
            if case .moveRow(let from, let to, _) = operation { steps.append("\(from) to \(to)") }
        }
        // The list `steps` now contains the two moves "[0,0] to [0,2]" and "[0,0] to [0,1]".
        // end
        #expect(steps == ["[0,0] to [0,2]", "[0,0] to [0,1]"])
    }

    /// A stand-in for `UITableView` with the methods that the documented snippet calls.
    final class TableView {
        var batches: [BatchUpdate.Stage] = []
        func performBatchUpdates(_ updates: () -> Void) { updates() }
        func perform(_ stage: BatchUpdate.Stage) { batches.append(stage) }
    }

    @Test("A table view can apply an update stage by stage")
    func stages() throws {
        var songs = [Song(id: "1", title: "Heroes"), Song(id: "2", title: "Changes"), Song(id: "3", title: "Starman")]
        let binder = TableBinder(), tableView = TableView()
        binder.onTable().bind(cellType: SongCell.self, models: { songs }).onDequeue { _, _, cell, song in cell.title = song.title }
        try binder.finish()
        // snippet: steps
        var shown = Array(binder.snapshot.sections)

        func show(_ update: BatchUpdate, from before: Snapshot) throws {
            for step in try update.steps(from: before) {
                tableView.performBatchUpdates {
                    // The displayed sections change together with the table view, one stage at a time.
                    shown = step.after
                    tableView.perform(step.stage)
                }
            }
        }

        func numberOfRows(inSection section: Int) -> Int { shown[section].rows.count }
        func cellForRow(at path: RowPath) throws -> any ReuseIdentifiable { try binder.cell(at: path.row, in: shown) }

        let before = binder.snapshot
        songs.swapAt(0, 2)
        songs[0].title = "Starman (live)"
        try show(binder.refresh(), from: before)
        // end
        #expect(tableView.batches.map { [$0.moveRows.count, $0.reloadRows.count] } == [[2, 0], [0, 1]])
        #expect(try numberOfRows(inSection: 0) == 3 && (cellForRow(at: RowPath(section: 0, row: 0)) as? SongCell)?.title == "Starman (live)")
    }

    @Test("A program can bind plain values and replace them later")
    func plainValuesAreReplaced() throws {
        let songs = [Song(id: "1", title: "Heroes"), Song(id: "2", title: "Changes")]
        // snippet: replaced
        var updateSongs: ([Song]) -> Void = { _ in }
        var updateTitle: (String?) -> Void = { _ in }
        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: SongCell.self, models: songs, updatedWith: { update in updateSongs = update })
            .bind(headerTitle: "Songs", updatedWith: { update in updateTitle = update })
        try binder.finish()

        updateSongs(songs.filter { $0.title != "Changes" })
        updateTitle(nil)
        // end
        #expect(binder.snapshot.totalRowCount == 1 && binder.snapshot.sections[0].header.isNull)
    }

    @Test("If a model type is not identifiable or not equatable, updates of its rows are coarser")
    func coarserUpdates() throws {
        struct Equal: Equatable { var title: String }
        struct Neither { var title: String }
        struct Identifiable: CollectionIdentifiable { var collectionId: String }

        func update<Model>(from old: [Model], to new: [Model]) throws -> BatchUpdate.Stage {
            var models = old
            let binder = TableBinder()
            binder.onTable().bind(cellType: SongCell.self, models: { models })
            try binder.finish()
            models = new
            let stages = try binder.refresh().stages
            #expect(stages.count <= 1)
            return stages.first ?? BatchUpdate.Stage()
        }
        let changed = try update(from: [Song(id: "1", title: "a"), Song(id: "2", title: "b")], to: [Song(id: "1", title: "a"), Song(id: "2", title: "c")])
        #expect(changed.reloadRows.map(\.at.row) == [1])
        let identified = try update(from: [Identifiable(collectionId: "1")], to: [Identifiable(collectionId: "2"), Identifiable(collectionId: "1")])
        #expect(identified.insertRows.map(\.at.row) == [0] && identified.reloadRows.map(\.at.row) == [0])
        #expect(try update(from: [Equal(title: "a")], to: [Equal(title: "a")]).isEmpty)
        #expect(try update(from: [Equal(title: "a")], to: [Equal(title: "b")]).reloadSections.count == 1)
        #expect(try update(from: [Equal(title: "a")], to: [Equal(title: "a"), Equal(title: "b")]).insertRows.map(\.at.row) == [1])
        #expect(try update(from: [Neither(title: "a")], to: [Neither(title: "a")]).reloadSections.count == 1)
    }

    @Test("If a handler changes models, the program need not call `refresh`")
    func changesInHandlers() throws {
        var songs = [Song(id: "1", title: "Heroes")], height: Dimension = 44
        let binder = TableBinder()
        binder.onTable().bind(cellType: SongCell.self, models: { songs })
            .cellHeight { _, _ in height }
            .onTapped { _, row in songs[row].title = "Changes" }
        try binder.finish()
        #expect(try binder.tap(at: 0).stages[0].reloadRows.count == 1)
        height = 50
        #expect(try binder.refresh().stages[0].updateRows.count == 1)
        // A refresh with a repeated id is refused, and the table does not change.
        songs += songs
        let refusal = try #require(throws: Refusal.self) { try binder.refresh() }
        #expect(refusal.code == .duplicateRowID && binder.snapshot.totalRowCount == 1 && binder.snapshot.revision == 2)
    }

    @MainActor @Test("`observe` ends when its task is cancelled")
    func observingEndsWithItsTask() async throws {
        let (songs, _) = AsyncStream.makeStream(of: [Song].self), (titles, _) = AsyncStream.makeStream(of: String?.self)
        let playlist = Playlist(), showing = Task { try await playlist.show(songs, titles: titles) }
        await Task.yield()
        showing.cancel()
        await #expect(throws: CancellationError.self) { try await showing.value }
    }

    // snippet: observing
    @MainActor final class Playlist {
        let binder = TableBinder()

        func show(_ songs: AsyncStream<[Song]>, titles: AsyncStream<String?>) async throws {
            binder.onTable()
                .bind(cellType: SongCell.self, models: songs)
                .bind(headerTitle: titles)
                .onDequeue { _, _, cell, song in cell.title = song.title }
            try binder.finish()
            try await binder.observe()
        }
    }
    // end

    @MainActor @Test("Each new element of a bound asynchronous sequence updates the table")
    func sequencesAreObserved() async throws {
        let (songs, song) = AsyncStream.makeStream(of: [Song].self), (titles, title) = AsyncStream.makeStream(of: String?.self)
        let playlist = Playlist()
        var applied: [BatchUpdate] = []
        // snippet: updates
        let updates = playlist.binder.updates
        let showing = Task { try await playlist.show(songs, titles: titles) }
        // end
        var waiting = updates.makeAsyncIterator()
        song.yield([Song(id: "1", title: "Heroes")])
        applied.append(try #require(await waiting.next()))
        title.yield("Bowie")
        applied.append(try #require(await waiting.next()))
        #expect(applied[0].stages[0].insertRows.count == 1)
        #expect(applied[1].stages[0].updateSections[0].header?["title"]?.stringValue == "Bowie")
        song.finish()
        title.finish()
        try await showing.value
        #expect(try (playlist.binder.cell(at: 0) as? SongCell)?.title == "Heroes")
    }

    @MainActor @Test("Closures can use the latest element of an asynchronous sequence")
    func latestElement() async throws {
        let (counts, count) = AsyncStream.makeStream(of: Int.self)
        let binder = TableBinder()
        // snippet: latest
        let latestCount = binder.latest(of: counts, initially: 1)
        binder.onTable()
            .bind(cellProvider: { _, row in SongCell(title: "Song \(row + 1)") }, numberOfCells: latestCount)
        try binder.finish()
        // end
        #expect(binder.snapshot.totalRowCount == 1)
        count.yield(3)
        count.finish()
        try await binder.observe()
        #expect(binder.snapshot.totalRowCount == 3)
    }
}
