/// Rows that a command touched, in order. Indexes are those of stored rows at that moment.
///
/// These notes make a diff cheap, but cannot make it wrong: it compares all that two snapshots do not share.
struct TouchedRows: Sendable {
    private enum Notes: Sendable {
        case edits([Edit])
        case folded(Edits)
        case whole
    }

    fileprivate struct Edit: Sendable {
        enum Kind { case insert, remove, replace }
        var kind: Kind
        var index: Int
    }

    private var notes: [SectionID: Notes] = [:]

    var isEmpty: Bool { notes.isEmpty }

    mutating func insert(in section: SectionID, at index: Int) { note(.insert, section, index) }

    mutating func remove(in section: SectionID, at index: Int) { note(.remove, section, index) }

    mutating func replace(in section: SectionID, at index: Int) { note(.replace, section, index) }

    mutating func wholeSection(_ section: SectionID) { notes[section] = .whole }

    mutating func edit(in section: SectionID, _ edits: Edits) { append(.folded(edits), section) }

    mutating func append(_ later: TouchedRows) {
        if notes.isEmpty { return notes = later.notes }
        for (section, notes) in later.notes { append(notes, section) }
    }

    private mutating func note(_ kind: Edit.Kind, _ section: SectionID, _ index: Int) {
        precondition(index >= 0, "TouchedRows: negative index")
        append(CollectionOfOne(Edit(kind: kind, index: index)), section)
    }

    private mutating func append(_ later: Notes, _ section: SectionID) {
        switch (notes[section], later) {
        case (nil, _), (_, .whole): notes[section] = later
        case (_, .edits(let edits)): append(edits, section)
        case (_, .folded(let edits)): append(edits.oneByOne, section)
        }
    }

    private mutating func append(_ later: some Collection<Edit>, _ section: SectionID) {
        switch notes[section] {
        case .whole: break
        case nil: notes[section] = .edits(Array(later))
        case .folded(let edits):
            notes[section] = .edits(edits.oneByOne)
            append(later, section)
        case .edits(let edits) where edits.count + later.count > Self.most: notes[section] = .whole
        case .edits(var edits):
            // The only reference is now `edits`, so appending copies nothing.
            notes[section] = nil
            edits += later
            notes[section] = .edits(edits)
        }
    }

    /// With more edits, the whole section counts as changed: comparing all rows is then mostly faster.
    private static var most: Int { 1 << 18 }

    enum Rows: Sendable {
        case untouched
        case edits(Edits)
        case whole
    }

    /// A section's notes, folded into one step. O(k log k) in the notes.
    func rows(in section: SectionID) -> Rows {
        switch notes[section] {
        case nil: return .untouched
        case .whole: return .whole
        case .folded(let edits): return .edits(edits)
        case .edits(let edits):
            // Most commands note one, which needs no rope: about fifteen allocations fewer.
            if edits.count == 1 { return .edits(Edits(edits[0])) }
            var pieces = RowPieces()
            for edit in edits {
                switch edit.kind {
                case .insert: pieces.insert(at: edit.index)
                case .remove: pieces.remove(at: edit.index)
                case .replace: pieces.replace(at: edit.index)
                }
            }
            let folded = Edits(pieces.inOrder())
            return folded.isEmpty ? .untouched : .edits(folded)
        }
    }

    /// From the rows before all notes to those after. All indexes ascend.
    struct Edits: Sendable {
        /// Old indexes.
        private(set) var removed: [Int] = []
        /// New indexes.
        private(set) var inserted: [Int] = []
        /// New indexes of rows that stayed, with other content.
        private(set) var replaced: [Int] = []
        /// First old and new index of each run without edits. The last one's end is unknown.
        private(set) var untouched: [(old: Int, new: Int, count: Int)] = []

        var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && replaced.isEmpty }

        var changes: [(old: Range<Int>, new: Range<Int>)] {
            var changes: [(old: Range<Int>, new: Range<Int>)] = [], old = 0, new = 0
            for run in untouched {
                if run.old > old || run.new > new { changes.append((old..<run.old, new..<run.new)) }
                (old, new) = (run.old + run.count, run.new + run.count)
            }
            return changes
        }

        /// In an order in which each index is right when its turn comes: removes from the end first.
        fileprivate var oneByOne: [Edit] {
            removed.reversed().map { Edit(kind: .remove, index: $0) } + inserted.map { Edit(kind: .insert, index: $0) }
                + replaced.map { Edit(kind: .replace, index: $0) }
        }

        fileprivate init(_ edit: Edit) {
            let index = edit.index
            if index > 0 { untouched.append((0, 0, index)) }
            switch edit.kind {
            case .insert:
                inserted = [index]
                untouched.append((index, index + 1, RowPieces.endless - index))
            case .remove:
                removed = [index]
                untouched.append((index + 1, index, RowPieces.endless - index - 1))
            case .replace:
                replaced = [index]
                untouched.append((index + 1, index + 1, RowPieces.endless - index - 1))
            }
        }

        init(_ pieces: [RowPieces.Piece]) {
            var old = 0, new = 0
            for piece in pieces {
                guard let start = piece.start else {
                    inserted += new..<new + piece.count
                    new += piece.count
                    continue
                }
                removed += old..<start
                if piece.isReplaced {
                    replaced.append(new)
                } else if let last = untouched.last, last.old + last.count == start, last.new + last.count == new {
                    untouched[untouched.count - 1].count += piece.count
                } else {
                    untouched.append((start, new, piece.count))
                }
                old = start + piece.count
                new += piece.count
            }
        }
    }
}
