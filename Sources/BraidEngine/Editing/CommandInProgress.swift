/// The result of a command.
public struct Outcome: Sendable {
    /// Whether the command changed anything.
    public enum Kind: Sendable, Equatable {
        /// There is a new revision.
        case applied
        /// Nothing to change, no new revision.
        case unchanged
        /// By the contract neither done nor refused; no new revision. The reason is a sentence for the client.
        case ignored(reason: String)
    }

    /// Applied, unchanged or ignored.
    public var kind: Kind
    /// As stored afterwards.
    public var table: TableModel
    /// What clients see: ``table``, unless a change is unpublished.
    public var snapshot: Snapshot
    /// What clients do not see yet, if anything.
    public var unpublished: Unpublished?
    /// What a store writes to get to ``table``.
    public var change: TableChange
    /// What it writes to get back.
    public var undo: TableChange
    /// From what clients saw to ``snapshot``; without stages if nothing displayed changed.
    public var update: BatchUpdate
    /// What the sender sees, if that is a table of their own.
    package var own: (snapshot: Snapshot, update: BatchUpdate)?
    /// What the command touched, for the tables of others. `nil`: perhaps anything.
    package var step: TableEditor.Step?
    /// For the session's controllers, in order.
    public var controllerEvents: [ControllerEvent] = []
    /// For the delegate of a data source.
    public var notification: DataSourceNotification?
    /// Inserted by ``DataSourceCommand/insertRow(_:at:in:)`` or ``DataSourceCommand/putRow(_:id:in:)``, or
    /// ``DataSourceCommand/insertRows(_:at:in:)`` without ids. Not in transactions.
    public var inserted: (section: SectionID, id: RowID?)?
    /// Of ``DataSourceCommand/insertRows(_:at:in:)`` or ``DataSourceCommand/putRows(_:at:in:moves:)``. Not in
    /// transactions.
    public var tally: RowTally?
    /// If the command changed the description.
    public var rebinding: Rebinding?

    /// Whether ``kind`` is `ignored`.
    public var isIgnored: Bool { if case .ignored = kind { true } else { false } }

    /// What a store writes, roughly, without the command's text and events. O(changed rows).
    package func estimatedSize(after before: Snapshot) -> Int {
        update.estimatedSize + update.hiddenSize(in: before) + change.estimatedSize + undo.estimatedSize
    }
}

extension Binder {
    /// Executes a command: checks policies, runs handlers, checks invariants, and computes snapshot and update. If it
    /// throws, nothing has changed.
    ///
    /// `shown` is what clients see: the snapshot of `table` or, while a change is unpublished, the last published one.
    /// Index paths refer to it; those of a data source call to the snapshot of `table`, in a transaction to the table
    /// after the commands before. `now` is in RFC 3339; equal `ids` make the same ids again. `strict` refuses data
    /// source calls that would be ignored. `refreshes` says that handlers may change what is displayed without changing
    /// the table, as a program's closures can. Handlers and `insert.template` read `user`. A sender with a table of
    /// their own, `seeing`, means its rows and index paths, and may do what it allows.
    ///
    /// - Throws: ``Refusal``, and the errors of a Swift program's closures.
    /// - Complexity: O(sections), and rendering and comparing touched rows, those of unpublished changes included.
    public func applying(
        _ command: Command, to table: TableModel, shown: Snapshot, unpublished: Unpublished?, now: String,
        ids: IDSource = .random, strict: Bool = false, refreshes: Bool = false, by user: User = .controller,
        seeing own: OwnTable? = nil
    ) throws -> Outcome {
        var outcome: Outcome
        if case .rebind(let rebinding) = command {
            outcome = try self.rebinding(rebinding, table, shown: shown, unpublished: unpublished, now: now)
        } else {
            var work =
                if let own {
                    try CommandInProgress(
                        seeing: own, session: self, table: table, shown: shown, unpublished: unpublished, now: now,
                        ids: ids, user: user.json)
                } else {
                    CommandInProgress(
                        binder: self, table: table, shown: shown, unpublished: unpublished, now: now, ids: ids,
                        user: user.json)
                }
            work.isRefresh = refreshes
            work.isStrict = strict
            work.isDiscreet = user.role != .controller && hidesRows
            outcome = try work.outcome(of: command)
        }
        if showsAuthors, outcome.kind == .applied {
            outcome.update.by = user.shown
            outcome.own?.update.by = user.shown
        }
        return outcome
    }
}

