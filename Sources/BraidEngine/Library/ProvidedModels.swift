/// What a model type conforms to; with less, updates are less precise. Source: Braid's tiers of diffing.
struct ModelTraits<Model> {
    /// Without it, rows are known by index, and a change reloads the section (unless `updates(manually: true)`).
    let identity: ((Model) -> String)?
    /// Without it, every model counts as changed at each reading.
    let areEqual: ((Model, Model) -> Bool)?
    /// Equal, and of one identity. By pointers: copies would count references.
    let areSame: ((UnsafePointer<Model>, UnsafePointer<Model>) -> Bool)?

    init() {
        func identity<Known: CollectionIdentifiable>(_: Known.Type) -> (Model) -> String {
            { unsafeBitCast($0, to: Known.self).collectionId }  // `Known` and `Model` are the same type
        }
        func equality<Known: Equatable>(_: Known.Type) -> (Model, Model) -> Bool {
            { unsafeBitCast($0, to: Known.self) == unsafeBitCast($1, to: Known.self) }
        }
        func sameness<Known: Equatable>(_: Known.Type) -> (UnsafePointer<Model>, UnsafePointer<Model>) -> Bool {
            { Borrowed<Known>.areEqual(Borrowed.at($0).pointee, Borrowed.at($1).pointee) }
        }
        func sameness<Known: Equatable & CollectionIdentifiable>(of _: Known.Type) -> (
            UnsafePointer<Model>, UnsafePointer<Model>
        ) -> Bool {
            { Borrowed<Known>.areSame(Borrowed.at($0).pointee, Borrowed.at($1).pointee) }
        }
        if let known = Model.self as? any (Equatable & CollectionIdentifiable).Type {
            areSame = sameness(of: known)
        } else {
            areSame = (Model.self as? any Equatable.Type).map { sameness($0) }
        }
        self.identity = (Model.self as? any CollectionIdentifiable.Type).map { identity($0) }
        areEqual = (Model.self as? any Equatable.Type).map { equality($0) }
    }
}

/// A model in a list. What is not copyable is borrowed: `pointee` of a copyable type counts references, which takes
/// twice as long as comparing.
private struct Borrowed<Known>: ~Copyable {
    private let model: Known

    /// `Known` and `Model` are the same type.
    static func at<Model>(_ pointer: UnsafePointer<Model>) -> UnsafePointer<Borrowed> {
        UnsafeRawPointer(pointer).assumingMemoryBound(to: Borrowed.self)
    }
}

extension Borrowed where Known: Equatable {
    static func areEqual(_ left: borrowing Borrowed, _ right: borrowing Borrowed) -> Bool { left.model == right.model }
}

extension Borrowed where Known: Equatable & CollectionIdentifiable {
    static func areSame(_ left: borrowing Borrowed, _ right: borrowing Borrowed) -> Bool {
        left.model == right.model && RowID(left.model.collectionId) == RowID(right.model.collectionId)
    }
}

/// What a chain's `models` closure gives, and where it differs from the last reading.
final class ProvidedModels<Section: TableSection, Model>: ModelProvider, @unchecked Sendable {
    private let bindings: ProgramBindings<Section>
    /// Position in `bindings`.
    private let chain: Int
    private let provided: () throws -> [Section: [Model]]
    let traits = ModelTraits<Model>()
    /// `nil` with one cell type.
    var cells: ProvidedCells?
    private(set) var sections: Set<SectionID> = []
    /// What the table shows; `pending` if the command succeeds.
    private var held: [SectionID: [Model]] = [:]
    private var pending: [SectionID: [Model]]?
    private var changes: [Change] = []
    /// Numbers removed or replaced.
    private var departed: [JSONText] = []

    private struct Change {
        var section: SectionID
        var models: [Model]
        var oldCount: Int
        /// Where they differ, ascending.
        var stretches: [TableEditor.Stretch]
    }

    init(bindings: ProgramBindings<Section>, chain: Int, _ provided: @escaping () throws -> [Section: [Model]]) {
        self.bindings = bindings
        self.chain = chain
        self.provided = provided
    }

    func commit() {
        if let pending {
            held = pending
            cells?.dropNames { held[$0]?.count ?? 0 }
        }
        pending = nil
    }

    func rollBack() { pending = nil }

