extension Binder {
    /// Renders a whole table; templates read `now`, in RFC 3339. O(rows). Throws ``Refusal``. If the table
    /// `wasRendered` by these bindings before, rows of long sections are rendered when they are read.
    public func snapshot(of table: TableModel, revision: Int, now: String, wasRendered: Bool = false) throws
        -> Snapshot
    {
        var binder = self, remade: [Remade] = []
        binder.rowsWereRendered = wasRendered
        return try binder.snapshot(
            of: table, revision: revision, after: nil, remade: &remade,
            binder.evaluation(of: table, now: now))
    }

    func evaluation(of table: TableModel, now: String) -> Evaluation {
        Evaluation(
            table: table, now: now, meter: CommandMeter(rows: table.rowCount, limits, isTimed: false), for: self)
    }

    struct Previous {
        var table: TableModel
        var snapshot: Snapshot
        var step: TableEditor.Step
    }

    typealias Remade = (section: SectionID, rowCount: Int)

    /// `remade` receives the sections whose rows were all rendered again.
    /// `lent`: the session's own snapshot of the table, which somebody's shares as far as they look the same.
    func snapshot(
        of table: TableModel, revision: Int, after previous: Previous?, sharing lent: Snapshot? = nil,
        remade: inout [Remade], _ evaluation: Evaluation
    ) throws -> Snapshot {
        try limits.check(table, after: previous?.table)
        var making = SnapshotMaking(binder: self, table: table, previous: previous, lent: lent, evaluation: evaluation)
        let snapshot = try making.snapshot(revision: revision)
        if snapshot.totalRowCount > limits.rows, snapshot.totalRowCount > previous?.snapshot.totalRowCount ?? 0 {
            throw Refusal.tooManyRows(limits)
        }
        remade += making.remade
        return snapshot
    }
}

/// Renders each section's rows and titles at most once, and only if needed.
private struct SnapshotMaking {
    let binder: Binder
    let table: TableModel
    let previous: Binder.Previous?
    let lent: Snapshot?
    let evaluation: Evaluation
    private(set) var remade: [Binder.Remade] = []
    /// What changed since the previous snapshot, in any section.
    private let changed: Reads
    private lazy var oldPlaces = Dictionary(
        uniqueKeysWithValues: (previous?.snapshot.sections ?? []).enumerated().map { ($1.id, $0) })
    /// Windows find the next section fast.
    private var stored: PersistentList<StoredSection>.Window
    private var shown: PersistentList<Section>.Window
    private var inputs: [Int: SectionInput] = [:]
    private var rows: [Int: SectionRows] = [:]
    /// Derived or counted rows that still fit into the row limit.
    private var room: Int

    init(binder: Binder, table: TableModel, previous: Binder.Previous?, lent: Snapshot?, evaluation: Evaluation) {
        self.binder = binder
        self.table = table
        self.previous = previous
        self.lent = lent
        self.evaluation = evaluation
        stored = .init(table.sections)
        shown = .init(previous?.snapshot.sections ?? [])
        // A table above a lowered limit may keep its size or shrink.
        room = max(binder.limits.rows, previous?.snapshot.totalRowCount ?? 0)
        var changed: Reads = .now
        if let previous {
            if previous.step.stateChanged { changed.insert(.state) }
            if previous.step.cellsChanged { changed.insert(.cells) }
            if !previous.step.sections.isEmpty { changed.insert(.models) }
            if let filterReads = binder.filterReads, !filterReads.isDisjoint(with: changed) { changed.insert(.models) }
        }
        self.changed = changed
    }

    mutating func snapshot(revision: Int) throws -> Snapshot {
        if let previous, var snapshot = try patched(previous) {
            snapshot.revision = revision
            snapshot.now = evaluation.now
            return snapshot
        }
        let positions = try binder.display.displayedPositions(in: table, evaluation) { try input($0) }
        let bindings = try positions.map { try binder.requiredBinding(of: id(at: $0)) }
        var displayed: [SectionInput] = []
        if bindings.contains(where: \.asksMovePolicy) {
            for position in positions { displayed.append(try input(position)) }
        }
        var targets = MoveTargets(binder: binder, evaluation: evaluation, displayed: displayed)
        var sections: [Section] = [], failures = TemplateFailures(evaluation.meter)
        sections.reserveCapacity(positions.count)
        for (place, position) in positions.enumerated() {
            let binding = bindings[place]
            if let section = unchanged(position, binding, at: place) {
                sections.append(section)
                continue
            }
            do {
                sections.append(try section(position, binding, &targets))
            } catch {
                try failures.add(error)
            }
        }
        try failures.check()
        var snapshot = Snapshot(revision: revision, sections: sections, state: table.state)
        snapshot.now = evaluation.now
        if snapshot.totalRowCount == 0 { snapshot.empty = binder.empty }
        if !rows.isEmpty {
            let onStage = Set(positions)
            for (position, rows) in rows where !onStage.contains(position) {
                snapshot.offstage[table.sections[position].id] = rows
            }
        }
        return snapshot
    }

