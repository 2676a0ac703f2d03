/// A table that a Swift program binds with closures, without a server.
///
/// ```swift
/// enum Section: String, TableSection, CaseIterable { case attending, invited }
///
/// let binder = SectionedTableBinder(sectionedBy: Section.self)
/// binder.onAllSections()
///     .bind(cellType: AttendeeCell.self, models: { [.attending: attending, .invited: invited] })
///     .onDequeue { section, row, cell, person in cell.title = person.name }
/// try binder.finish()
///
/// attending.append(person)
/// let update = try binder.refresh()
/// ```
/// Not `Sendable`: closures run where you call it. A command that throws does not change the table; undo what its
/// handlers did to your data, or the next ``refresh()`` shows it. Handlers cannot give commands.
///
/// Source: Braid's `SectionedTableViewBinder`; ``snapshot`` and updates replace its table view.
public final class SectionedTableBinder<Section: TableSection> {
    let bindings: ProgramBindings<Section>
    private let rule = DisplayRule<Section>()
    private var bound: (binder: Binder, table: TableModel, snapshot: Snapshot)?
    private var wantedSections: [Section]?
    private var isUnderWay = false
    private let subscribers = Subscribers()

    /// Declared sections, in the order of the cases.
    public convenience init(sectionedBy: Section.Type) where Section: CaseIterable {
        self.init(Array(Section.allCases))
    }

    /// Dynamic sections: they exist while a chain names them or the models have them as keys.
    public convenience init(sectionedBy: Section.Type) { self.init(nil) }

    init(_ sections: [Section]?) {
        bindings = ProgramBindings(sections: sections)
        bindings.providers.append(rule)
        // A value's update closure cannot throw: the next command reads the value again and throws the same.
        bindings.refresh = { [weak self] in _ = try? self?.refresh() }
    }

    deinit { subscribers.finish() }

    // MARK: Binding

    /// A chain without cells.
    public typealias Chain = BindingChain<Section, any ReuseIdentifiable, Never>

    /// About one section: models can be an array.
    public func onSection(_ section: Section) -> Chain { bindings.onSections([section]) }
    /// About each of these.
    public func onSections(_ sections: Section...) -> Chain { bindings.onSections(sections) }
    /// About each of these.
    public func onSections(_ sections: [Section]) -> Chain { bindings.onSections(sections) }
    /// About the sections whose cells no `onSection` or `onSections` chain binds.
    public func onAllOtherSections() -> Chain { bindings.on(.allOtherSections) }
    /// As ``onAllOtherSections()``, for tables that bind no section by name.
    public func onAllSections() -> Chain { bindings.on(.allOtherSections) }
    /// About all sections, in addition: dimensions where no other chain sets them, tap handlers after the section's
    /// own.
    public func onAnySection() -> Chain { bindings.on(.anySection) }

