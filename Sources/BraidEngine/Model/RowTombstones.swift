/// Remembers where rows were that left, while others come and go.
///
/// A tombstone is directly above a row or a section's end. A row that comes is put below all tombstones of its place,
/// so one that comes back is above those that came since. Never has two tombstones of one row and revision.
struct RowTombstones {
    /// Where tombstones are.
    enum Place: Hashable {
        /// Above the one with this key.
        case row(Int)
        case end(ofSection: Int)
    }

    /// A row that left its place or came to one.
    struct Passage {
        let key: Int
        let section: Int
        let below: Place
    }

    private struct Tombstone {
        let key: Int
        /// Which took the row away; for a redo, the first one.
        let revision: Int
    }

    /// By the undo's revision.
    private var undone: [Int: Int] = [:]
    /// The commands that redos did again.
    private var redone: [Int: Int] = [:]
    /// From top to bottom.
    private var tombstones: [Place: [Tombstone]] = [:]
    /// Sections with rows that an undo brought back to a place unknown here.
    private(set) var unclear: Set<Int> = []

    /// Only what left at the `kept` revisions can come back.
    mutating func apply(_ step: PastTable.Step, keeping kept: Set<Int>) {
        if let target = step.undoes {
            undone[step.revision] = target
            if let command = undone[target] { redone[step.revision] = first(command) }
        }
        let revision = first(step.revision)
        for row in step.gone {
            var moving = tombstones.removeValue(forKey: .row(row.key)) ?? []
            if kept.contains(revision) { moving.append(Tombstone(key: row.key, revision: revision)) }
            if !moving.isEmpty { tombstones[row.below, default: []].insert(contentsOf: moving, at: 0) }
        }
        for row in step.come {
            guard var above = tombstones.removeValue(forKey: row.below) else { continue }
            let own = step.undoes.flatMap { target in
                above.firstIndex { $0.key == row.key && $0.revision == first(target) }
            }
            if let own {
                tombstones[row.below] = Array(above[(own + 1)...])
                above.removeSubrange(own...)
            } else if step.undoes != nil {
                unclear.insert(row.section)
            }
            tombstones[.row(row.key)] = above
        }
    }

    private func first(_ revision: Int) -> Int { redone[revision] ?? revision }

    /// Where the rows were that left at the revision: by key, with what is below now, and their order there.
    func places(leftAt revision: Int) -> [Int: (below: Place, order: Int)] {
        let revision = first(revision)
        var places: [Int: (below: Place, order: Int)] = [:]
        for (place, tombstones) in tombstones {
            for (order, tombstone) in tombstones.enumerated() where tombstone.revision == revision {
                places[tombstone.key] = (place, order)
            }
        }
        return places
    }
}
