/// Remembers where the elements of lists were that left, while others come and go.
///
/// A tombstone is directly above an element or a list's end. What comes goes below all tombstones of its place, so
/// what comes back is above what came since.
struct Tombstones<Key: Hashable> {
    /// Where tombstones are.
    enum Place: Hashable {
        case above(Key)
        case end(ofList: Int)
    }

    /// Elements that left their places, and that came to one.
    struct Step {
        /// Each with what was below it before, from top to bottom.
        var gone: [(key: Key, below: Place)] = []
        /// Each with what was below it afterwards, from bottom to top.
        var come: [(key: Key, below: Place)] = []
    }

    typealias Position = (below: Place, order: Int, isUnclear: Bool)

    private struct Tombstone {
        let key: Key
        let revision: Int
        /// These revisions put something next to it, and nobody knows whether above or below.
        var isUnclearSince: Set<Int> = []
    }

    /// From top to bottom.
    private var tombstones: [Place: [Tombstone]] = [:]
    private var hasUnclear = false

    /// `undoes`: the revision whose elements come back.
    mutating func apply(_ step: Step, at revision: Int, undoing undoes: Int?, canComeBack: Bool) {
        // Tombstones from above and below one that left: what comes there too may have come above that one.
        var joined: Set<Place> = []
        for (key, below) in step.gone {
            if tombstones[below] != nil || joined.contains(.above(key)) { joined.insert(below) }
            var moving = tombstones.removeValue(forKey: .above(key)) ?? []
            if canComeBack { moving.append(Tombstone(key: key, revision: revision)) }
            if !moving.isEmpty { tombstones[below, default: []].insert(contentsOf: moving, at: 0) }
        }
        for (key, below) in step.come {
            guard var above = tombstones.removeValue(forKey: below) else { continue }
            let own = undoes.flatMap { undoes in above.firstIndex { $0.key == key && $0.revision == undoes } }
            if let own {
                tombstones[below] = own + 1 < above.count ? Array(above[(own + 1)...]) : nil
                above.removeSubrange(own...)
            } else if undoes != nil || joined.contains(below) {
                // An undo also brings back what left before the first step.
                hasUnclear = true
                for index in above.indices { above[index].isUnclearSince.insert(revision) }
            } else if hasUnclear {
                for index in above.indices where !above[index].isUnclearSince.isEmpty {
                    above[index].isUnclearSince.insert(revision)
                }
            }
            if !above.isEmpty { tombstones[.above(key)] = above }
        }
    }

    /// Where the elements were that left at the revision: what is below now, and their order there.
    func places(leftAt revision: Int, undone: Set<Int>) -> [Key: Position] {
        var places: [Key: Position] = [:]
        for (place, tombstones) in tombstones {
            for (order, tombstone) in tombstones.enumerated() where tombstone.revision == revision {
                places[tombstone.key] = (place, order, !tombstone.isUnclearSince.isSubset(of: undone))
            }
        }
        return places
    }
}
