/// The state of executing one command or one transaction.
struct CommandInProgress {
    let binder: Binder
    let now: String
    let meter: CommandMeter
    let ids: IDSource
    let beforeTable: TableModel
    let before: Snapshot
    var editor: TableEditor
    /// The table and its snapshot as the commands executed so far have left them. A transaction's next command refers
    /// to this snapshot.
    var shownTable: TableModel
    var shown: Snapshot
    /// The search for rows in the snapshot `shown`.
    let search = RowSearch()
    /// Whether the command makes a new revision even if it changed nothing in the table. A tap, for example, does so.
    var isRevision = false
    /// Whether the command makes a new revision if what is displayed changed, even if no model changed.
    var isRefresh = false
    /// Whether the models that a Swift program keeps were read again after the last handler ran.
    private var hasReadProvided = false
    var controllerEvents: [ControllerEvent] = []
    /// The changes that were stored but not published before this command. `nil` if all changes were published.
    let unpublished: Unpublished?
    /// The published table, which clients see. `nil` if clients see the stored table.
    let seen: SeenTable?
    /// Whether the command publishes the stored table to clients. Data source calls with `notify` false, except
    /// `registerCell`, and commands that are ignored or change nothing do not publish the table.
    var publishes = false
    /// Whether the policies have allowed the current command for the published table, which its requester sees.
    var isAllowed = false
    /// Whether a command has changed the table.
    private var hasChanged = false
    var isTransaction = false
    /// Whether a data source call that would be ignored is refused instead.
    var isStrict = false
    /// Whether the command binds the table to another description. Then every row must be rendered again by the new
    /// description's bindings.
    var isRebinding = false
    /// The notification that the command sends to a data source's delegate.
    var notification: DataSourceNotification?
    /// The row that a call of `insertRow` or `putRow` has inserted, or, without an id, the rows of `insertRows`, if the
    /// call is not part of a transaction.
    var inserted: (section: SectionID, id: RowID?)?
    /// What a call of `insertRows` or `putRows` did, if the call is not part of a transaction.
    var tally: RowTally?

    /// Starts the execution of a command. `shown` is the published snapshot, which shows `table` unless a change is
    /// unpublished.
    init(
        binder: Binder, table: TableModel, shown: Snapshot, unpublished: Unpublished? = nil, now: String,
        ids: IDSource = .random
    ) {
        self.binder = binder
        self.now = now
        self.ids = ids
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

    var evaluation: Evaluation { Evaluation(table: editor.table, now: now, meter: meter, ids: ids) }

    /// Executes one command and renders the changed parts of the snapshot again. Returns the reason why the command was
    /// ignored, or `nil`.
    mutating func perform(_ command: Command) throws -> String? {
        try meter.checkTime()
        var ignored: String?
        var call: DataSourceCall?
        hasReadProvided = false
        let given = command, command = try rebased(given)
        // A transaction's later commands mean the table as the earlier ones have left it, which is the stored one.
        isAllowed = false
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
        // Copy the state out of the request's body. The session keeps the state, which would otherwise keep the whole
        // body in memory.
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
        case .transaction: throw Refusal(.badRequest, "A transaction cannot contain a transaction.")
        }
        if !hasReadProvided { try readProvided() }
        let changesTable = try show()
        if changesTable { hasChanged = true }
        // A command that changes nothing publishes nothing. If `isRevision` is of an earlier command, that command has
        // published.
        if let call {
            ignored = try conclude(call, changesTable: changesTable)
        } else if ignored == nil, changesTable || isRevision {
            publishes = true
        }
        return ignored
    }

    /// Reads what a Swift program keeps, such as its models. The program may have changed it since the last reading.
    ///
    /// - Parameter isEdit: whether the command only inserted, deleted or moved one row.
    mutating func readProvided(isEdit: Bool = false) throws {
        hasReadProvided = true
        let providers = binder.providers.value
        if providers.isEmpty { return }
        var departures = Departures()
        for provider in providers { try provider.read(editor.table, &departures) }
        for provider in providers { try provider.place(into: &editor, &departures) }
        for provider in providers { provider.settle(departures) }
        if binder.declaredSections == nil { try arrangeProvidedSections() }
        if isEdit { return }
        for id in editor.step.sections where binder.binding(of: id)?.cells.isProvided == true {
            try editor.noteFilled(id, rows: editor.table[id]?.rows.count ?? 0)
        }
    }

    /// Gives the table exactly the sections that the Swift program names now, so that the displayed sections do not
    /// depend on earlier commands.
    ///
    /// Sections that chains bind by name come first, in the order of binding. All other sections follow in the order of
    /// their ids.
    private mutating func arrangeProvidedSections() throws(Refusal) {
        var others = binder.providers.value.reduce(into: binder.titledSections) { $0.formUnion($1.sections) }
        if binder.display.behavior == .manuallyManaged { others.formUnion(editor.table.displayedSections ?? []) }
        others.subtract(binder.boundSections)
        let sections = binder.boundSections + others.sorted()
        for id in sections { try editor.ensureSection(id) }
        let gone = Set(editor.table.sections.map(\.id)).subtracting(sections)
        if !gone.isEmpty { try editor.removeSections(gone) }
        editor.arrangeSections(sections)
    }

