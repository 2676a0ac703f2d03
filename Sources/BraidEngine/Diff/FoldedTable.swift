/// A table known only through updates: what was there by its index, what came by its content. Unknown lists are
/// endless, so no index is too large. O(log operations) for each operation.
struct FoldedTable {
    struct Named {
        /// Its index at first; `nil` if inserted.
        let place: Int?
        /// The section, if it was inserted or reloaded. Its rows are outdated: `rows` has them.
        var known: Section?
        /// Changes while `known` is `nil`.
        var update = BatchUpdate.SectionUpdate(at: -1)
        var isGone = false
        var rows: Rope<RowPiece>
    }

    enum SectionPiece: RopePiece {
        /// Neighbours whose content no update changed; `place` is the first one's index at first.
        case untouched(place: Int, count: Int)
        case named(Int)

        var count: Int {
            switch self {
            case .untouched(_, let count): count
            case .named: 1
            }
        }

        func cut(at offset: Int) -> (SectionPiece, SectionPiece) {
            guard case .untouched(let place, let count) = self else { return (self, self) }
            return (.untouched(place: place, count: offset), .untouched(place: place + offset, count: count - offset))
        }
    }

    /// A row's place at first. `section` is an index in `named`.
    struct Origin: Hashable {
        var section: Int
        var row: Int
    }

    enum RowPiece: RopePiece {
        /// Neighbours with unknown content.
        case before(Origin, count: Int)
        case changed(Origin, Row, needsReload: Bool)
        case came(Row)
        /// With an inserted or reloaded section.
        case brought(PersistentList<Row>, start: Int, count: Int)

        var count: Int {
            switch self {
            case .before(_, let count), .brought(_, _, let count): count
            case .changed, .came: 1
            }
        }

        func cut(at offset: Int) -> (RowPiece, RowPiece) {
            switch self {
            case .before(let origin, let count):
                let rest = Origin(section: origin.section, row: origin.row + offset)
                return (.before(origin, count: offset), .before(rest, count: count - offset))
            case .brought(let rows, let start, let count):
                return (
                    .brought(rows, start: start, count: offset),
                    .brought(rows, start: start + offset, count: count - offset)
                )
            case .changed, .came: return (self, self)
            }
        }

        var content: Row? {
            switch self {
            case .before: nil
            case .changed(_, let row, _), .came(let row): row
            case .brought(let rows, let start, _): rows[start]
            }
        }

        /// The piece must be one row.
        mutating func change(to row: Row, needsReload: Bool) {
            switch self {
            case .before(let origin, _): self = .changed(origin, row, needsReload: needsReload)
            case .changed(let origin, _, let neededReload):
                self = .changed(origin, row, needsReload: neededReload || needsReload)
            case .came, .brought: self = .came(row)
            }
        }
    }

    private(set) var named: [Named] = []
    private(set) var order = Rope(SectionPiece.untouched(place: 0, count: RowPieces.endless))
    /// Deleted rows that were there at first, if an update had shown their content.
    private(set) var deleted: [(origin: Origin, row: Row, needsReload: Bool)] = []

    /// Throws what contradicts the known: a negative or repeated index, one beyond a known end, a row that becomes
    /// another.
    mutating func apply(_ stage: BatchUpdate.Stage) throws(InvalidUpdate) {
        // In this order: content and departures have indexes before the stage, arrivals after it.
        try changeContent(stage)
        let arrivals = try takeRows(stage)
        try arrangeSections(stage)
        for (path, piece) in arrivals {
            let section = try section(path.section)
            guard path.row >= 0, path.row <= named[section].rows.count else {
                throw InvalidUpdate(detail: "no row can come to \(path)")
            }
            named[section].rows.insert(piece, at: path.row)
        }
    }

    private mutating func changeContent(_ stage: BatchUpdate.Stage) throws(InvalidUpdate) {
        for (at, section) in stage.reloadSections {
            let index = try self.section(at)
            if let id = named[index].known?.id, id != section.id {
                throw InvalidUpdate(detail: "section \(at), \"\(id)\", is reloaded as \"\(section.id)\"")
            }
            named[index].know(section)
        }
        for update in stage.updateSections {
            let index = try section(update.at)
            named[index].update(update)
        }
        for change in stage.reloadRows { try self.change(change.at, to: change.row, needsReload: true) }
        for change in stage.updateRows { try self.change(change.at, to: change.row, needsReload: false) }
    }

    private mutating func change(_ path: RowPath, to row: Row, needsReload: Bool) throws(InvalidUpdate) {
        let index = try section(path.section)
        let isThere = try named[index].rows.change(at: path.row) { (piece: inout RowPiece) throws(InvalidUpdate) in
            try piece.change(to: row, needsReload: needsReload, at: path)
        }
        if !isThere { throw InvalidUpdate(detail: "there is no row \(path) to be changed") }
    }

