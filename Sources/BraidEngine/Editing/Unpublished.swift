/// Changes stored with `notify: false`, unseen by clients until a later command publishes them.
///
/// A class: a session without any has only a `nil` reference.
public final class Unpublished: Sendable {
    /// What clients see.
    public let published: TableModel
    /// The stored table's snapshot.
    public let snapshot: Snapshot
    /// Only these can differ between the two tables.
    let touched: TouchedRows

    init(published: TableModel, snapshot: Snapshot, touched: TouchedRows) {
        self.published = published
        self.snapshot = snapshot
        self.touched = touched
    }

    /// After a restart; any row may differ. `revision` is the stored table's, `now` in RFC 3339. Throws ``Refusal`` if
    /// it cannot be rendered. O(rows).
    public init(published: TableModel, stored: TableModel, binder: Binder, revision: Int, now: String) throws {
        self.published = published
        snapshot = try binder.snapshot(of: stored, revision: revision, now: now)
        var touched = TouchedRows()
        for section in [published.sections, stored.sections].joined() { touched.wholeSection(section.id) }
        self.touched = touched
    }
}

extension CommandInProgress {
    /// A new revision, at which clients still see the published table.
    func unpublishedOutcome(_ change: TableChange, _ stored: Snapshot) -> Outcome {
        let before = session?.before ?? before
        var snapshot = before, stored = stored, touched = unpublished?.touched ?? TouchedRows()
        snapshot.revision = before.revision + 1
        stored.revision = snapshot.revision
        touched.append(editor.allTouched)
        let kept = Unpublished(
            published: unpublished?.published ?? beforeTable, snapshot: stored, touched: touched)
        return Outcome(
            kind: .applied, table: editor.table, snapshot: snapshot, unpublished: kept, change: change,
            undo: editor.undo,
            update: BatchUpdate(from: before.revision, to: snapshot.revision, totalRowCount: snapshot.totalRowCount),
            own: unchangedOwn(revision: snapshot.revision), step: TableEditor.Step(), inserted: inserted, tally: tally)
    }
}

/// Where rows that clients see are looked up. A class, as a `CommandInProgress` cannot contain another.
final class SeenTable {
    let command: CommandInProgress

    init(_ command: CommandInProgress) { self.command = command }
}

// Rebases references: clients mean paths in the published table.
extension CommandInProgress {
    /// A row with an id is that with the id in the same section; one without, the same stored row with the same model,
    /// or a derived row with the same content in the same place. Throws `rowNotFound`.
    func rebased(_ command: Command) throws -> Command {
        guard let seen = seen?.command else { return command }
        if case .move(let row, let target) = command { return try rebasedMove(row, target, seen) }
        return try command.replacingRows { try rebased($0, seen, orEnd: $1) }
    }

    /// Whether clients see the row, or this command created it. What an earlier unpublished change created is unknown,
    /// also in a transaction.
    func isKnown(_ id: RowID, in section: Section) throws(Refusal) -> Bool {
        guard let seen = seen?.command else { return true }
        if let place = seen.displayedPlace(of: section.id),
            try !seen.search.places(of: id, in: seen.shown.sections[place], seen).isEmpty
        {
            return true
        }
        guard let stored = editor.table[section.id], let index = stored.index(of: id) else { return false }
        return stored.rows[index].key >= editor.firstNewKey
    }

    private func rebased(_ reference: RowReference, _ seen: CommandInProgress, orEnd: Bool = false) throws
        -> RowReference
    {
        // No client has seen the table between a transaction's commands.
        if isTransaction {
            if case .id(_, let section) = reference, section.map({ if case .id = $0 { true } else { false } }) ?? true {
                return reference
            }
            throw Refusal(
                .rowNotFound,
                "The session has changes that are not published: until they are, the commands of a transaction must name rows by their ids."
            )
        }
        let place = try seen.resolve(reference, orEnd: orEnd)
        let section = SectionReference.id(place.section.id)
        guard place.row < place.section.rows.count else {
            return .at(section, row: try shown.section(section).rows.count)
        }
        if let id = place.section.rows[place.row].id { return .id(id, in: section) }
        guard let row = try rowWithoutID(place, seen) else {
            throw Refusal(
                .rowNotFound,
                "Row \(place.row) of the section \"\(place.section.id)\" was changed or removed by a change that is not published yet. Name another row, or try again after the change is published."
            )
        }
        return .at(section, row: row)
    }

    /// The row's index in the stored table's snapshot. `nil` if it has changed or is gone.
    private func rowWithoutID(_ place: Place, _ seen: CommandInProgress) throws -> Int? {
        let id = place.section.id
        guard let binding = binder.binding(of: id), binding.cells.source.isStored else {
            guard let rows = shown.sections.first(where: { $0.id == id })?.rows, rows.indices.contains(place.row) else {
                return nil
            }
            return rows[place.row].isSame(as: place.section.rows[place.row]) ? place.row : nil
        }
        guard let old = seen.editor.table[id]?.rows,
            let oldIndex = seen.storedIndex(of: place.row, in: place.section, binding),
            let section = editor.table[id]
        else { return nil }
        let row = old[oldIndex]
        // Looks at the old rank first: ranks rarely change.
        var index = section.index(ofRank: row.rank)
        if !section.rows.indices.contains(index) || section.rows[index].key != row.key {
            guard let found = section.rows.firstIndex(where: { $0.key == row.key }) else { return nil }
            index = found
        }
        return section.rows[index].model == row.model ? displayedIndex(ofStored: index, in: id) : nil
    }

    /// Moves before the row that the client sees there, or to the end.
    private func rebasedMove(_ reference: RowReference, _ target: RowReference, _ seen: CommandInProgress) throws
        -> Command
    {
        let moved = try rebased(reference, seen)
        guard case .at(let section, let index) = target else { return .move(moved, to: try rebased(target, seen)) }
        if isTransaction {
            throw Refusal(
                .rowNotFound,
                "The session has unpublished changes. Until they are published, a transaction cannot move a row to an index path. Name the target by the id of a row."
            )
        }
        let from = try seen.resolve(reference), destination = try seen.shown.section(section)
        let target = SectionReference.id(destination.id)
        let isWithin = from.section.id == destination.id
        let last = destination.rows.count - (isWithin ? 1 : 0)
        guard (0...last).contains(index) else {
            throw Refusal.noRow(index, in: destination.id, of: destination.rows.count)
        }
        let follower = isWithin && index >= from.row ? index + 1 : index
        guard follower < destination.rows.count else {
            return .move(moved, to: .at(target, row: try shown.section(target).rows.count - (isWithin ? 1 : 0)))
        }
        let before = try resolve(rebased(.at(target, row: follower), seen)).row
        let place = try resolve(moved)
        return .move(moved, to: .at(target, row: isWithin && place.row < before ? before - 1 : before))
    }
}
