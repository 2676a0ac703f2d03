/// What a table displays, and what may be edited and moved there. Made from its bindings.
public struct Binder: Sendable {
    /// By default only the templates' steps are limited.
    public var limits = TableLimits()
    /// The snapshot's `empty` while no rows are displayed.
    private(set) var empty: JSONText?
    /// Updates say who made them.
    var showsAuthors = false
    /// Who looks. `nil` if the display does not read that.
    private(set) var viewer: Viewer?
    /// It is the table of one viewer, not the session's.
    private(set) var isOwn = false
    /// The table's rows were rendered by these bindings before, without failing: those of long sections need no JSON.
    var rowsWereRendered = false
    private let definition: Definition

    /// Resolves each section's bindings once; evaluates `display` at every use.
    init(
        sections: [SectionID]?, display: @autoclosure @escaping @Sendable () -> SectionDisplay, empty: JSONText?,
        cells: CellDeclarations,
        bindings: [ScopeBinding], providers: [any ModelProvider] = [], viewers: ViewerParts = ViewerParts()
    ) {
        self.empty = empty
        definition = Definition(
            sections: sections, display: display, cells: cells, bindings: bindings, providers: providers,
            viewers: viewers)
        if readsViewer { viewer = definition.controller }
    }

    /// What all copies share. A class: each stage of a command holds a binder, and a copy would count the references of
    /// all its parts.
    private final class Definition: Sendable {
        let declaredSections: [SectionID]?
        let boundSections: [SectionID]
        let titledSections: Set<SectionID>
        let cells: CellDeclarations
        let providers: [any ModelProvider]
        let reads: Reads
        let asksMovePolicy: Bool
        let derivedSections: [SectionID]
        let derivesOtherSections: Bool
        let viewers: ViewerParts
        /// Sees the session's own table.
        let controller: Viewer
        /// What can differ between two viewers, besides `user` and `view`.
        let viewerReads: Reads
        /// What `where` reads; `nil` without one.
        let filterReads: Reads?
        let display: @Sendable () -> SectionDisplay
        let named: [SectionID: SectionBinding]
        let other: SectionBinding?

        init(
            sections: [SectionID]?, display: @escaping @Sendable () -> SectionDisplay, cells: CellDeclarations,
            bindings: [ScopeBinding], providers: [any ModelProvider], viewers: ViewerParts
        ) {
            self.viewers = viewers
            controller = viewers.viewer(user: Viewer.controller, view: viewers.defaults)
            declaredSections = sections
            self.display = display
            self.cells = cells
            self.providers = providers
            var known: Set<SectionID> = []
            boundSections = bindings.flatMap { $0.scope.named(in: sections) }.filter { known.insert($0).inserted }
            titledSections = bindings.reduce(into: []) { titled, binding in
                if binding.scope == .allOtherSections {
                    titled.formUnion(Array(binding.headers.keys) + binding.footers.keys)
                }
            }
            let fallbacks = FallbackBindings(of: bindings)
            var naming: [SectionID: [ScopeBinding]] = [:]
            for id in sections ?? [] { naming[id] = [] }
            for binding in bindings {
                for id in Set(binding.scope.named(in: sections)) { naming[id, default: []].append(binding) }
                // A title by id is resolved even for a section that no scope names.
                for id in Set(binding.headers.keys).union(binding.footers.keys) where naming[id] == nil {
                    naming[id] = []
                }
            }
            var named: [SectionID: SectionBinding] = [:]
            for (id, bindings) in naming {
                named[id] = SectionBinding(section: id, named: bindings, fallbacks: fallbacks)
            }
            self.named = named
            other = SectionBinding(section: SectionID(""), named: [], fallbacks: fallbacks)
            derivedSections = named.values.filter { !$0.cells.source.isStored }.map(\.section)
            derivesOtherSections = sections == nil && other.map { !$0.cells.source.isStored } ?? false
            let all = [other].compactMap { $0 } + named.values
            reads = all.reduce(into: display().order.reads) {
                $0.formUnion($1.rowReads.union($1.titleReads).union($1.moveReads))
            }
            asksMovePolicy = all.contains(where: \.asksMovePolicy)
            let filters = all.compactMap { binding in
                if case .selected(let selection) = binding.cells.source { selection.exists } else { nil }
            }
            let filterReads = filters.reduce(into: Reads()) { $0.formUnion($1.reads) }
            self.filterReads = filters.isEmpty ? nil : filterReads
            viewerReads = filterReads.isDisjoint(with: .viewer) ? .viewer : [.viewer, .models]
        }
    }