/// A command or transaction being executed.
struct CommandInProgress {
    /// The sender's.
    let binder: Binder
    /// The session's own, and what those see who have no table of their own; `nil` if the sender is one of them.
    let session: (binder: Binder, before: Snapshot)?
    /// All that the commands so far have touched.
    private(set) var steps = TableEditor.Step()
    let now: String
    let meter: CommandMeter
    let ids: IDSource
    /// Who sent it, as expressions read it.
    let user: JSONText
    let beforeTable: TableModel
    let before: Snapshot
    var editor: TableEditor
    /// The table after the commands so far, from which `shown` was rendered. A transaction's next command refers to
    /// them.
    var shownTable: TableModel
    /// The *stored* table's. Clients see `before`, which differs while a change is unpublished.
    var shown: Snapshot
    let search = RowSearch()
    /// Makes a revision even if nothing changed, as after a tap.
    var isRevision = false
    /// Makes one if what is displayed changed, though no model did.
    var isRefresh = false
    private var hasReadProvided = false
    var controllerEvents: [ControllerEvent] = []
    let unpublished: Unpublished?
    /// The published table; `nil` if clients see the stored one.
    let seen: SeenTable?
    /// Whether clients see the stored table afterwards. Not after ignored commands, those without effect, and calls
    /// with `notify` false, except `registerCell`.
    var publishes = false
    /// Policies have allowed it on the published table, which the requester sees.
    var isAllowed = false
    /// A transaction's earlier command has changed the table.
    private var hasChanged = false
    var isTransaction = false
    /// Refusals tell the sender nothing of rows that others see.
    var isDiscreet = false
    var isStrict = false
    var isRebinding = false
    var notification: DataSourceNotification?
    var inserted: (section: SectionID, id: RowID?)?
    var tally: RowTally?

    /// The parameter `shown` is what clients see, and becomes `before`, not the property `shown`.
    init(
        binder: Binder, table: TableModel, shown: Snapshot, unpublished: Unpublished? = nil, now: String,
        ids: IDSource = .random, user: JSONText = User.controller.json,
        session: (binder: Binder, before: Snapshot)? = nil
    ) {
        self.binder = binder
        self.session = session
        self.now = now
        self.ids = ids
        self.user = user
        self.unpublished = unpublished
        seen = unpublished.map {
            SeenTable(CommandInProgress(binder: binder, table: $0.published, shown: shown, now: now))
        }
        before = shown
        beforeTable = table
        editor = TableEditor(table, checksIDs: binder.limits.checksIDs)
        meter = CommandMeter(rows: table.rowCount, binder.limits)
        shownTable = table
        self.shown = unpublished?.snapshot ?? shown
    }

    /// For a sender with a table of their own.
    fileprivate init(
        seeing own: OwnTable, session: Binder, table: TableModel, shown: Snapshot, unpublished: Unpublished?,
        now: String, ids: IDSource, user: JSONText
    ) throws {
        let binder = session.seen(by: own.viewer)
        self.init(
            binder: binder, table: table, shown: own.snapshot, unpublished: unpublished, now: now, ids: ids,
            user: user, session: (session, shown))
        if let unpublished { self.shown = try binder.ownSnapshot(of: table, sharing: unpublished.snapshot) }
    }

    var evaluation: Evaluation {
        Evaluation(table: editor.table, now: now, meter: meter, ids: ids, user: user, for: binder)
    }

    /// Of a command or a transaction.
    fileprivate mutating func outcome(of command: Command) throws -> Outcome {
        do {
            return try wholeOutcome(of: command)
        } catch let refusal as Refusal where isDiscreet {
            throw refusal.discreet
        }
    }

    private mutating func wholeOutcome(of command: Command) throws -> Outcome {
        var ignored: String?
        guard case .transaction(let commands) = command else {
            ignored = try perform(command)
            return try outcome(ignored: ignored)
        }
        isTransaction = true
        for (index, command) in commands.enumerated() {
            do {
                ignored = try perform(command) ?? ignored
            } catch let refusal as Refusal {
                throw (isDiscreet ? refusal.discreet : refusal).placed(in: command, at: index)
            }
        }
        return try outcome(ignored: ignored)
    }