    /// Renders the changed parts of the snapshot again, if the table has changed or if what is displayed can depend on
    /// the time. Returns whether the table has changed.
    @discardableResult
    mutating func show() throws -> Bool {
        let step = editor.takeStep()
        // Rows and titles that read the time are rendered again for every revision. A server that loads the session
        // from the store renders them again, too, and must get the same rows.
        guard step.changedAnything || binder.readsNow else { return step.prefetchChanged }
        search.reset()
        // Added rows raise the template budget, and have new keys. The number of rows is counted only if rows were
        // added, because counting visits every section.
        if editor.table.nextKey > editor.firstNewKey { meter.allow(rows: editor.table.rowCount) }
        var remade: [Binder.Remade] = []
        let old = shown
        shown = try binder.snapshot(
            of: editor.table, revision: before.revision + 1,
            after: .init(table: shownTable, snapshot: shown, step: step), remade: &remade, evaluation)
        for id in step.sections where hasNewEnd(id) { try editor.setPrefetched(nil, of: id) }
        for (id, rowCount) in remade {
            editor.noteWhole(id)
            // The section's derived rows were made again, because a value that they read may have changed.
            guard binder.binding(of: id)?.cells.source.isStored == false else { continue }
            try editor.noteFilled(id, rows: rowCount)
            if hasNewEnd(id, since: old) { try editor.setPrefetched(nil, of: id) }
        }
        shownTable = editor.table
        // What the rendering has changed is not the next command's change.
        _ = editor.takeStep()
        return step.changedAnything || step.prefetchChanged
    }

    /// Returns whether `onPrefetch` has run for a section whose last stored row is one that the section did not have at
    /// the last snapshot. Rows without ids are the same unless a list of models has replaced them.
    private func hasNewEnd(_ id: SectionID) -> Bool {
        guard let section = editor.table[id], section.facts.prefetched != nil, let last = section.rows.last,
            let old = shownTable[id]
        else { return false }
        if let id = last.id { return !old.contains(id) }
        guard let oldLast = old.rows.last, oldLast.key == last.key else { return last.key >= editor.firstNewKey }
        return editor.refilledSections.contains(id) && oldLast.model != last.model
    }

    /// Returns whether `onPrefetch` has run for a section whose last derived row is now one that the section did not
    /// display in the snapshot `old`.
    private func hasNewEnd(_ id: SectionID, since old: Snapshot) -> Bool {
        guard editor.table[id]?.facts.prefetched != nil, let place = displayedPlace(of: id),
            let last = shown.sections[place].rows.last?.id, let before = old.sections.first(where: { $0.id == id })
        else { return false }
        return before.rows.indexes(of: last).isEmpty
    }

    func outcome(ignored: String?) throws -> Outcome {
        let change = editor.change
        var after = shown
        after.revision = before.revision + 1
        if !change.isEmpty || isRevision || isRefresh {
            guard publishes || isRefresh else { return unpublishedOutcome(change) }
            var touched = unpublished?.touched ?? TouchedRows()
            touched.append(editor.allTouched)
            let update = try BatchUpdate(from: before, to: after, touched: touched, staying: stayingRows)
            if !change.isEmpty || isRevision || !update.isEmpty {
                return Outcome(
                    kind: .applied, table: editor.table, snapshot: after, unpublished: nil, change: change,
                    undo: editor.undo, update: update,
                    controllerEvents: controllerEvents, notification: notification, inserted: inserted,
                    tally: tally)
            }
        }
        let update = BatchUpdate(from: before.revision, to: before.revision, totalRowCount: before.totalRowCount)
        return Outcome(
            kind: ignored.map { .ignored(reason: $0) } ?? .unchanged, table: beforeTable, snapshot: before,
            unpublished: unpublished, change: change, undo: TableChange(), update: update, notification: notification,
            tally: tally)
    }
}

// Commands that replace models, titles or displayed sections, and the reset.
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

    /// Sets a section's header. `nil` restores the header that the description binds. JSON null shows no header,
    /// whatever the description binds.
    mutating func setHeader(_ title: JSONText?, of section: SectionID) throws(Refusal) {
        try editor.setHeader(stored(title, isBound: binder.binding(of: section)?.header != nil), of: section)
    }

    mutating func setFooter(_ title: JSONText?, of section: SectionID) throws(Refusal) {
        try editor.setFooter(stored(title, isBound: binder.binding(of: section)?.footer != nil), of: section)
    }

    private func stored(_ title: JSONText?, isBound: Bool) -> JSONText? {
        title.flatMap { $0.isNull && !isBound ? nil : $0 }
    }

    /// Restores the table that the session was opened with: sections, titles, models, displayed sections, state and
    /// registered cells. A row keeps its key if the opening table has the row's id in the same section.
    mutating func reset(to opening: TableModel) throws(Refusal) {
        let ids = opening.sections.map(\.id)
        try editor.removeSections(Set(editor.table.sections.map(\.id)).subtracting(ids))
        for id in ids { try editor.ensureSection(id) }
        editor.arrangeSections(ids)
        for section in opening.sections {
            try meter.checkTime()
            try editor.setModels(section.rows.map { ($0.id, $0.model) }, in: section.id)
            try editor.setHeader(section.facts.header, of: section.id)
            try editor.setFooter(section.facts.footer, of: section.id)
            try editor.setPrefetched(section.facts.prefetched, of: section.id)
        }
        editor.setDisplayedSections(opening.displayedSections)
        editor.setState(opening.state)
        editor.setCells(opening.cells)
        // Even if the stored table equals the opening table already, clients may still see another, published table.
        // The reset then makes a new revision, which publishes the stored table.
        if unpublished != nil { isRevision = true }
    }

    mutating func setDisplayedSections(_ ids: [SectionID]) throws -> String? {
        for id in ids { _ = try editor.position(of: id) }
        if let reason = binder.display.behavior.whyNotSet { return reason }
        // For declared sections, nothing changes if the given list is displayed already. For dynamic sections, the
        // stored list may contain more sections than are displayed, so the stored list is always replaced.
        if binder.declaredSections == nil || shown.sections.map(\.id) != ids { editor.setDisplayedSections(ids) }
        return nil
    }
}