    func read(_ table: TableModel, _ departures: inout Departures) throws {
        cells?.dropCells()
        let before = pending ?? held
        var read: [(section: SectionID, models: [Model])] = []
        for (section, models) in try provided() {
            try bindings.sections.add(section)
            try requireOwn(section.sectionID)
            read.append((section.sectionID, models))
        }
        sections = Set(read.map(\.section))
        guard sections.count == read.count else {
            throw Refusal(
                .badRequest,
                "Models were given for two sections with the same id, among \(read.map { "\"\($0.section)\"" }.sorted().joined(separator: ", "))."
            )
        }
        for (section, models) in before where !models.isEmpty && !sections.contains(section) {
            read.append((section, []))
        }
        // A dictionary's order differs between runs.
        read.sort { $0.section < $1.section }
        changes = []
        departed = []
        for (section, models) in read {
            let old = before[section] ?? []
            // `nil` if something else changed the rows: `place` then refuses the command, if there are changes.
            let stored = table[section].flatMap { $0.rows.count == old.count ? $0 : nil }
            guard let change = change(from: old, to: models, in: section, stored) else { continue }
            if let stored {
                for stretch in change.stretches {
                    stored.rows.forEach(in: stretch.old) { _, row in
                        departures.add(row)
                        departed.append(row.model)
                    }
                }
            }
            changes.append(change)
        }
        pending = before
        for change in changes { pending?[change.section] = change.models }
    }

    private func requireOwn(_ section: SectionID) throws(Refusal) {
        guard bindings.isOwn(section, of: chain) else {
            throw Refusal(
                .sectionNotFound,
                "Models were given for the section \"\(section)\", which is not in the scope of their binding chain.")
        }
    }

    private func change(from old: [Model], to new: [Model], in section: SectionID, _ stored: StoredSection?) -> Change?
    {
        guard let areSame = traits.areSame else {
            return old.isEmpty && new.isEmpty
                ? nil
                : Change(section: section, models: new, oldCount: old.count, stretches: [(old.indices, new.indices)])
        }
        if old.hasSameStorage(as: new) { return nil }
        let identities = stored.flatMap { stored in
            traits.identity.map { identity in
                Identities(
                    areSame: { stored.rows[$0].content.has(RowID(identity(new[$1]))) },
                    old: { stored.index(of: RowID(identity(new[$0]))) })
            }
        }
        let stretches = old.withUnsafeBufferPointer { old in
            new.withUnsafeBufferPointer { new in
                Self.stretches(old.count, new.count, identities) { oldIndex, newIndex in
                    // Never called with empty lists.
                    guard let old = old.baseAddress, let new = new.baseAddress else { return false }
                    return areSame(old + oldIndex, new + newIndex)
                }
            }
        }
        return stretches.isEmpty
            ? nil : Change(section: section, models: new, oldCount: old.count, stretches: stretches)
    }

    /// Compares by identity, not content.
    private struct Identities {
        let areSame: (_ old: Int, _ new: Int) -> Bool
        /// Index of the old model with the new one's identity.
        let old: (_ new: Int) -> Int?
    }

    /// Where two lists differ, ascending.
    private static func stretches(
        _ oldCount: Int, _ newCount: Int, _ ids: Identities?, isSame: (_ old: Int, _ new: Int) -> Bool
    ) -> [TableEditor.Stretch] {
        let shorter = min(oldCount, newCount)
        var prefix = 0, suffix = 0
        while prefix < shorter, isSame(prefix, prefix) { prefix += 1 }
        if prefix == oldCount, prefix == newCount { return [] }
        while suffix < shorter - prefix, isSame(oldCount - 1 - suffix, newCount - 1 - suffix) { suffix += 1 }

        let end = (old: oldCount - suffix, new: newCount - suffix)
        /// The next equal pair, at most eight ahead: changes are mostly few in a row.
        func nearest(_ at: (old: Int, new: Int)) -> (old: Int, new: Int)? {
            for distance in 1...8 {
                for shorter in stride(from: distance, through: 0, by: -1) {
                    for next in [(at.old + distance, at.new + shorter), (at.old + shorter, at.new + distance)]
                    where next.0 < end.old && next.1 < end.new && isSame(next.0, next.1) { return next }
                }
            }
            return nil
        }
        /// A later pair of one identity. Looks twice as far each time, to skip blocks quickly.
        func further(_ at: (old: Int, new: Int), _ ids: Identities) -> (old: Int, new: Int)? {
            var best: (old: Int, new: Int, passed: Int)?, distance = 0
            while at.new + distance < end.new, distance < best?.passed ?? .max {
                if let old = ids.old(at.new + distance), (at.old..<end.old).contains(old),
                    old - at.old + distance < best?.passed ?? .max
                {
                    best = (old, at.new + distance, old - at.old + distance)
                }
                distance = max(1, 2 * distance)
            }
            guard var (old, new, _) = best else { return nil }
            while old > at.old, new > at.new, isSame(old - 1, new - 1) { (old, new) = (old - 1, new - 1) }
            return (old, new)
        }
        var stretches: [TableEditor.Stretch] = []
        var at = (old: prefix, new: prefix), start = at
        // Bounds the time for lists with little in common: a search by id costs 8, a miss without ids 1.
        var looks = 64 + shorter / 16
        while at != end {
            if at.old < end.old, at.new < end.new, isSame(at.old, at.new) {
                stretches.append((start.old..<at.old, start.new..<at.new))
                repeat {
                    at = (at.old + 1, at.new + 1)
                } while at.old < end.old && at.new < end.new && isSame(at.old, at.new)
                start = at
            } else if at.old < end.old, at.new < end.new, let ids, ids.areSame(at.old, at.new) {
                at = (at.old + 1, at.new + 1)
            } else if let next = nearest(at) {
                at = next
            } else if looks > 0, let ids {
                looks -= 8
                at = further(at, ids) ?? end
            } else if looks > 0, at.old < end.old, at.new < end.new {
                looks -= 1
                at = (at.old + 1, at.new + 1)
            } else {
                at = end
            }
        }
        if start != end { stretches.append((start.old..<end.old, start.new..<end.new)) }
        return stretches
    }

    func place(into editor: inout TableEditor, _ departures: inout Departures) throws {
        for change in changes { try place(change, into: &editor, &departures) }
        changes = []
    }

    func settle(_ departures: Departures) {
        for number in departed where !departures.isKept(number) { bindings.values.retire(number) }
        departed = []
    }

    private func place(_ change: Change, into editor: inout TableEditor, _ departures: inout Departures) throws {
        let section = change.section
        try editor.ensureSection(section)
        guard let stored = editor.table[section], stored.rows.count == change.oldCount else {
            throw Refusal(
                .handlerContract,
                "The section \"\(section)\" has other rows than its models: they were changed by something else.")
        }
        var arrivals: [TableEditor.Model] = []
        for stretch in change.stretches {
            for place in stretch.new {
                let model = change.models[place]
                if let identity = traits.identity {
                    let id = RowID(identity(model))
                    arrivals.append((id, departures.take(id) { isSame($0, model) } ?? bindings.values.add(model)))
                    continue
                }
                let index = stretch.old.lowerBound + place - stretch.new.lowerBound
                if index < stretch.old.upperBound, isSame(stored.rows[index].model, model) {
                    arrivals.append((nil, departures.keep(stored.rows[index].model)))
                } else {
                    arrivals.append((nil, bindings.values.add(model)))
                }
            }
        }
        try editor.replace(change.stretches, with: arrivals[...], in: section)
    }

    /// False if they cannot be compared.
    private func isSame(_ number: JSONText, _ model: Model) -> Bool {
        guard let areEqual = traits.areEqual, let known = bindings.values[number] as? Model else { return false }
        return areEqual(known, model)
    }
}