    /// Returns why it was ignored, if so.
    mutating func perform(_ command: Command) throws -> String? {
        try meter.checkTime()
        var ignored: String?
        var call: DataSourceCall?
        hasReadProvided = false
        let given = command, command = seen == nil ? given : try rebased(given)
        isAllowed = false
        // Only until the first change: a transaction's later commands mean the stored table, as the earlier left it.
        if let seen = seen?.command, !hasChanged {
            try seen.requireAllowed(given)
            isAllowed = true
        }
        switch command {
        case .delete(let row): try delete(row)
        case .insert(let row, let model): try insert(row, model)
        case .move(let row, let target): try move(row, to: target)
        case .setModels(let sections, let merging): try setModels(sections, merging: merging)
        case .setHeaders(let titles, let merging):
            if !merging { for section in sections(notIn: titles.map(\.section)) { try setHeader(nil, of: section) } }
            for (section, title) in titles { try setHeader(title, of: section) }
        case .setFooters(let titles, let merging):
            if !merging { for section in sections(notIn: titles.map(\.section)) { try setFooter(nil, of: section) } }
            for (section, title) in titles { try setFooter(title, of: section) }
        case .setDisplayedSections(let ids): ignored = try setDisplayedSections(ids)
        // A slice would keep the request's whole body in memory.
        case .setState(let state, merging: false): editor.setState(state.detached)
        case .setState(let patch, merging: true):
            editor.setState(JSONText(editor.table.state.value().merging(patch: patch.value())))
        case .tap(let row): try tap(row)
        case .event(let row, let event, let parameters): try emit(row, event, parameters)
        case .displayedRows(let rows): try noteDisplayed(rows)
        case .dataSource(let command, let notify): call = try carryOut(command, notify: notify)
        case .reset(let opening?): try reset(to: opening)
        case .reset(nil): throw Refusal(.badRequest, "A transaction cannot contain a reset.")
        case .rebind: throw Refusal(.badRequest, "A transaction cannot bind the session to another description.")
        case .undo where isTransaction: throw Refusal(.badRequest, "A transaction cannot contain an undo or a redo.")
        case .undo(let undo): ignored = try takeBack(undo)
        case .transaction: throw Refusal(.badRequest, "A transaction cannot contain a transaction.")
        }
        if !hasReadProvided { try readProvided() }
        let changesTable = try show()
        if changesTable { hasChanged = true }
        // Without a change nothing is published; if an earlier command set `isRevision`, it has published.
        if let call {
            ignored = try conclude(call, changesTable: changesTable)
        } else if ignored == nil, changesTable || isRevision {
            publishes = true
        }
        return ignored
    }

    /// Takes over what a Swift program keeps. `isEdit` if only one row came, went or moved.
    mutating func readProvided(isEdit: Bool = false) throws {
        hasReadProvided = true
        let providers = binder.providers
        if providers.isEmpty { return }
        var departures = Departures()
        // Three loops: rows may go from one provider to another, so all are read before any is placed.
        for provider in providers { try provider.read(editor.table, &departures) }
        for provider in providers { try provider.place(into: &editor, &departures) }
        for provider in providers { provider.settle(departures) }
        if binder.declaredSections == nil { try arrangeProvidedSections() }
        if isEdit { return }
        for id in editor.step.sections where binder.binding(of: id)?.cells.isProvided == true {
            try editor.noteFilled(id, rows: editor.table[id]?.rows.count ?? 0)
        }
    }

    /// Exactly those that the program names now, so earlier commands do not matter: first those that chains name, in
    /// that order, then the others by id.
    private mutating func arrangeProvidedSections() throws(Refusal) {
        var others = binder.providers.reduce(into: binder.titledSections) { $0.formUnion($1.sections) }
        if binder.display.behavior == .manuallyManaged { others.formUnion(editor.table.displayedSections ?? []) }
        others.subtract(binder.boundSections)
        let sections = binder.boundSections + others.sorted()
        for id in sections { try editor.ensureSection(id) }
        let gone = Set(editor.table.sections.map(\.id)).subtracting(sections)
        if !gone.isEmpty { try editor.removeSections(gone) }
        editor.arrangeSections(sections)
    }

