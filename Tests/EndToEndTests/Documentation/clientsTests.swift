// This file is formatted by hand, because pages of the documentation show parts of it (its snippets).
// swift-format-ignore-file
import BraidClient
import Foundation
import Testing

/// Compiles and runs the Swift blocks of docs/clients/swift.md. The tests in Tests/Docs compare them with this file.
@MainActor
@Suite struct ClientsDocumentTests {
    // snippet: following
    func follow(_ session: BraidSession, show: (SessionEvent) -> Void) async throws {
        for try await event in session.subscribe() {
            switch event {
            case .snapshot(let snapshot): print("revision \(snapshot.revision), \(snapshot.totalRowCount) rows")
            case .update(let update, _, let after): print("\(update.stages.count) stages, now \(after.totalRowCount) rows")
            case .cellEvent(let event): print("\(event.cell) at \(event.at): \(event.event)")
        case .tap(let tap): print("\(tap.cell) at \(tap.at): tapped")
        case .emitted(let event): print("\(event.name): \(event.payload ?? .null)")
        case .presence(let present): print("\(present.count) present")
            case .live: print("what follows happens now")
            case .interrupted(let error): print("connecting again: \(error)")
            }
            show(event)
        }
        print("the session was ended")
    }
    // end

    // snippet: commands
    func party(_ client: BraidClient) async throws {
        let party = client.session("party")
        let shown = try await party.snapshot()
        try await party.perform(.delete(.row(1, in: "attending")))
        try await party.perform(.move(.id("Yvonne"), to: .row(0, in: "attending")))
        // Deletes the row that the user saw at this place. The server finds where that row is now.
        let answer = try await party.perform(.delete(.path(1, 2)), base: shown.position)
        print(answer.outcome, answer.revision, answer.at ?? "nowhere")
        do {
            try await party.perform(.delete(.row(0, in: "invited")))
        } catch let problem as Problem where problem.kind == "editing-not-allowed" {
            print(problem.detail ?? "")
        }
    }
    // end

    // snippet: models
    struct Person: Codable, Equatable {
        var name: String
    }

    func invite(_ people: [Person], to party: BraidSession) async throws -> [Person] {
        try await party.perform(.patchModels(["invited": people.map { try JSON(encoding: $0) }]))
        let rows = try await party.snapshot().sections.first { $0.id == "invited" }?.rows ?? []
        return try rows.compactMap { try $0.model?.decoded(as: Person.self) }
    }
    // end

    // snippet: windows
    @MainActor final class Feed {
        private let subscription: WindowSubscription

        init(_ session: BraidSession) {
            subscription = session.subscribe(window: .rows(offset: 0, limit: 100), overscan: 50)
        }

        func follow(show: (SessionEvent) -> Void) async throws {
            for try await event in subscription { show(event) }
        }

        /// The list calls this method when it scrolls, with the first and the last visible row of the shown snapshot.
        func didScroll(from first: RowPath, through last: RowPath, of shown: Snapshot) {
            subscription.show(shown.displayIndex(of: first)...shown.displayIndex(of: last))
        }

        func showEnd() { subscription.move(to: .rows(offset: -100, limit: 100)) }
        func showMessage(_ id: String) { subscription.move(to: .around(id, before: 50, after: 50)) }
    }
    // end

    // snippet: presence
    /// Shows this person at a row, and who else is there.
    func join(_ session: BraidSession, at row: RowReference, show: ([BraidSession.PresentClient]) -> Void) async throws {
        let me = try await session.setPresence(at: row, data: ["typing": true])
        for try await event in session.subscribe(presence: true) {
            if case .presence(let present) = event { show(present.filter { $0.id != me.id }) }
        }
    }
    // end