    /// The previous snapshot with only the touched sections rendered again; the others are not even visited. `nil` if
    /// more may have changed: other sections, their order, or which are displayed.
    private mutating func patched(_ previous: Binder.Previous) throws -> Snapshot? {
        guard !previous.step.displayChanged, !binder.asksMovePolicy, binder.reads.isDisjoint(with: changed) else {
            return nil
        }
        var snapshot = previous.snapshot
        let display = binder.display
        var targets = MoveTargets(binder: binder, evaluation: evaluation, displayed: [])
        var failures = TemplateFailures(evaluation.meter)
        let touched = previous.step.sections.compactMap { id in table.position(of: id).map { (id: id, position: $0) } }
        guard touched.count == previous.step.sections.count else { return nil }
        // In the table's order, so that a command always names the same failures.
        for (id, position) in touched.sorted(by: { $0.position < $1.position }) {
            let place = oldPlace(of: id, near: position)
            if display.behavior != .manuallyManaged {
                guard case .declared = display.order else { return nil }
                let isShown = display.behavior.shows(try input(position))
                guard isShown == (place != nil) else { return nil }
            }
            guard let place else {
                if let rows = rows[position] { snapshot.offstage[id] = rows }
                continue
            }
            do {
                let made = try section(position, try binder.requiredBinding(of: id), &targets)
                snapshot.totalRowCount += made.rows.count - snapshot.sections[place].rows.count
                snapshot.sections[place] = made
            } catch {
                try failures.add(error)
            }
        }
        try failures.check()
        snapshot.state = table.state
        snapshot.empty = snapshot.totalRowCount == 0 ? binder.empty : nil
        return snapshot
    }

    private mutating func section(_ position: Int, _ binding: SectionBinding, _ targets: inout MoveTargets) throws
        -> Section
    {
        if let section = lentSection(position), !binder.readsViewer(binding.rowReads.union(binding.titleReads)),
            !binder.asksMovePolicy
        {
            return section
        }
        let input = try input(position)
        let section = try Refusal.naming(input.id) {
            let made = try rows(at: position, binding)
            var section = Section(
                id: input.id,
                header: try titled(input.header, input, binding.headerHeight, binding.estimatedHeaderHeight),
                footer: try titled(input.footer, input, binding.footerHeight, binding.estimatedFooterHeight),
                movesTo: try targets.targets(of: binding, isSorted: made.places?.order != nil),
                isDiffable: binding.isDiffable(table.sections[position]), rows: made.rows)
            section.places = made.places
            return section
        }
        try evaluation.meter.charge(repeated: section.sizeWithoutRows, in: section.id)
        return section
    }

    /// The previous snapshot's section; `nil` if anything that it shows can have changed.
    private mutating func unchanged(_ position: Int, _ binding: SectionBinding, at place: Int) -> Section? {
        let id = id(at: position)
        guard let previous, !previous.step.sections.contains(id), !binding.asksMovePolicy,
            binding.rowReads.isDisjoint(with: changed), binding.titleReads.isDisjoint(with: changed)
        else { return nil }
        return oldPlace(of: id, near: place).map { shown[$0] }
    }

    private func lentSection(_ position: Int) -> Section? {
        guard let lent else { return nil }
        let id = table.sections[position].id
        return binder.displayedPlace(of: id, in: lent, of: table).map { lent.sections[$0] }
    }

    /// Tries `place` first: most commands move no section.
    private mutating func oldPlace(of id: SectionID, near place: Int) -> Int? {
        guard let previous else { return nil }
        if place < previous.snapshot.sections.count, shown[place].id == id { return place }
        return oldPlaces[id]
    }

    private mutating func id(at position: Int) -> SectionID { stored[position].id }

    /// To count the rows, renders them, unless all stored ones are displayed.
    private mutating func input(_ position: Int) throws -> SectionInput {
        if let input = inputs[position] { return input }
        let stored = table.sections[position]
        let input = try Refusal.naming(stored.id) {
            var shown = (count: stored.rows.count, displayed: stored.rows.count)
            if let binding = binder.binding(of: stored.id) {
                if case .stored = binding.cells.source {
                } else {
                    let made = try rows(at: position, binding)
                    shown = (made.places?.count ?? made.rows.count, made.rows.count)
                }
            }
            return try binder.titles(of: stored, count: shown.count, displayedCount: shown.displayed, evaluation)
        }
        inputs[position] = input
        return input
    }

    private mutating func rows(at position: Int, _ binding: SectionBinding) throws -> SectionRows {
        if let rows = rows[position] { return rows }
        let made = try makeRows(at: position, binding)
        rows[position] = made
        return made
    }

    private mutating func oldRows(at position: Int, _ id: SectionID) -> SectionRows? {
        guard let previous else { return nil }
        guard let place = oldPlace(of: id, near: position) else { return previous.snapshot.offstage[id] }
        let section = previous.snapshot.sections[place]
        return SectionRows(rows: section.rows, places: section.places)
    }

