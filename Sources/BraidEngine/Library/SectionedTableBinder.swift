/// A table that a Swift program binds with closures, without a server. The program's binding chains define what the
/// table shows and allows, and the program's closures supply the models.
///
/// ```swift
/// enum Section: String, TableSection, CaseIterable { case attending, invited }
///
/// let binder = SectionedTableBinder(sectionedBy: Section.self)
/// binder.onSection(.attending)
///     .bind(cellType: AttendeeCell.self, models: { attending })
///     .onDequeue { section, row, cell, person in cell.title = person.name }
/// try binder.finish()
///
/// attending.append(person)
/// let update = try binder.refresh()
/// ```
///
/// The binder is not `Sendable`. A binder calls the program's closures on the actor or task that calls the binder. A
/// command that throws does not change the table. If a handler changes the program's data before it fails, the program
/// must undo the change. The next `refresh()` shows the data as they are at that call. A handler cannot give the binder
/// a command.
///
/// Source: Braid's `SectionedTableViewBinder`. ``snapshot`` and the updates replace the table view of Braid's binder.
public final class SectionedTableBinder<Section: TableSection> {
    let bindings: ProgramBindings<Section>
    private let rule = DisplayRule<Section>()
    private var bound: (binder: Binder, table: TableModel, snapshot: Snapshot)?
    private var wantedSections: [Section]?
    private var isUnderWay = false
    private let subscribers = Subscribers()

    /// Creates a binder with declared sections, in the order of the enum's cases.
    public convenience init(sectionedBy: Section.Type) where Section: CaseIterable {
        self.init(Array(Section.allCases))
    }

    /// Creates a binder with dynamic sections: a section exists while the program names it, for example in a chain or
    /// as a key of the models.
    public convenience init(sectionedBy: Section.Type) { self.init(nil) }

    init(_ sections: [Section]?) {
        bindings = ProgramBindings(sections: sections)
        bindings.providers.append(rule)
        // The closure with which the program replaces a bound value cannot throw, so an error of this refresh is
        // ignored. The next command reads the value again, and can throw the same error.
        bindings.refresh = { [weak self] in _ = try? self?.refresh() }
    }

    deinit { subscribers.finish() }

    // MARK: Binding

    /// A binding chain whose cells are not bound yet.
    public typealias Chain = BindingChain<Section, any ReuseIdentifiable, Never>

    /// Begins a binding chain about one section. The section's models can be given as an array.
    public func onSection(_ section: Section) -> Chain { bindings.onSections([section]) }
    /// Begins a binding chain whose bindings apply to each of several sections.
    public func onSections(_ sections: Section...) -> Chain { bindings.onSections(sections) }
    /// Begins a binding chain whose bindings apply to each of several sections.
    public func onSections(_ sections: [Section]) -> Chain { bindings.onSections(sections) }
    /// Begins a binding chain about every section whose cells no `onSection` or `onSections` chain binds.
    public func onAllOtherSections() -> Chain { bindings.on(.allOtherSections) }
    /// Begins the same chain as ``onAllOtherSections()``. Meant for tables that bind no section by name.
    public func onAllSections() -> Chain { bindings.on(.allOtherSections) }
    /// Begins a binding chain about all sections, in addition to the sections' own chains. The chain's dimensions apply
    /// where no other chain sets them, and its tap handlers run after the section's own tap handlers.
    public func onAnySection() -> Chain { bindings.on(.anySection) }