    /// Renders what changed or can depend on the time. Returns whether the table changed.
    @discardableResult
    mutating func show() throws -> Bool {
        let step = editor.takeStep()
        // A server that loads the session later renders with another time, and must get the same rows.
        guard step.changedAnything || binder.readsNow else { return step.prefetchChanged }
        search.reset()
        steps.append(step)
        // Added rows have new keys. Counting visits every section, so only then.
        if editor.table.nextKey > editor.firstNewKey || !editor.restored.isEmpty {
            meter.allow(rows: editor.table.rowCount)
        }
        var remade: [Binder.Remade] = []
        let old = shown
        shown = try binder.snapshot(
            of: editor.table, revision: before.revision + 1,
            after: .init(table: shownTable, snapshot: shown, step: step), remade: &remade, evaluation)
        for id in step.sections {
            if hasNewEnd(id) { try editor.setPrefetched(nil, of: id) }
            // The notes are indexes of stored rows.
            if case .selected? = binder.binding(of: id)?.cells.source { editor.noteWhole(id) }
        }
        for (id, rowCount) in remade {
            editor.noteWhole(id)
            // Derived rows may have read a changed value.
            guard binder.binding(of: id)?.cells.source.isStored == false else { continue }
            try editor.noteFilled(id, rows: rowCount)
            if hasNewEnd(id, since: old) { try editor.setPrefetched(nil, of: id) }
        }
        shownTable = editor.table
        // What rendering changed is not the next command's.
        _ = editor.takeStep()
        return step.changedAnything || step.prefetchChanged
    }

    /// The last stored row is new since the last snapshot. Rows without ids are the same unless a list of models
    /// replaced them.
    private func hasNewEnd(_ id: SectionID) -> Bool {
        guard let section = editor.table[id], section.summary.prefetched != nil, let last = section.rows.last,
            let old = shownTable[id]
        else { return false }
        if let id = last.id { return !old.contains(id) }
        guard let oldLast = old.rows.last, oldLast.key == last.key else { return last.key >= editor.firstNewKey }
        return editor.refilledSections.contains(id) && oldLast.model != last.model
    }

    private func hasNewEnd(_ id: SectionID, since old: Snapshot) -> Bool {
        guard editor.table[id]?.summary.prefetched != nil, let place = displayedPlace(of: id),
            let last = shown.sections[place].rows.last?.id, let before = old.sections.first(where: { $0.id == id })
        else { return false }
        return before.rows.indexes(of: last).isEmpty
    }

    mutating func outcome(ignored: String?) throws -> Outcome {
        let before = session?.before ?? before
        if !editor.change.isEmpty || isRevision || isRefresh {
            var after = try sessionSnapshot()
            after.revision = before.revision + 1
            // Rendering can have noted that `onPrefetch` may run again.
            let change = editor.change
            guard publishes || isRefresh else { return unpublishedOutcome(change, after) }
            var touched = unpublished?.touched ?? TouchedRows()
            touched.append(editor.allTouched)
            let update = try BatchUpdate(from: before, to: after, touched: touched) {
                stayingRows(in: $0, from: before, to: after)
            }
            if !change.isEmpty || isRevision || !update.isEmpty {
                return Outcome(
                    kind: .applied, table: editor.table, snapshot: after, unpublished: nil, change: change,
                    // A program stores nothing.
                    undo: isRefresh ? TableChange() : editor.undo, update: update,
                    own: try own(revision: after.revision), step: isRebinding || unpublished != nil ? nil : steps,
                    controllerEvents: controllerEvents, notification: notification, inserted: inserted,
                    tally: tally)
            }
        }
        let update = BatchUpdate(from: before.revision, to: before.revision, totalRowCount: before.totalRowCount)
        return Outcome(
            kind: ignored.map { .ignored(reason: $0) } ?? .unchanged, table: beforeTable, snapshot: before,
            unpublished: unpublished, change: editor.change, undo: TableChange(), update: update,
            own: unchangedOwn(revision: before.revision), notification: notification, tally: tally)
    }

