import BraidEngine
import Foundation
#if DIFFERENCEKIT
import DifferenceKit
#endif

private enum Part: String, TableSection, CaseIterable { case people }

private struct Person: Equatable, CollectionIdentifiable {
    var collectionId: String
    var version = 0
    var name: String
}

private struct PersonCell: ViewModelBindable {
    struct ViewModel: Equatable { var title: String }
    var viewModel: ViewModel?
}

/// Measures a program's models behind a binding chain. `refresh()` compares the models, updates the table, computes the
/// diff and stores nothing.
///
/// For comparison, DifferenceKit runs with type-erased elements. It only computes the diff.
func typedChainBenchmark() throws {
    let count = Size.count(100_000, small: 10_000)
    print("\ntyped chain: refresh() with \(count) models, there and back")
    for workload in DiffWorkload.measured where workload.old.count == 1 && workload.old[0].rows.count == count {
        func people(_ sections: [DiffWorkload.Section]) -> [Person] {
            sections[0].rows.map {
                Person(collectionId: DiffWorkload.id($0.id), version: $0.version, name: DiffWorkload.content($0))
            }
        }
        let old = people(workload.old), new = people(workload.new)
        var models = old
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        binder.onSection(.people).bind(
            cellType: PersonCell.self, models: { models }, mapToViewModels: { .init(title: $0.name) })
        try binder.finish()
        var contenders: [() throws -> Void] = [
            {
                models = new.map { $0 }
                _ = try binder.refresh()
                models = old.map { $0 }
                _ = try binder.refresh()
            }
        ]
        #if DIFFERENCEKIT
        contenders.append {
            let before = old.map { AnyDifferentiable($0) }, after = new.map { AnyDifferentiable($0) }
            blackHole = UInt64(
                StagedChangeset(source: before, target: after).count
                    + StagedChangeset(source: after, target: before).count)
        }
        #endif
        let times = try medians(contenders, rounds: 5)
        let ratio = times.count > 1 ? "; \(format(times[0] / times[1])) of DifferenceKit (0.15)" : ""
        print("  \(workload.name): \(format(times[0] / 2_000)) us\(ratio)")
    }
}

#if DIFFERENCEKIT
extension Person: Differentiable {
    var differenceIdentifier: String { collectionId }
    func isContentEqual(to source: Person) -> Bool { self == source }
}
#endif