    /// Ends the binding and reads the models for the first time. Call `finish()` once, before any command.
    ///
    /// - Throws: ``Refusal`` with `descriptionInvalid` if the chains have mistakes, for example cells that are bound
    ///   twice or not at all, or a model type that is not the assumed one. ``Refusal`` with `badRequest` if an earlier
    ///   call of `finish()` succeeded. `finish()` also throws the errors that the program's closures throw. If the
    ///   program binds anything after `finish()`, every later command throws.
    public func finish() throws {
        guard bound == nil else { throw Refusal(.badRequest, "The binder is finished already.") }
        let display = Confined((rule: rule, sections: bindings.sections))
        let binder = bindings.binder(display: display.value.rule.behavior.display(display.value.sections))
        var mistakes = bindings.mistakes
        for section in bindings.unbound(among: bindings.declared ?? binder.boundSections) {
            mistakes.append("Nothing binds the cells of the section \"\(section)\".")
        }
        for binding in bindings.bindings {
            if binding.bindsWhatAnySectionCannot {
                mistakes.append("A chain of any section cannot bind cells, headers, footers, editing or moving.")
            }
            guard let assumed = binding.assumedType, let (section, bound) = bindings.mismatch(of: binding, in: binder)
            else { continue }
            mistakes.append(
                "The models of the section \"\(section)\" are of the type \(bound.nameForMessages), not \"\(assumed.string)\"."
            )
        }
        guard mistakes.isEmpty else { throw Refusal(.descriptionInvalid, mistakes.joined(separator: " ")) }
        let isManual = binder.display.behavior == .manuallyManaged, wanted = isManual ? wantedSections : nil
        for section in wanted ?? [] { try bindings.sections.add(section) }
        try attempt {
            let table = try binder.openingTable(displayed: wanted?.map(\.sectionID))
            bound = (binder, table, try binder.snapshot(of: table, revision: 0, now: ""))
        }
        bindings.isFinished = true
        // While the command ran, a closure of the program may have set other displayed sections. Keep these sections
        // for the next refresh.
        if !isManual || wantedSections == wanted { wantedSections = nil }
    }

    // MARK: What is displayed

    /// The rule that decides which sections are displayed, and in which order.
    ///
    /// An assignment after ``finish()`` calls ``setSectionDisplayBehavior(_:)`` and ignores its error.
    public var sectionDisplayBehavior: SectionDisplayBehavior<Section> {
        get { rule.behavior }
        set { _ = try? setSectionDisplayBehavior(newValue) }
    }

    /// Sets the rule that decides which sections are displayed, and in which order. Refreshes the table by the new
    /// rule.
    ///
    /// Before ``finish()`` nothing is refreshed. In a handler, the rule takes effect with the command that runs the
    /// handler. A table that becomes manually managed keeps the sections that it displays, until ``displayedSections``
    /// is set.
    ///
    /// - Returns: the update, from the snapshot before the refresh.
    /// - Throws: what the refresh throws, such as `templateFailed` for an order that loses sections. If the refresh
    ///   throws, the rule and the table do not change.
    @discardableResult
    public func setSectionDisplayBehavior(_ behavior: SectionDisplayBehavior<Section>) throws -> BatchUpdate {
        rule.set(behavior, displayed: bound?.snapshot.sections.map(\.id))
        return bound == nil ? BatchUpdate(from: 0, to: 0, totalRowCount: 0) : try refresh()
    }

    /// The displayed table, which is empty before ``finish()``.
    ///
    /// In the snapshot, a row's `model` is a number that represents the program's model, and a `viewModel` is a number
    /// that represents the program's view model. A different number means a changed model. ``model(at:as:)`` returns
    /// the model itself.
    public var snapshot: Snapshot { bound?.snapshot ?? Snapshot() }

    /// The displayed sections, in order.
    ///
    /// Under `manuallyManaged` the displayed sections can be set. The new value takes effect with ``finish()``, or with
    /// the next ``refresh()`` outside a handler. If the refresh throws, the displayed sections are again the sections
    /// that the table shows. Under the other behaviours, setting the displayed sections does nothing.
    public var displayedSections: [Section] {
        get { wantedSections ?? snapshot.sections.compactMap { try? bindings.sections.section($0.id) } }
        set { if case .manuallyManaged = sectionDisplayBehavior.behavior { wantedSections = newValue } }
    }