    /// Ends the binding and reads the models; later bindings make every command throw.
    ///
    /// - Throws: ``Refusal`` `descriptionInvalid` for mistakes, such as cells bound twice or not at all; `badRequest`
    ///   the second time; and what the closures throw.
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
        // A closure may have set others meanwhile: keep them for the next refresh.
        if !isManual || wantedSections == wanted { wantedSections = nil }
    }

    // MARK: What is displayed

    /// Which sections are displayed. Assigning ignores the error of ``setSectionDisplayBehavior(_:)``.
    public var sectionDisplayBehavior: SectionDisplayBehavior<Section> {
        get { rule.behavior }
        set { _ = try? setSectionDisplayBehavior(newValue) }
    }

    /// Sets which sections are displayed, and refreshes a finished table; in a handler, with the command. When it
    /// becomes manually managed, it keeps its sections until ``displayedSections`` is set.
    ///
    /// - Throws: what the refresh throws, such as `templateFailed` for an order that loses sections; nothing changes.
    @discardableResult
    public func setSectionDisplayBehavior(_ behavior: SectionDisplayBehavior<Section>) throws -> BatchUpdate {
        rule.set(behavior, displayed: bound?.snapshot.sections.map(\.id))
        return bound == nil ? BatchUpdate(from: 0, to: 0, totalRowCount: 0) : try refresh()
    }

    /// What is displayed; empty before ``finish()``. `model` and `viewModel` are numbers that stand for the program's;
    /// another number means a change. See ``model(at:as:)``.
    public var snapshot: Snapshot { bound?.snapshot ?? Snapshot() }

    /// The displayed sections, in order. With `manuallyManaged` you can set them, with effect at ``finish()`` or the
    /// next ``refresh()`` outside a handler; if that throws, they are reset. Otherwise setting does nothing.
    public var displayedSections: [Section] {
        get { wantedSections ?? snapshot.sections.compactMap { try? bindings.sections.section($0.id) } }
        set { if case .manuallyManaged = sectionDisplayBehavior.behavior { wantedSections = newValue } }
    }

    /// A row's model. Throws ``Refusal`` `sectionNotFound`, `rowNotFound`, or `modelTypeMismatch` if there is none of
    /// this type.
    public func model<Model>(at path: RowPath, as: Model.Type = Model.self) throws -> Model {
        try bindings.values.model(place(at: path, in: nil).input.model)
    }

    /// Makes and fills a row's cell. Pass `sections` if the view has applied only some steps of an update: those before
    /// or after a step (``BatchUpdate/Step``), in which `path` counts.
    ///
    /// - Throws: ``Refusal`` `sectionNotFound` or `rowNotFound`, and what the closures throw.
    public func cell(at path: RowPath, in sections: [BraidEngine.Section]? = nil) throws -> any ReuseIdentifiable {
        let (input, binding) = try place(at: path, in: sections)
        guard var cell = try binding.cells.instance?(input) else {
            throw Refusal(.sectionNotFound, "Nothing makes the cells of the section \"\(input.section)\".")
        }
        for fill in binding.onDequeue { try fill(input, &cell) }
        return cell
    }

    /// A header view, as ``cell(at:in:)``. `nil` for a title or none.
    public func headerView(ofSection index: Int, in sections: [BraidEngine.Section]? = nil) throws -> (
        any ReuseIdentifiable
    )? {
        view(try section(index, in: sections).header)
    }

    /// A footer view, as ``cell(at:in:)``. `nil` for a title or none.
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
        // Closures get a view model as the model.
        let model = row.model ?? row.json["viewModel"] ?? .null
        return (RowInput(section: section.id, row: path.row, count: section.rows.count, model: model), binding)
    }

    // MARK: Commands. Index paths are those of `snapshot`. Each command returns the update to the new one.

    /// Calls the closures again and updates the table; does nothing in a handler, after which that happens anyway.
    /// Throws ``Refusal``, and what the closures throw.
    @discardableResult
    public func refresh() throws -> BatchUpdate {
        if isUnderWay {
            return BatchUpdate(from: snapshot.revision, to: snapshot.revision, totalRowCount: snapshot.totalRowCount)
        }
        _ = try requireBound()
        let wanted = wantedSections
        // A closure may have set others meanwhile: keep them for the next refresh.
        defer { if wantedSections == wanted { wantedSections = nil } }
        for section in wanted ?? [] { try bindings.sections.add(section) }
        return try perform { binder, table, shown in
            try binder.refreshing(table, shown: shown, displayed: wanted?.map(\.sectionID))
        }
    }

    /// A person's edit, as `tableView(_:commit:forRowAt:)`: runs `onDelete`, or `onInsert` for a new row here.
    ///
    /// - Throws: what the closures throw; ``Refusal`` `sectionNotFound`, `rowNotFound`, `editingNotAllowed`, or
    ///   `handlerContract` unless exactly one model left or came.
    @discardableResult
    public func commit(_ style: EditingStyle, at path: RowPath) throws -> BatchUpdate {
        switch style {
        case .none: throw Refusal(.editingNotAllowed, "There is nothing to commit for the editing style `none`.")
        case .delete: try apply(.delete(RowReference(path)))
        case .insert: try apply(.insert(RowReference(path), model: nil))
        }
    }

    /// Moves a row, as `tableView(_:moveRowAt:to:)`: runs `onDelete`, then the target's `onInsert`. `target` counts
    /// without the row; in its own place, nothing runs.
    ///
    /// - Throws: what the closures throw; ``Refusal`` `sectionNotFound`, `rowNotFound`, `moveNotAllowed`,
    ///   `modelTypeMismatch`, or `handlerContract` if the models did not change accordingly.
    @discardableResult
    public func move(from path: RowPath, to target: RowPath) throws -> BatchUpdate {
        try apply(.move(RowReference(path), to: RowReference(target)))
    }

    /// Runs the section's `onTapped`, then those of `onAnySection()`.
    @discardableResult
    public func tap(at path: RowPath) throws -> BatchUpdate { try apply(.tap(RowReference(path))) }

    /// A cell's event: runs the most specific chain's `onEvent(from:)`. Throws ``Refusal`` `eventUndeclared` if the
    /// cell does not emit this type.
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

    /// Tells which rows are on screen: near a section's end, `prefetch` runs.
    @discardableResult
    public func willDisplay(_ paths: [RowPath]) throws -> BatchUpdate {
        try apply(.displayedRows(paths.map { RowReference($0) }))
    }

    // MARK: Observing

    /// A new stream of every update that makes a revision, from now on.
    public var updates: AsyncStream<BatchUpdate> { subscribers.stream() }

    /// A closure that returns the latest element, at first `first`, to bind or to call. ``observe(isolation:)`` reads
    /// the sequence.
    public func latest<Elements: AsyncSequence & Sendable>(
        of elements: Elements, initially first: Elements.Element
    ) -> () -> Elements.Element where Elements.Element: Sendable { bindings.latest(of: elements, initially: first) }

    /// Reads the bound sequences, and refreshes at each element (while busy, only for the last) until all have ended.
    /// Throws the first error, or `CancellationError`; the others are then cancelled, which ends an `AsyncStream`.
    public func observe(isolation: isolated (any Actor)? = #isolation) async throws {
        let sources = bindings.sources
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let reading = Task {
            defer { arrived.finish() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in sources { group.addTask { try await source { arrived.yield() } } }
                // The first error at once; `waitForAll` would wait.
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

    /// Runs a command; if it throws, the program's models count as not read.
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