    /// What the session's own table shows after all commands.
    private mutating func sessionSnapshot() throws -> Snapshot {
        guard let session else { return shown }
        let evaluation = Evaluation(
            table: editor.table, now: now, meter: meter, ids: ids, user: user, for: session.binder)
        guard steps.changedAnything || session.binder.readsNow else { return unpublished?.snapshot ?? session.before }
        var remade: [Binder.Remade] = []
        let snapshot = try session.binder.snapshot(
            of: editor.table, revision: before.revision + 1,
            after: .init(
                table: beforeTable, snapshot: unpublished?.snapshot ?? session.before, step: steps),
            remade: &remade, evaluation)
        for (id, _) in remade { editor.noteWhole(id) }
        return snapshot
    }

    private func own(revision: Int) throws(Refusal) -> (snapshot: Snapshot, update: BatchUpdate)? {
        guard session != nil else { return nil }
        var after = shown
        after.revision = revision
        let published = unpublished?.published ?? beforeTable
        return (after, try binder.ownUpdate(from: (published, before), to: (editor.table, after)))
    }

    /// With an update without stages.
    func unchangedOwn(revision: Int) -> (snapshot: Snapshot, update: BatchUpdate)? {
        guard session != nil else { return nil }
        var snapshot = before
        snapshot.revision = revision
        return (
            snapshot, BatchUpdate(from: before.revision, to: revision, totalRowCount: before.totalRowCount)
        )
    }
}

extension CommandInProgress {
    mutating func setModels(_ sections: [(section: SectionID, models: [JSONText])], merging: Bool) throws {
        for (section, models) in sections {
            try meter.checkTime()
            if binder.declaredSections == nil {
                _ = try binder.requiredBinding(of: section)
                try editor.ensureSection(section)
            }
            _ = try editor.position(of: section)
            let identified = try binder.identified(models, in: section, at: JSONPointer.root.appending(section.text))
            try editor.setModels(identified, in: section)
        }
        if merging { return }
        for section in self.sections(notIn: sections.map(\.section)) {
            try meter.checkTime()
            try editor.setModels([], in: section)
        }
    }

    private func sections(notIn named: [SectionID]) -> [SectionID] {
        let named = Set(named)
        return editor.table.sections.map(\.id).filter { !named.contains($0) }
    }

    /// `nil` restores the description's; JSON null shows none.
    mutating func setHeader(_ title: JSONText?, of section: SectionID) throws(Refusal) {
        try editor.setHeader(stored(title, isBound: binder.binding(of: section)?.header != nil), of: section)
    }

    mutating func setFooter(_ title: JSONText?, of section: SectionID) throws(Refusal) {
        try editor.setFooter(stored(title, isBound: binder.binding(of: section)?.footer != nil), of: section)
    }

    private func stored(_ title: JSONText?, isBound: Bool) -> JSONText? {
        // JSON null hides a bound title. Where none is bound, there is nothing to store.
        title.flatMap { $0.isNull && !isBound ? nil : $0 }
    }

    /// A row keeps its key if its id is in the same section there.
    mutating func reset(to opening: TableModel) throws(Refusal) {
        let ids = opening.sections.map(\.id)
        try editor.removeSections(Set(editor.table.sections.map(\.id)).subtracting(ids))
        for id in ids { try editor.ensureSection(id) }
        editor.arrangeSections(ids)
        for section in opening.sections {
            try meter.checkTime()
            try editor.setModels(section.rows.map { ($0.id, $0.model) }, in: section.id)
            try editor.setHeader(section.summary.header, of: section.id)
            try editor.setFooter(section.summary.footer, of: section.id)
            try editor.setPrefetched(section.summary.prefetched, of: section.id)
        }
        editor.setDisplayedSections(opening.displayedSections)
        editor.setState(opening.state)
        editor.setCells(opening.cells)
        // Clients may still see another table.
        if unpublished != nil { isRevision = true }
    }

    mutating func setDisplayedSections(_ ids: [SectionID]) throws -> String? {
        for id in ids { _ = try editor.position(of: id) }
        if let reason = binder.display.behavior.whyNotSet { return reason }
        // Always, if sections are dynamic: the stored list may name more than are displayed.
        if binder.declaredSections == nil || shown.sections.map(\.id) != ids { editor.setDisplayedSections(ids) }
        return nil
    }
}