    /// Returns the model of a displayed row.
    ///
    /// - Parameters:
    ///   - path: the row's index path in ``snapshot``.
    ///   - as: the model's type.
    /// - Throws: ``Refusal`` with `sectionNotFound`, with `rowNotFound`, or with `modelTypeMismatch` if the row has no
    ///   model of this type.
    public func model<Model>(at path: RowPath, as: Model.Type = Model.self) throws -> Model {
        try bindings.values.model(place(at: path, in: nil).input.model)
    }

    /// Makes and fills the cell of a displayed row, and returns it.
    ///
    /// - Parameters:
    ///   - path: the row's index path.
    ///   - sections: the sections in which `path` counts, if these are not the sections of ``snapshot``. A view that
    ///     has applied only some steps of the last update passes the sections before or after a step
    ///     (``BatchUpdate/Step``).
    /// - Throws: ``Refusal`` with `sectionNotFound` or `rowNotFound`, and what the program's closures throw.
    public func cell(at path: RowPath, in sections: [BraidEngine.Section]? = nil) throws -> any ReuseIdentifiable {
        let (input, binding) = try place(at: path, in: sections)
        guard var cell = try binding.cells.instance?(input) else {
            throw Refusal(.sectionNotFound, "Nothing makes the cells of the section \"\(input.section)\".")
        }
        for fill in binding.onDequeue { try fill(input, &cell) }
        return cell
    }

    /// Makes and fills the header view of a displayed section, and returns it. `nil` if the header is a title or the
    /// section has no header.
    ///
    /// - Parameters:
    ///   - index: the section's index among the displayed sections.
    ///   - sections: the sections in which `index` counts, as in ``cell(at:in:)``.
    /// - Throws: ``Refusal`` with `sectionNotFound`.
    public func headerView(ofSection index: Int, in sections: [BraidEngine.Section]? = nil) throws -> (
        any ReuseIdentifiable
    )? {
        view(try section(index, in: sections).header)
    }

    /// Makes and fills the footer view of a displayed section, and returns it. `nil` if the footer is a title or the
    /// section has no footer.
    ///
    /// - Parameters:
    ///   - index: the section's index among the displayed sections.
    ///   - sections: the sections in which `index` counts, as in ``cell(at:in:)``.
    /// - Throws: ``Refusal`` with `sectionNotFound`.
    public func footerView(ofSection index: Int, in sections: [BraidEngine.Section]? = nil) throws -> (
        any ReuseIdentifiable
    )? {
        view(try section(index, in: sections).footer)
    }

    private func view(_ title: JSONText) -> (any ReuseIdentifiable)? {
        title["viewModel"].flatMap { bindings.values[$0] as? any ShownView }?.view
    }

    private func section(_ index: Int, in sections: [BraidEngine.Section]?) throws(Refusal) -> BraidEngine.Section {
        guard let sections else { return try snapshot.section(.displayed(index)) }
        guard sections.indices.contains(index) else { throw Refusal.noDisplayedSection(index, of: sections.count) }
        return sections[index]
    }

    private func place(at path: RowPath, in sections: [BraidEngine.Section]?) throws(Refusal) -> (
        input: RowInput, binding: SectionBinding
    ) {
        let binder = try requireBound().binder, section = try section(path.section, in: sections)
        guard path.row >= 0, path.row < section.rows.count else {
            throw Refusal.noRow(path.row, in: section.id, of: section.rows.count)
        }
        let binding = try binder.requiredBinding(of: section.id), row = section.rows[path.row]
        // A row that is bound to a view model has no model. The program's closures get the view model as the model.
        let model = row.model ?? row.json["viewModel"] ?? .null
        return (RowInput(section: section.id, row: path.row, count: section.rows.count, model: model), binding)
    }

    // MARK: Commands. Index paths are over displayed sections. Each command returns the update to the new snapshot.