    private mutating func makeRows(at position: Int, _ binding: SectionBinding) throws -> SectionRows {
        try evaluation.meter.checkTime()
        let stored = table.sections[position], lent = lentSection(position)
        if let lent, !binder.readsViewer(binding.rowReads) {
            return SectionRows(rows: lent.rows, places: lent.places)
        }
        let isTouched = previous?.step.sections.contains(stored.id) ?? true
        let old = oldRows(at: position, stored.id)
        // A touched section's rows can have other indexes and another count.
        let isUpToDate = binding.rowReads.isDisjoint(with: changed.union(isTouched ? [.row, .count] : []))
        let maker = RowMaker(
            binding: binding, section: stored.id, count: stored.rows.count, room: room, binder: binder,
            evaluation: evaluation)
        var lentRows: LentRows?
        if let lent, !binder.readsViewer(binding.renderingReads),
            binding.renderingReads.isDisjoint(with: [.row, .count])
        {
            lentRows = LentRows(lent, of: stored)
        }
        if let previous, let old, isUpToDate {
            switch binding.cells.source {
            case .stored:
                if let oldStored = previous.table[stored.id] {
                    let touched = previous.step.touched
                    return SectionRows(
                        rows: try maker.rows(of: stored, after: oldStored, shown: old.rows, touched: touched))
                }
            case .selected(let selection):
                if let oldStored = previous.table[stored.id], let places = old.places {
                    return try maker.selectedRows(
                        of: stored, after: oldStored, shown: old, places, touched: previous.step.touched, selection,
                        lentRows)
                }
            case .derived, .counted: return old
            }
        }
        let made =
            if case .selected(let selection) = binding.cells.source {
                try maker.selectedRows(of: stored, selection, lentRows)
            } else {
                SectionRows(rows: try maker.rows(of: stored))
            }
        remade.append((stored.id, made.rows.count))
        if !binding.cells.source.isStored { room -= made.rows.count }
        return made
    }

    /// `{"title": …}` or the view's members, with the heights; null for none.
    private func titled(
        _ title: JSONText, _ input: SectionInput, _ height: Computed<SectionInput>?,
        _ estimated: Computed<SectionInput>?
    ) throws -> JSONText {
        if title.isNull { return .null }
        let height = try height?.value(for: input, evaluation), estimated = try estimated?.value(for: input, evaluation)
        return .object {
            if title.kind == .string {
                $0.member("title", title)
            } else {
                for (name, value) in title.members() ?? [] { $0.member(name, value) }
            }
            $0.member("height", height)
            $0.member("estimatedHeight", estimated)
        }
    }
}

extension Binder {
    /// The section with its titles, for expressions. What a command has set wins over what a binding gives.
    func titles(of section: StoredSection, count: Int, displayedCount: Int, _ evaluation: Evaluation) throws
        -> SectionInput
    {
        var input = SectionInput(id: section.id, count: count, displayedCount: displayedCount)
        guard let binding = binding(of: section.id) else { return input }
        let header = try section.summary.header ?? binding.header?.value(for: input, evaluation) ?? .null
        let footer = try section.summary.footer ?? binding.footer?.value(for: input, evaluation) ?? .null
        input.header = header
        input.footer = footer
        return input
    }
}

/// Gives each section's `movesTo`, computed once for all that share a policy.
private struct MoveTargets {
    private struct Movers: Hashable {
        var policy: ObjectIdentifier
        var type: UTF8Key?
    }

    let binder: Binder
    let evaluation: Evaluation
    /// Filled only if some policy is a condition.
    let displayed: [SectionInput]
    private var found: [Movers: JSONText] = [:]
    private var last: (ids: [SectionID], targets: JSONText)?

    init(binder: Binder, evaluation: Evaluation, displayed: [SectionInput]) {
        self.binder = binder
        self.evaluation = evaluation
        self.displayed = displayed
    }

    /// `"anySection"` or a list of section ids; `nil` if rows may not move.
    mutating func targets(of binding: SectionBinding, isSorted: Bool) throws -> JSONText? {
        guard binding.allowsMoving else { return nil }
        if isSorted, binding.moving?.merge == nil { return .emptyArray }
        switch binding.moving?.targets {
        case nil: return nil
        case .anySection: return .string("anySection")
        case .sections(let ids):
            // The sections of one binding share one array.
            if let last, last.ids.hasSameStorage(as: ids) { return last.targets }
            let targets = JSONText(ids: ids)
            last = (ids, targets)
            return targets
        case .passing(let policy):
            let movers = Movers(policy: ObjectIdentifier(policy), type: binding.modelType.name)
            if let targets = found[movers] { return targets }
            let targets = JSONText(
                ids: try displayed.filter {
                    try takes(rowsOf: movers.type, $0.id) && policy.passes($0, evaluation)
                }.map(\.id))
            found[movers] = targets
            return targets
        }
    }

    private func takes(rowsOf type: UTF8Key?, _ section: SectionID) -> Bool {
        binder.binding(of: section)?.takes(rowsOf: type) ?? false
    }
}