extension CommandInProgress {
    /// Where a section is not diffable: displayed rows that stand for the same stored ones before and after, in order.
    ///
    /// Unpublished changes count as changes of single rows, so that the update depends only on the two tables and the
    /// command, and is the same after a restart and on every server. `nil` if unknown, for example after all models
    /// were replaced.
    private func stayingRows(in section: SectionID, from before: Snapshot, to after: Snapshot) -> [MatchedStretch]? {
        guard !isRebinding, !editor.refilledSections.contains(section),
            unpublished != nil || editor.editedSections.contains(section)
        else { return nil }
        switch binder.binding(of: section)?.cells.source {
        case .stored:
            guard let old = (unpublished?.published ?? beforeTable)[section], let new = editor.table[section] else {
                return nil
            }
            return MatchedStretch.matching(old.rows, new.rows)
        case .selected:
            let oldTable = unpublished?.published ?? beforeTable
            guard let old = before.sections.first(where: { $0.id == section }), let oldStored = oldTable[section],
                let new = after.sections.first(where: { $0.id == section }), let newStored = editor.table[section]
            else { return nil }
            return MatchedStretch.matching(old, of: oldStored, new, of: newStored)
        case .derived, .counted, nil: return nil
        }
    }
}

// What a Swift program's binder does without a command.
extension Binder {
    /// With the models that the program keeps. `nil` displays all sections or, under automatic display, those with
    /// something to show.
    func openingTable(displayed: [SectionID]? = nil) throws -> TableModel {
        var work = CommandInProgress(binder: self, table: TableModel(), shown: Snapshot(), now: "")
        for id in declaredSections ?? [] { try work.editor.ensureSection(id) }
        if let displayed {
            try work.admit(toDisplay: displayed)
            work.editor.setDisplayedSections(displayed)
        }
        try work.readProvided()
        return work.editor.table
    }

    /// Reads and renders all again. `nil` keeps the displayed sections.
    func refreshing(_ table: TableModel, shown: Snapshot, displayed: [SectionID]?) throws -> Outcome {
        var work = CommandInProgress(binder: self, table: table, shown: shown, now: "")
        work.isRefresh = true
        if let displayed {
            try work.admit(toDisplay: displayed)
            _ = try work.setDisplayedSections(displayed)
        }
        try work.readProvided()
        try work.show()
        return try work.outcome(ignored: nil)
    }
}

extension CommandInProgress {
    fileprivate mutating func admit(toDisplay ids: [SectionID]) throws(Refusal) {
        guard Set(ids).count == ids.count else {
            throw Refusal(
                .badRequest, "A section cannot be displayed twice: \(ids.map { "\"\($0)\"" }.joined(separator: ", ")).")
        }
        for id in ids {
            if binder.declaredSections == nil { try editor.ensureSection(id) }
            _ = try editor.position(of: id)
        }
    }
}

extension Refusal {
    fileprivate func placed(in command: Command, at index: Int) -> Refusal {
        let place = JSONPointer(tokens: ["commands", String(index)])
        switch (code, command) {
        case (.modelInvalid, .setModels) where !faults.isEmpty: return placed(at: place.appending(command.kind.name))
        // Pointers of failed templates lead into the description.
        case (.templateFailed, _):
            var refusal = self
            refusal.faults.insert(Fault(pointer: place, code: .templateFailed, detail: detail), at: 0)
            return refusal
        case (.eventInvalid, .event): return placed(at: place.appending("events"))
        default:
            // Pointers may lead into a template's result or a body, so the command's takes their place.
            var refusal = self
            refusal.faults =
                faults.isEmpty
                ? [Fault(pointer: place, code: .refused, detail: detail)]
                : faults.map { Fault(pointer: place, code: $0.code, detail: $0.detail) }
            return refusal
        }
    }
}

extension Refusal {
    static func noDisplayedSection(_ index: Int, of count: Int) -> Refusal {
        Refusal(
            .sectionNotFound,
            "Section \(index) does not exist. The table displays \(counted(count, "section")), counted from 0."
        )
    }
}

extension Snapshot {
    package func section(_ reference: SectionReference) throws(Refusal) -> Section {
        switch reference {
        case .displayed(let index):
            guard index >= 0, index < sections.count else {
                throw .noDisplayedSection(index, of: sections.count)
            }
            return sections[index]
        case .id(let id):
            guard let section = sections.first(where: { $0.id == id }) else {
                throw .notDisplayed(id, among: sections.lazy.map(\.id))
            }
            return section
        }
    }
}