    /// Calls the program's closures again, for models, titles and rules, and updates the table.
    ///
    /// In a handler, `refresh()` does nothing: the models are read again after the command's handlers.
    ///
    /// - Returns: the update, from the snapshot before the refresh.
    /// - Throws: ``Refusal``, and what the program's closures throw.
    @discardableResult
    public func refresh() throws -> BatchUpdate {
        if isUnderWay {
            return BatchUpdate(from: snapshot.revision, to: snapshot.revision, totalRowCount: snapshot.totalRowCount)
        }
        _ = try requireBound()
        let wanted = wantedSections
        // While the command ran, a closure of the program may have set other displayed sections. Keep these sections
        // for the next refresh.
        defer { if wantedSections == wanted { wantedSections = nil } }
        for section in wanted ?? [] { try bindings.sections.add(section) }
        return try perform { binder, table, shown in
            try binder.refreshing(table, shown: shown, displayed: wanted?.map(\.sectionID))
        }
    }

    /// Performs a person's edit of a row, as `tableView(_:commit:forRowAt:)` does: runs `onDelete` or `onInsert`.
    ///
    /// - Parameters:
    ///   - style: the edit. The section's editing rule must allow the edit for this row.
    ///   - path: the row's index path in ``snapshot``. An insert puts the new row at the index path.
    /// - Returns: the update.
    /// - Throws: what the program's closures throw, and ``Refusal`` with one of these codes:
    ///   - `sectionNotFound` or `rowNotFound` if the index path does not exist,
    ///   - `editingNotAllowed`,
    ///   - `handlerContract` unless the handler removed or inserted exactly one model.
    @discardableResult
    public func commit(_ style: EditingStyle, at path: RowPath) throws -> BatchUpdate {
        switch style {
        case .none: throw Refusal(.editingNotAllowed, "There is nothing to commit for the editing style `none`.")
        case .delete: try apply(.delete(RowReference(path)))
        case .insert: try apply(.insert(RowReference(path), model: nil))
        }
    }

    /// Moves a row, as `tableView(_:moveRowAt:to:)` does: runs `onDelete` of the row's section and `onInsert` of the
    /// target's section. A move to the row's own place runs no handler.
    ///
    /// - Parameters:
    ///   - path: the row's index path in ``snapshot``.
    ///   - target: the target's index path. The index path's row counts after the moved row has been taken out.
    /// - Returns: the update.
    /// - Throws: what the program's closures throw, and ``Refusal`` with one of these codes:
    ///   - `sectionNotFound` or `rowNotFound` if an index path does not exist,
    ///   - `moveNotAllowed`,
    ///   - `modelTypeMismatch` if the target section does not accept the row's model type,
    ///   - `handlerContract` if the models did not change as the move requires.
    @discardableResult
    public func move(from path: RowPath, to target: RowPath) throws -> BatchUpdate {
        try apply(.move(RowReference(path), to: RowReference(target)))
    }

    /// Reports a tap on a row: runs the `onTapped` handler of the row's section, then the handlers of `onAnySection()`
    /// chains.
    ///
    /// - Parameter path: the row's index path in ``snapshot``.
    /// - Returns: the update.
    @discardableResult
    public func tap(at path: RowPath) throws -> BatchUpdate { try apply(.tap(RowReference(path))) }

    /// Reports an event that a row's cell emitted: runs the `onEvent(from:)` handler of the most specific chain that
    /// binds a handler for the event.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - path: the row's index path in ``snapshot``.
    /// - Returns: the update.
    /// - Throws: ``Refusal`` with `eventUndeclared` if the row's cell does not emit events of this type.
    @discardableResult
    public func emit<Event: Sendable>(_ event: Event, at path: RowPath) throws -> BatchUpdate {
        func isEvent<Emitter: ViewEventEmitting>(of _: Emitter.Type) -> Bool { Emitter.ViewEvent.self == Event.self }
        try requireIdle()
        let cell = type(of: try cell(at: path))
        guard let emitter = cell as? any ViewEventEmitting.Type, isEvent(of: emitter) else {
            throw Refusal(
                .eventUndeclared, "A cell of the type \(cell) does not emit events of the type \(Event.self).")
        }
        let number = bindings.values.add(event)
        defer { bindings.values.forget(number) }
        return try apply(.event(RowReference(path), name: emitter.eventName, parameters: number))
    }