/// What a chain's closure gave at the last reading.
class ProvidedValues<Section: TableSection, Value>: ModelProvider, @unchecked Sendable {
    fileprivate let bindings: ProgramBindings<Section>
    fileprivate let chain: Int
    private let provided: () throws -> [Section: Value]
    private var values: [SectionID: Value] = [:]

    init(bindings: ProgramBindings<Section>, chain: Int, _ provided: @escaping () throws -> [Section: Value]) {
        self.bindings = bindings
        self.chain = chain
        self.provided = provided
    }

    var sections: Set<SectionID> { Set(values.keys) }

    /// `nil` if left out.
    subscript(section: SectionID) -> Value? { values[section] }

    func read(_ table: TableModel, _ departures: inout Departures) throws {
        values = [:]
        for (section, value) in try provided() where bindings.isOwn(section.sectionID, of: chain) {
            try bindings.sections.add(section)
            values.updateValue(value, forKey: section.sectionID)
        }
    }

    func place(into editor: inout TableEditor, _ departures: inout Departures) throws {}
    func settle(_ departures: Departures) {}
    func commit() {}
    func rollBack() {}
}

/// Numbers of cells. `prefetch` can run again when there are fewer than at its last run.
final class CountedSections<Section: TableSection>: ProvidedValues<Section, Int>, @unchecked Sendable {
    var cells: ProvidedCells?

    override func read(_ table: TableModel, _ departures: inout Departures) throws {
        cells?.dropCells()
        try super.read(table, &departures)
    }

    override func place(into editor: inout TableEditor, _ departures: inout Departures) throws {
        for section in editor.table.sections where bindings.isOwn(section.id, of: chain) {
            try editor.noteFilled(section.id, rows: self[section.id] ?? 0)
        }
    }

    override func commit() { cells?.dropNames { self[$0] ?? 0 } }
}

extension ProgramBindings {
    /// Whether the chain may provide it.
    fileprivate func isOwn(_ section: SectionID, of chain: Int) -> Bool {
        let scope = bindings[chain].scope
        switch scope {
        case .table, .sections: return scope.named(in: declared).contains(section)
        case .allOtherSections: return owner(of: section) == nil
        case .anySection: return false
        }
    }
}
