import Foundation
import Testing

// The parts of UIKit that the recipes need, where there is no UIKit. The views check the rules whose violation crashes
// real ones, and record what they show.

extension IndexPath {
    init(row: Int, section: Int) { self.init(indexes: [section, row]) }
    var section: Int { self[0] }
    var row: Int { self[1] }
}

@MainActor
protocol UITableViewDataSource: AnyObject {
    func numberOfSections(in tableView: UITableView) -> Int
    func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int
    func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell
}

final class UITableViewCell {
    var text = ""
}

final class UITableViewHeaderFooterView {
    var text: String?
}

/// `performBatchUpdates` as Apple documents it: deletes, reloads and `from` of moves refer to the table before, inserts
/// and `to` of moves to the one after. Then the data source must have the resulting number of rows.
@MainActor
final class UITableView {
    enum RowAnimation { case automatic }

    weak var dataSource: (any UITableViewDataSource)?
    /// On the screen. `nil` if the cell was not requested yet.
    private(set) var cells: [[UITableViewCell?]] = []
    private var headers: [UITableViewHeaderFooterView] = []
    private var batch: Batch?

    private struct Batch {
        var deletedSections = IndexSet(), insertedSections = IndexSet(), movedSections: [(from: Int, to: Int)] = [],
            reloadedSections = IndexSet()
        var deletedRows: [IndexPath] = [], insertedRows: [IndexPath] = [],
            movedRows: [(from: IndexPath, to: IndexPath)] = [], reloadedRows: [IndexPath] = []
    }

    private struct Arrangement {
        /// Of one section, before the updates, `gone` if removed. `nil`: the data source says how many.
        var rows: [Slot]?
        var head = UITableViewHeaderFooterView()
    }

    private enum Slot {
        case gone
        /// On the screen; `nil` if its cell must still be requested.
        case shown(UITableViewCell?)

        var cell: UITableViewCell?? {
            switch self {
            case .gone: .none
            case .shown(let cell): .some(cell)
            }
        }
    }

    private func counts() -> [Int] {
        guard let dataSource else { return [] }
        return (0..<dataSource.numberOfSections(in: self)).map { dataSource.tableView(self, numberOfRowsInSection: $0) }
    }

    private func ask() {
        for section in cells.indices {
            for row in cells[section].indices where cells[section][row] == nil {
                cells[section][row] = dataSource?.tableView(self, cellForRowAt: IndexPath(row: row, section: section))
            }
        }
    }

    var texts: [[String]] { cells.map { $0.map { $0?.text ?? "" } } }
    var headerTexts: [String?] { headers.map(\.text) }

    func headerView(forSection section: Int) -> UITableViewHeaderFooterView? {
        headers.indices.contains(section) ? headers[section] : nil
    }
    func cellForRow(at path: IndexPath) -> UITableViewCell? { cells[path.section][path.row] }

    func reloadData() {
        cells = counts().map { Array(repeating: nil, count: $0) }
        headers = cells.map { _ in UITableViewHeaderFooterView() }
        ask()
    }