    /// Reports which rows are on the screen. Rows near a section's end make `prefetch` handlers run.
    ///
    /// - Parameter paths: the rows' index paths in ``snapshot``.
    /// - Returns: the update.
    @discardableResult
    public func willDisplay(_ paths: [RowPath]) throws -> BatchUpdate {
        try apply(.displayedRows(paths.map { RowReference($0) }))
    }

    // MARK: Observing

    /// A stream of every update from now on that makes a new revision, in order. Each access creates a new stream.
    public var updates: AsyncStream<BatchUpdate> { subscribers.stream() }

    /// Returns a closure that returns a sequence's latest element. Bind the returned closure in place of a closure
    /// without parameters, or call it in any other closure that you bind.
    ///
    /// The sequence is read only while ``observe(isolation:)`` runs.
    ///
    /// - Parameters:
    ///   - elements: the sequence.
    ///   - first: the value until the sequence has produced an element.
    public func latest<Elements: AsyncSequence & Sendable>(
        of elements: Elements, initially first: Elements.Element
    ) -> () -> Elements.Element where Elements.Element: Sendable { bindings.latest(of: elements, initially: first) }

    /// Reads the bound sequences, and refreshes the table whenever a sequence produces an element.
    ///
    /// The method returns once all sequences have ended. If a sequence produces several elements while the binder is
    /// busy, only the sequence's last element counts. When the method throws, the other sequences are cancelled, which
    /// ends an `AsyncStream`.
    ///
    /// - Throws: the first error that a sequence or a refresh throws. `CancellationError` if the calling task is cancelled.
    public func observe(isolation: isolated (any Actor)? = #isolation) async throws {
        let sources = bindings.sources
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let reading = Task {
            defer { arrived.finish() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in sources { group.addTask { try await source { arrived.yield() } } }
                // The loop throws the first error at once. The method `waitForAll` of the task group would throw the
                // error of one sequence only after the other sequences have ended.
                for try await _ in group {}
            }
        }
        defer { reading.cancel() }
        for await _ in arrivals { try refresh() }
        try Task.checkCancellation()
        try await reading.value
    }

    // MARK: Execution

    private func requireBound() throws(Refusal) -> (binder: Binder, table: TableModel, snapshot: Snapshot) {
        guard let bound else {
            throw Refusal(.badRequest, "The binder is not finished: call `finish()` once everything is bound.")
        }
        guard bindings.mistakes.isEmpty else {
            throw Refusal(.descriptionInvalid, bindings.mistakes.joined(separator: " "))
        }
        return bound
    }

    private func requireIdle() throws(Refusal) {
        guard !isUnderWay else { throw Refusal(.handlerContract, "A handler cannot give its binder another command.") }
    }

    private func apply(_ command: Command) throws -> BatchUpdate {
        try perform { binder, table, shown in
            try binder.applying(command, to: table, shown: shown, unpublished: nil, now: "", refreshes: true)
        }
    }

    private func perform(_ command: (Binder, TableModel, Snapshot) throws -> Outcome) throws -> BatchUpdate {
        let (binder, table, snapshot) = try requireBound()
        try requireIdle()
        let outcome = try attempt { try command(binder, table, snapshot) }
        if case .applied = outcome.kind {
            bound = (binder, outcome.table, outcome.snapshot)
            subscribers.send(outcome.update)
        }
        return outcome.update
    }

    /// Runs a closure that reads the program's models. If the closure throws, the binder keeps the models that it had
    /// before.
    private func attempt<Result>(_ body: () throws -> Result) throws -> Result {
        isUnderWay = true
        defer { isUnderWay = false }
        do {
            let result = try body()
            for models in bindings.providers { models.commit() }
            bindings.values.commit()
            return result
        } catch {
            for models in bindings.providers { models.rollBack() }
            bindings.values.rollBack()
            throw error
        }
    }
}