    /// In order; `nil` if sections come with the models.
    public var declaredSections: [SectionID]? { definition.declaredSections }
    /// A program can change it between two commands, and in a handler.
    public var display: SectionDisplay { definition.display() }
    var boundSections: [SectionID] { definition.boundSections }
    /// Those that a binding of `allOtherSections` gives a header or footer by id.
    var titledSections: Set<SectionID> { definition.titledSections }
    var cells: CellDeclarations { definition.cells }
    var providers: [any ModelProvider] { definition.providers }
    /// What any row, title, move policy or the order reads.
    var reads: Reads { definition.reads }
    /// Some move policy is a condition, which can depend on other sections.
    var asksMovePolicy: Bool { definition.asksMovePolicy }
    /// Declared or named, but without stored rows.
    var derivedSections: [SectionID] { definition.derivedSections }
    /// Sections are dynamic, and those that no binding names have no stored rows.
    var derivesOtherSections: Bool { definition.derivesOtherSections }

    /// What expressions' `models`, without rows that `where` hides, depend on. `nil` if it hides none.
    var filterReads: Reads? { definition.filterReads }
    /// Whether people can see different tables.
    package var readsViewer: Bool { !definition.reads.isDisjoint(with: .viewer) }
    /// Whether some people may not know of some rows.
    package var hidesRows: Bool { readsViewer || filterReads != nil }
    func readsViewer(_ reads: Reads) -> Bool { !reads.isDisjoint(with: definition.viewerReads) }

    /// Who sees a table of their own. `nil`: they see the session's.
    ///
    /// - Parameters:
    ///   - user: `{"id", "name", "role", "claims"}`, as ``User/json``.
    ///   - view: What the client chose; `nil` for the description's.
    /// - Throws: `badRequest` for a view that the description does not allow.
    package func viewer(_ user: JSONText, view: JSONText?) throws(Refusal) -> Viewer? {
        let viewers = definition.viewers, view = try view.map { given throws(Refusal) in try viewers.view(given) }
        guard readsViewer else { return nil }
        let viewer = viewers.viewer(user: user, view: view ?? viewers.defaults)
        return viewer == definition.controller ? nil : viewer
    }

    /// A copy that renders what somebody sees; `nil` sees the session's table.
    package func seen(by viewer: Viewer?) -> Binder {
        guard let viewer else { return self }
        var binder = self
        binder.viewer = viewer
        binder.isOwn = true
        return binder
    }

    /// A copy with another `empty`.
    public func showing(empty: JSONText?) -> Binder {
        var binder = self
        binder.empty = empty
        return binder
    }

    package var readsNow: Bool { reads.contains(.now) }

    func binding(of section: SectionID) -> SectionBinding? {
        definition.named[section] ?? (definition.declaredSections == nil ? definition.other : nil)
    }

    func requiredBinding(of section: SectionID) throws(Refusal) -> SectionBinding {
        guard let binding = binding(of: section) else {
            if let declaredSections { throw .noSection(section, among: declaredSections) }
            throw Refusal(
                .sectionNotFound,
                "No binding binds the cells of the section \"\(section)\". Bind them, or name another section.")
        }
        return binding
    }

    func checkEvent(_ event: String, of cell: String, _ parameters: JSONText) throws(Refusal) {
        let declaration = cells[cell]
        guard let schema = declaration?.events[UTF8Key(event)] ?? declaration?.otherEvents else {
            let declared = listed(
                declaration?.events.keys.map(\.string).sorted() ?? [], none: "declares no events",
                one: "declares only", many: "declares")
            throw Refusal(.eventUndeclared, "The cell \"\(cell)\" declares no event \"\(event)\". It \(declared).")
        }
        let mismatches = schema.errorIndicators(of: parameters.value())
        guard mismatches.isEmpty else {
            throw Refusal(
                .eventInvalid,
                "The parameters of the event \"\(event)\" do not match the schema that the cell \"\(cell)\" declares.",
                faults: mismatches.map(\.fault))
        }
    }