    /// Takes out deleted and moved rows, last first. Returns moved and inserted ones by ascending targets.
    private mutating func takeRows(_ stage: BatchUpdate.Stage) throws(InvalidUpdate) -> [(
        path: RowPath, piece: RowPiece
    )] {
        var arrivals: [(path: RowPath, piece: RowPiece)] = stage.insertRows.map { ($0.at, .came($0.row)) }
        var departures: [(path: RowPath, move: Int?)] = stage.deleteRows.map { ($0, nil) }
        departures += stage.moveRows.indices.map { (stage.moveRows[$0].from, $0) }
        departures.sort { $0.path > $1.path }
        for (position, (path, move)) in departures.enumerated() {
            if position > 0, departures[position - 1].path == path {
                throw InvalidUpdate(detail: "the row \(path) leaves twice")
            }
            let index = try section(path.section)
            guard var piece = named[index].rows.remove(at: path.row) else {
                throw InvalidUpdate(detail: "there is no row \(path)")
            }
            if let move {
                if let row = stage.moveRows[move].row { try piece.change(to: row, needsReload: false, at: path) }
                arrivals.append((stage.moveRows[move].to, piece))
            } else if case .changed(let origin, let row, let needsReload) = piece {
                deleted.append((origin, row, needsReload))
            }
        }
        arrivals.sort { $0.path < $1.path }
        for (one, next) in zip(arrivals, arrivals.dropFirst()) where one.path == next.path {
            throw InvalidUpdate(detail: "two rows come to \(one.path)")
        }
        return arrivals
    }

    private mutating func arrangeSections(_ stage: BatchUpdate.Stage) throws(InvalidUpdate) {
        guard !stage.deleteSections.isEmpty || !stage.insertSections.isEmpty || !stage.moveSections.isEmpty else {
            return
        }
        for place in stage.deleteSections { named[try section(place)].isGone = true }
        let targets = Dictionary(stage.moveSections.map { ($0.from, $0.to) }) { first, _ in first }
        var arrivals: [(place: Int, piece: SectionPiece)] = []
        let departures = (stage.deleteSections + stage.moveSections.map(\.from)).sorted(by: >)
        for (position, place) in departures.enumerated() {
            if position > 0, departures[position - 1] == place {
                throw InvalidUpdate(detail: "the section \(place) leaves twice")
            }
            guard let piece = order.remove(at: place) else {
                throw InvalidUpdate(detail: "there is no section \(place)")
            }
            if let target = targets[place] { arrivals.append((target, piece)) }
        }
        for (place, section) in stage.insertSections {
            arrivals.append((place, .named(named.count)))
            named.append(Named(bringing: section))
        }
        arrivals.sort { $0.place < $1.place }
        for (position, (place, piece)) in arrivals.enumerated() {
            if position > 0, arrivals[position - 1].place == place {
                throw InvalidUpdate(detail: "two sections come to \(place)")
            }
            guard place >= 0, place <= order.count else {
                throw InvalidUpdate(detail: "no section can come to \(place)")
            }
            order.insert(piece, at: place)
        }
    }

    /// The section's index in `named`; adds it if necessary.
    private mutating func section(_ place: Int) throws(InvalidUpdate) -> Int {
        switch order.piece(at: place) {
        case .named(let index): return index
        case .untouched:
            let next = named.count
            var before = 0
            order.change(at: place) { piece in
                if case .untouched(let place, _) = piece { before = place }
                piece = .named(next)
            }
            named.append(Named(untouched: before, as: next))
            return next
        case nil: throw InvalidUpdate(detail: "there is no section \(place)")
        }
    }
}

extension FoldedTable.Named {
    fileprivate init(untouched place: Int, as index: Int) {
        self.place = place
        rows = Rope(.before(.init(section: index, row: 0), count: RowPieces.endless))
    }

    fileprivate init(bringing section: Section) {
        place = nil
        rows = Rope()
        know(section)
    }

    /// Replaces all that is known, rows included.
    fileprivate mutating func know(_ section: Section) {
        rows = section.rows.isEmpty ? Rope() : Rope(.brought(section.rows, start: 0, count: section.rows.count))
        known = section
    }

    fileprivate mutating func update(_ new: BatchUpdate.SectionUpdate) {
        if known == nil {
            update.header = new.header ?? update.header
            update.footer = new.footer ?? update.footer
            update.movesTo = new.movesTo ?? update.movesTo
        } else {
            if let header = new.header { known?.header = header }
            if let footer = new.footer { known?.footer = footer }
            if let movesTo = new.movesTo { known?.movesTo = movesTo.isNull ? nil : movesTo }
        }
    }
}

extension FoldedTable.RowPiece {
    fileprivate mutating func change(to row: Row, needsReload: Bool, at path: RowPath) throws(InvalidUpdate) {
        if let content, content.id != row.id {
            throw InvalidUpdate(detail: "the row \(path), \(content.json), is changed to another row, \(row.json)")
        }
        change(to: row, needsReload: needsReload)
    }
}