    @Test("The presence in docs/clients/swift.md shows the others")
    func others() async throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try SwiftClientTests.client(server)
        let other = try SwiftClientTests.client(server).session("party")
        try await other.setPresence(data: "other")
        // Its stream keeps it present, however long the rest takes.
        let stream = Task { for try await _ in other.subscribe(presence: true) {} }
        defer { stream.cancel() }
        var seen: [[JSON?]] = []
        try await join(client.session("party"), at: .id("Omar")) { present in
            seen.append(present.map(\.data))
            if seen.last == ["other"] { Task { try await other.end() } }
        }
        #expect(seen.contains(["other"]))
    }

    @Test("The feed in docs/clients/swift.md shows the rows of a long table in a table view while it scrolls")
    func windows() async throws {
        let server = try ServerProcess(), client = try SwiftClientTests.client(server)
        let (session, _) = try await client.openSession(["rows": .array((0..<1_000).map { ["id": .integer($0)] })])
        let feed = Feed(session), table = Table()
        var seen: [[Int]] = []
        try await feed.follow { event in
            table.show(event)
            let rows = table.shown.sections.first?.rows ?? []
            #expect(table.tableView.texts == [rows.map(Self.text)])
            guard case .live = event else { return }
            seen.append([table.shown.window?.offset ?? -1, rows.count])
            switch seen.count {
            case 1: feed.didScroll(from: RowPath(section: 0, row: 80), through: RowPath(section: 0, row: 90), of: table.shown)
            case 2: feed.showEnd()
            case 3: feed.showMessage("500")
            default: Task { try await session.end() }
            }
        }
        #expect(seen == [[0, 100], [30, 111], [900, 100], [450, 101]])
    }

    @Test("The functions in docs/clients/swift.md do what the page says, on a real server")
    func functions() async throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try SwiftClientTests.client(server)
        try await party(client)
        let (guests, _) = try await client.openSession(["table": "attendees"])
        #expect(try await invite([Person(name: "Zoe"), Person(name: "Ann")], to: guests) == [Person(name: "Zoe"), Person(name: "Ann")])
        let table = Table()
        var isLive = false
        try await follow(guests) { event in
            table.show(event)
            guard case .live = event else { return }
            isLive = true
            // Ending the session ends the loop in `follow`.
            Task { try await guests.end() }
        }
        #expect(isLive && table.tableView.texts.last?.count == 2)
    }

    @MainActor
    private final class Table: UITableViewDataSource {
        let tableView = UITableView()
        var shown = Snapshot()

        init() { tableView.dataSource = self }

        // snippet: table
        func show(_ event: SessionEvent) {
            switch event {
            case .snapshot(let snapshot): reload(snapshot)
            case .update(let update, _, let after): animate(update, to: after)
            case .cellEvent, .tap, .emitted, .presence, .live, .interrupted: break
            }
        }

        private func reload(_ snapshot: Snapshot) {
            shown = snapshot
            tableView.reloadData()
            for section in shown.sections.indices { configureHeader(section) }
        }

        private func animate(_ update: Update, to after: Snapshot) {
            guard let steps = try? update.steps(from: shown) else { return reload(after) }
            for step in steps {
                tableView.performBatchUpdates {
                    // The displayed sections change together with the table view, one stage at a time.
                    shown.sections = step.after
                    perform(step.stage)
                }
                for update in step.stage.updateSections {
                    // `section` is the section's index after the step.
                    let id = step.before[update.at].id
                    if let section = step.after.firstIndex(where: { $0.id == id }) { configureHeader(section) }
                }
            }
            // `after` also contains the new revision, state and empty state.
            shown = after
        }

        private func perform(_ stage: Update.Stage) {
            tableView.deleteSections(IndexSet(stage.deleteSections), with: .automatic)
            tableView.insertSections(IndexSet(stage.insertSections.map(\.at)), with: .automatic)
            for move in stage.moveSections { tableView.moveSection(move.from, toSection: move.to) }
            tableView.reloadSections(IndexSet(stage.reloadSections.map(\.at)), with: .automatic)
            tableView.deleteRows(at: stage.deleteRows.map(\.indexPath), with: .automatic)
            tableView.insertRows(at: stage.insertRows.map(\.at.indexPath), with: .automatic)
            for move in stage.moveRows { tableView.moveRow(at: move.from.indexPath, to: move.to.indexPath) }
            tableView.reloadRows(at: stage.reloadRows.map(\.at.indexPath), with: .automatic)
            // The cells of the rows in `updateRows` stay. The data source already has these rows' new heights,
            // `editing` and `isMovable`.
        }

        func numberOfSections(in tableView: UITableView) -> Int { shown.sections.count }
        func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int { shown.sections[section].rows.count }
        func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell {
            cell(for: shown.sections[indexPath.section].rows[indexPath.row])
        }
        // end

        func cell(for row: Snapshot.Row) -> UITableViewCell {
            let cell = UITableViewCell()
            cell.text = ClientsDocumentTests.text(row)
            return cell
        }

        func configureHeader(_ section: Int) { tableView.headerView(forSection: section)?.text = shown.sections[section].header?.title }
    }

    nonisolated static func text(_ row: Snapshot.Row) -> String { "\(row.id ?? "-") \(row.model.map { "\($0)" } ?? "")" }

    private struct Golden: Decodable {
        var cases: [Case]

        struct Case: Decodable {
            var name: String
            var before: Snapshot
            var update: Update
            var after: Snapshot
        }
    }

    private func cases() throws -> [Golden.Case] {
        try ["updates", "windows"].flatMap { name in
            let data = try Data(contentsOf: URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Golden/\(name).json").standardized)
            return try JSONDecoder().decode(Golden.self, from: data).cases
        }
    }

    @Test("The recipe for UITableView in docs/clients/swift.md shows every golden update without breaking a rule of the view")
    func tableViews() throws {
        for golden in try cases() {
            let table = Table()
            table.show(.snapshot(golden.before))
            let texts = table.tableView.texts
            #expect(texts == golden.before.sections.map { $0.rows.map(Self.text) })
            table.show(.update(golden.update, before: golden.before, after: golden.after))
            #expect(table.shown == golden.after, "\(golden.name)")
            // Rows whose change needs no visual reload keep their old cells, so the test does not compare these cells.
            let silent = Set(golden.update.stages.flatMap { $0.updateRows.map(\.row) + $0.moveRows.compactMap(\.row) })
            for (section, cells) in zip(golden.after.sections, table.tableView.texts) {
                #expect(section.rows.count == cells.count, "\(golden.name)")
                for (row, cell) in zip(section.rows, cells) where !silent.contains(row) { #expect(Self.text(row) == cell, "\(golden.name)") }
            }
            let kept = Set(golden.before.sections.map(\.id))
            for (section, header) in zip(golden.after.sections, table.tableView.headerTexts) where kept.contains(section.id) && golden.update.stages.count == 1 {
                let old = golden.before.sections.first { $0.id == section.id }
                let isReloaded = golden.update.stages.contains { $0.reloadSections.contains { $0.section.id == section.id } }
                if !isReloaded || old?.header == section.header { #expect(isReloaded || header == section.header?.title, "\(golden.name)") }
            }
        }
    }

    @MainActor
    private final class Collection {
        var shown = Snapshot()
        lazy var dataSource = UICollectionViewDiffableDataSource<String, ItemID> { [unowned self] item in row(of: item).map(ClientsDocumentTests.text) ?? "" }

        // snippet: diffable
        /// An id that is unique in the table: a row's id is unique only in its section. If the ids of a table are unique in the
        /// whole table, `id` alone is enough. Then rows that change their section move instead of fading.
        struct ItemID: Hashable {
            var section: String
            var id: String
        }

        private func item(_ row: Snapshot.Row, _ index: Int, in section: Snapshot.Section) -> ItemID {
            ItemID(section: section.id, id: row.id ?? "#\(index)")
        }

        func show(_ event: SessionEvent) {
            switch event {
            case .snapshot(let snapshot): apply(snapshot, reconfiguring: [], animated: false)
            case .update(let update, _, let after):
                var changed: Set<ItemID> = []
                for step in (try? update.steps(from: shown)) ?? [] {
                    for reload in step.stage.reloadRows {
                        changed.insert(item(reload.row, reload.at.row, in: step.before[reload.at.section]))
                    }
                    for (_, section) in step.stage.reloadSections.map({ ($0.at, $0.section) }) {
                        changed.formUnion(section.rows.enumerated().map { item($1, $0, in: section) })
                    }
                    // Rows without ids are identified by their places.
                    for section in step.after where !section.isDiffable {
                        changed.formUnion(section.rows.enumerated().map { item($1, $0, in: section) })
                    }
                }
                apply(after, reconfiguring: changed, animated: true)
            case .cellEvent, .tap, .emitted, .presence, .live, .interrupted: break
            }
        }

        private func apply(_ snapshot: Snapshot, reconfiguring changed: Set<ItemID>, animated: Bool) {
            shown = snapshot
            let known = Set(dataSource.snapshot().itemIdentifiers)
            var items = NSDiffableDataSourceSnapshot<String, ItemID>()
            items.appendSections(snapshot.sections.map(\.id))
            for section in snapshot.sections {
                items.appendItems(section.rows.enumerated().map { item($1, $0, in: section) }, toSection: section.id)
            }
            items.reconfigureItems(items.itemIdentifiers.filter { known.contains($0) && (changed.contains($0) || !animated) })
            dataSource.apply(items, animatingDifferences: animated)
        }
        // end

        func row(of item: ItemID) -> Snapshot.Row? {
            guard let section = shown.sections.first(where: { $0.id == item.section }) else { return nil }
            return section.rows.enumerated().first { ($1.id ?? "#\($0)") == item.id }?.element
        }
    }

    @Test("The recipe for a diffable data source in docs/clients/swift.md shows every golden update with unique identifiers")
    func collectionViews() throws {
        for golden in try cases() {
            let collection = Collection()
            collection.show(.snapshot(golden.before))
            collection.show(.update(golden.update, before: golden.before, after: golden.after))
            #expect(collection.dataSource.current.sectionIdentifiers == golden.after.sections.map(\.id))
            let silent = Set(golden.update.stages.flatMap { $0.updateRows.map(\.row) + $0.moveRows.compactMap(\.row) })
            for section in golden.after.sections {
                let items = collection.dataSource.current.items[section.id] ?? []
                #expect(items.count == section.rows.count)
                for (row, item) in zip(section.rows, items) where !silent.contains(row) { #expect(collection.dataSource.shown[item] == Self.text(row), "\(golden.name)") }
            }
        }
    }
}