    func identified(_ model: JSONText, in section: SectionID) throws(Refusal) -> (id: RowID?, model: JSONText) {
        (try requiredBinding(of: section).modelType.identify(model), model)
    }

    func identified(_ models: [JSONText], in section: SectionID, at pointer: JSONPointer) throws(Refusal) -> [(
        id: RowID?, model: JSONText
    )] {
        let type = try requiredBinding(of: section).modelType
        var identified: [(id: RowID?, model: JSONText)] = []
        identified.reserveCapacity(models.count)
        for (index, model) in models.enumerated() {
            do throws(Refusal) {
                identified.append((try type.identify(model), model))
            } catch {
                throw error.placed(at: pointer.appending(index))
            }
        }
        return identified
    }

    /// The models that fit, and the faults of the others, at `/section/index`. Of several with one id the first fits;
    /// rows of `stored` may keep ids that are otherwise not allowed.
    func fitting(_ models: some Sequence<JSONText>, in section: SectionID, of stored: StoredSection? = nil) -> (
        models: [TableEditor.Model], faults: [Refusal.Fault]
    ) {
        guard let type = binding(of: section)?.modelType else { return ([], []) }
        var fitting: [TableEditor.Model] = [], faults: [Refusal.Fault] = [], seen: Set<RowID> = []
        for (index, model) in models.enumerated() {
            let pointer = JSONPointer.root.appending(section.text).appending(index)
            do throws(Refusal) {
                let id = try type.identify(model)
                if let id, !seen.insert(id).inserted {
                    faults.append(
                        .init(
                            pointer: pointer, code: .duplicate,
                            detail: "the section has a model with the id \"\(id)\" already"))
                } else if limits.checksIDs, let id, !IDRule.admits(id.text), stored?.contains(id) != true {
                    faults.append(
                        .init(
                            pointer: pointer, code: .invalidValue,
                            detail: "the id would be \(IDRule.shown(id.text)), but an id has \(IDRule.text)"))
                } else {
                    fitting.append((id, model))
                }
            } catch {
                faults += error.placed(at: pointer).faults
            }
        }
        return (fitting, faults)
    }
}

// Finds displayed rows by id, through the stored table's index.
extension Binder {
    /// O(1) if all sections are displayed in stored order, O(log sections) if some are, otherwise O(sections).
    func displayedPlace(of id: SectionID, in shown: Snapshot, of table: TableModel) -> Int? {
        if let position = table.position(of: id) {
            if position < shown.sections.count, shown.sections[position].id == id { return position }
            let place = shown.sections.firstPosition { table.position(of: $0.id) ?? .max >= position }
            if place < shown.sections.count, shown.sections[place].id == id { return place }
        }
        return shown.sections.firstIndex { $0.id == id }
    }

    /// Ascending. Some may not display the row after all.
    func displayedPlaces(ofSectionsThatMayShow id: RowID, in shown: Snapshot, of table: TableModel) -> [Int] {
        let all = shown.sections.indices
        guard all.count > TableModel.fewSections, !derivesOtherSections else { return Array(all) }
        let sections = table.positions(ofSectionsWith: id).map { table.sections[$0].id } + derivedSections
        // Finding a place can cost as much as looking at a few hundred sections.
        guard sections.count <= 16 else { return Array(all) }
        return Set(sections.compactMap { displayedPlace(of: $0, in: shown, of: table) }).sorted()
    }

    /// The first row with the id. `table` must be the one from which `section` was rendered. O(log² rows), or O(rows)
    /// if ``examinesRows(in:)``.
    func displayedIndex(of id: RowID, in section: Section, of table: TableModel) -> Int? {
        switch binding(of: section.id)?.cells.source {
        case .stored: return table[section.id]?.index(of: id)
        case .selected:
            guard let stored = table[section.id], let index = stored.index(of: id) else { return nil }
            return section.places?.index(of: stored.rows[index], in: stored)
        case .counted: return nil
        case .derived, nil: return section.rows.indexes(of: id).first
        }
    }

    /// Whether ``displayedIndex(of:in:of:)`` looks at the rows one by one.
    func examinesRows(in section: Section) -> Bool {
        switch binding(of: section.id)?.cells.source {
        case .stored, .selected, .counted: false
        case .derived, nil: true
        }
    }
}