    func performBatchUpdates(_ updates: () -> Void) {
        batch = Batch()
        updates()
        guard let batch else { return }
        self.batch = nil
        #expect(
            batch.reloadedSections.isEmpty && batch.reloadedRows.isEmpty
                || batch.movedSections.isEmpty && batch.movedRows.isEmpty, "it crashes on this mix")
        // UIKit's order: deletes of rows, then of sections, inserts of sections, then of rows.
        var before = zip(cells, headers).map { Arrangement(rows: $0.map { .shown($0) }, head: $1) }
        let rowsMoving = batch.movedRows.map { cells[$0.from.section][$0.from.row] }
        for path in batch.reloadedRows { before[path.section].rows?[path.row] = .shown(nil) }
        for path in batch.deletedRows + batch.movedRows.map(\.from) { before[path.section].rows?[path.row] = .gone }
        for section in batch.reloadedSections { before[section] = Arrangement() }
        var arriving =
            batch.movedSections.map { ($0.to, before[$0.from]) } + batch.insertedSections.map { ($0, Arrangement()) }
        arriving.sort { $0.0 < $1.0 }
        let leaving = batch.deletedSections.union(IndexSet(batch.movedSections.map(\.from)))
        var after = before.indices.filter { !leaving.contains($0) }.map { before[$0] }
        for (at, section) in arriving { after.insert(section, at: at) }
        let expected = counts()
        var result = after.enumerated().map { index, section in
            section.rows?.compactMap(\.cell)
                ?? Array(repeating: nil, count: expected.indices.contains(index) ? expected[index] : 0)
        }
        let rowsArriving: [(at: IndexPath, cell: UITableViewCell?)] =
            batch.insertedRows.map { ($0, nil) } + zip(batch.movedRows, rowsMoving).map { ($0.to, $1) }
        for (at, cell) in rowsArriving.sorted(by: { $0.at < $1.at }) { result[at.section].insert(cell, at: at.row) }
        #expect(result.map(\.count) == expected, "invalid number of rows or sections: it crashes")
        (cells, headers) = (result, after.map(\.head))
        ask()
    }

    func deleteSections(_ sections: IndexSet, with: RowAnimation) { batch?.deletedSections.formUnion(sections) }
    func insertSections(_ sections: IndexSet, with: RowAnimation) { batch?.insertedSections.formUnion(sections) }
    func moveSection(_ from: Int, toSection to: Int) { batch?.movedSections.append((from, to)) }
    func reloadSections(_ sections: IndexSet, with: RowAnimation) { batch?.reloadedSections.formUnion(sections) }
    func deleteRows(at paths: [IndexPath], with: RowAnimation) { batch?.deletedRows += paths }
    func insertRows(at paths: [IndexPath], with: RowAnimation) { batch?.insertedRows += paths }
    func moveRow(at from: IndexPath, to: IndexPath) { batch?.movedRows.append((from, to)) }
    func reloadRows(at paths: [IndexPath], with: RowAnimation) { batch?.reloadedRows += paths }
}

struct NSDiffableDataSourceSnapshot<SectionID: Hashable, ItemID: Hashable> {
    private(set) var sectionIdentifiers: [SectionID] = []
    private(set) var items: [SectionID: [ItemID]] = [:]
    private(set) var reconfigured: Set<ItemID> = []

    init() {}

    var itemIdentifiers: [ItemID] { sectionIdentifiers.flatMap { items[$0] ?? [] } }

    mutating func appendSections(_ ids: [SectionID]) {
        sectionIdentifiers += ids
        #expect(
            Set(sectionIdentifiers).count == sectionIdentifiers.count, "section identifiers must be unique: it crashes")
    }

    mutating func appendItems(_ ids: [ItemID], toSection section: SectionID) {
        #expect(sectionIdentifiers.contains(section), "there is no such section: it crashes")
        items[section, default: []] += ids
        #expect(Set(itemIdentifiers).count == itemIdentifiers.count, "item identifiers must be unique: it crashes")
    }

    mutating func reconfigureItems(_ ids: [ItemID]) {
        #expect(Set(ids).isSubset(of: Set(itemIdentifiers)), "there is no such item: it crashes")
        reconfigured.formUnion(ids)
    }
}

/// What a collection view would show. An item's cell is configured when it is inserted, and when it is reconfigured.
@MainActor
final class UICollectionViewDiffableDataSource<SectionID: Hashable & Sendable, ItemID: Hashable & Sendable> {
    private(set) var current = NSDiffableDataSourceSnapshot<SectionID, ItemID>()
    private(set) var shown: [ItemID: String] = [:]
    private let configure: (ItemID) -> String

    init(_ configure: @escaping (ItemID) -> String) { self.configure = configure }

    func snapshot() -> NSDiffableDataSourceSnapshot<SectionID, ItemID> { current }

    func apply(_ snapshot: NSDiffableDataSourceSnapshot<SectionID, ItemID>, animatingDifferences: Bool) {
        let old = shown
        shown = [:]
        for item in snapshot.itemIdentifiers {
            shown[item] = snapshot.reconfigured.contains(item) ? configure(item) : old[item] ?? configure(item)
        }
        current = snapshot
    }
}
