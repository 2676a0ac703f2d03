/// What a model type says of its models. The less it says, the coarser the updates (Braid's tiers of diffing).
struct ModelTraits<Model> {
    /// Nil: rows have no identity. They are told apart by their places, and a section in which anything changed is
    /// reloaded.
    let identity: ((Model) -> String)?
    /// Nil: any model may have changed, whenever the models are read.
    let areEqual: ((Model, Model) -> Bool)?
    /// Whether two models are equal and, if they have identity, stand for the same thing: equal ones need not. Nil
    /// where `areEqual` is. By address, as a program may have many models, and a copy of one counts references.
    let areSame: ((UnsafePointer<Model>, UnsafePointer<Model>) -> Bool)?

    init() {
        // Found once for each chain, so that a model costs a call, and not a look at its conformances.
        func identity<Known: CollectionIdentifiable>(_: Known.Type) -> (Model) -> String {
            { unsafeBitCast($0, to: Known.self).collectionId }  // Known is Model
        }
        func equality<Known: Equatable>(_: Known.Type) -> (Model, Model) -> Bool {
            { unsafeBitCast($0, to: Known.self) == unsafeBitCast($1, to: Known.self) }
        }
        func sameness<Known: Equatable>(_: Known.Type) -> (UnsafePointer<Model>, UnsafePointer<Model>) -> Bool {
            {
                UnsafeRawPointer($0).assumingMemoryBound(to: Known.self).pointee
                    == UnsafeRawPointer($1).assumingMemoryBound(to: Known.self).pointee
            }
        }
        func sameness<Known: Equatable & CollectionIdentifiable>(of _: Known.Type) -> (
            UnsafePointer<Model>, UnsafePointer<Model>
        ) -> Bool {
            { left, right in
                let left = UnsafeRawPointer(left).assumingMemoryBound(to: Known.self)
                let right = UnsafeRawPointer(right).assumingMemoryBound(to: Known.self)
                return left.pointee == right.pointee
                    && RowID(left.pointee.collectionId) == RowID(right.pointee.collectionId)
            }
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

final class ProvidedModels<Section: TableSection, Model>: ModelProvider {
    private let bindings: TableBindings<Section>
    /// The chain's place in `bindings`.
    private let chain: Int
    private let provided: () throws -> [Section: [Model]]
    let traits = ModelTraits<Model>()
    /// The cells that a provider makes for the models.
    var cells: ProvidedCells?
    private(set) var sections: Set<SectionID> = []
    /// The models that the table holds, by section, and those that it will hold if the command under way succeeds.
    private var held: [SectionID: [Model]] = [:]
    private var pending: [SectionID: [Model]]?
    private var changes: [Change] = []
    /// The numbers of the models that left their places in this command.
    private var departed: [JSONText] = []

    private struct Change {
        var section: SectionID
        var models: [Model]
        var oldCount: Int
        /// Where models differ, ascending: all between two stretches is the same before and after.
        var stretches: [TableEditor.Stretch]
    }

    init(bindings: TableBindings<Section>, chain: Int, _ provided: @escaping () throws -> [Section: [Model]]) {
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
        // A dictionary's own order differs from run to run.
        read.sort { $0.section < $1.section }
        changes = []
        departed = []
        for (section, models) in read {
            let old = before[section] ?? []
            // Where something else has changed the rows, `place` refuses.
            let stored = table[section].flatMap { $0.rows.count == old.count ? $0 : nil }
            guard let change = change(from: old, to: models, in: section, stored) else { continue }
            if let stored {
                for index in change.stretches.lazy.flatMap(\.old) {
                    departures.add(stored.rows[index])
                    departed.append(stored.rows[index].model)
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
                    // Both have elements, as there are such indexes.
                    guard let old = old.baseAddress, let new = new.baseAddress else { return false }
                    return areSame(old + oldIndex, new + newIndex)
                }
            }
        }
        return stretches.isEmpty
            ? nil : Change(section: section, models: new, oldCount: old.count, stretches: stretches)
    }

    /// Which models stand for the same thing.
    private struct Identities {
        /// Whether the old and the new model at these places do.
        let areSame: (_ old: Int, _ new: Int) -> Bool
        /// Where the old model stands that does as the new one at a place.
        let old: (_ new: Int) -> Int?
    }

    /// Where two lists of so many models differ, ascending.
    private static func stretches(
        _ oldCount: Int, _ newCount: Int, _ ids: Identities?, isSame: (_ old: Int, _ new: Int) -> Bool
    ) -> [TableEditor.Stretch] {
        let shorter = min(oldCount, newCount)
        var prefix = 0, suffix = 0
        while prefix < shorter, isSame(prefix, prefix) { prefix += 1 }
        if prefix == oldCount, prefix == newCount { return [] }
        while suffix < shorter - prefix, isSame(oldCount - 1 - suffix, newCount - 1 - suffix) { suffix += 1 }

        let end = (old: oldCount - suffix, new: newCount - suffix)
        /// Where both go on alike after a place, passing as few as possible: models that come, go or change are mostly
        /// few, and far from one another.
        func nearest(_ at: (old: Int, new: Int)) -> (old: Int, new: Int)? {
            for distance in 1...8 {
                for shorter in stride(from: distance, through: 0, by: -1) {
                    for next in [(at.old + distance, at.new + shorter), (at.old + shorter, at.new + distance)]
                    where next.0 < end.old && next.1 < end.new && isSame(next.0, next.1) { return next }
                }
            }
            return nil
        }
        /// A place further on where both have the same row, though it may have changed; passing few of those that were
        /// looked at, which are further and further apart: blocks that come, go or move are passed at once.
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
        // To look once more costs about as much as to take a model for another one, or, by ids, some eight: lists that
        // have little in common are not worth it.
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
        editor.ensureSection(section)
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

    /// Whether the model that stands behind a number is equal to this one.
    private func isSame(_ number: JSONText, _ model: Model) -> Bool {
        guard let areEqual = traits.areEqual, let known = bindings.values[number] as? Model else { return false }
        return areEqual(known, model)
    }
}

/// The numbers of cells of a chain's sections. A section that has fewer cells than before can prefetch again.
final class CountedSections<Section: TableSection>: ModelProvider {
    private let bindings: TableBindings<Section>
    private let chain: Int
    private let numberOfCells: () throws -> [Section: Int]
    private var counts: [SectionID: Int] = [:]
    var cells: ProvidedCells?

    init(bindings: TableBindings<Section>, chain: Int, _ numberOfCells: @escaping () throws -> [Section: Int]) {
        self.bindings = bindings
        self.chain = chain
        self.numberOfCells = numberOfCells
    }

    var sections: Set<SectionID> { Set(counts.keys) }

    /// The number of cells in a section, as it was last read.
    subscript(section: SectionID) -> Int { counts[section] ?? 0 }

    func read(_ table: TableModel, _ departures: inout Departures) throws {
        cells?.dropCells()
        counts = [:]
        for (section, count) in try numberOfCells() where bindings.isOwn(section.sectionID, of: chain) {
            try bindings.sections.add(section)
            counts[section.sectionID] = count
        }
    }

    func place(into editor: inout TableEditor, _ departures: inout Departures) throws {
        for section in editor.table.sections where bindings.isOwn(section.id, of: chain) {
            try editor.noteFilled(section.id, rows: counts[section.id] ?? 0)
        }
    }

    func settle(_ departures: Departures) {}
    func commit() { cells?.dropNames { counts[$0] ?? 0 } }
    func rollBack() {}
}

/// Titles by section that a program's closure gives.
final class ProvidedTitles<Section: TableSection>: ModelProvider {
    private let bindings: TableBindings<Section>
    private let chain: Int
    private let provided: () throws -> [Section: String?]
    private var titles: [SectionID: String?] = [:]

    init(bindings: TableBindings<Section>, chain: Int, _ provided: @escaping () throws -> [Section: String?]) {
        self.bindings = bindings
        self.chain = chain
        self.provided = provided
    }

    var sections: Set<SectionID> { Set(titles.keys) }

    /// The title of a section, as it was last read: nil inside for none, outside for a section that was left out.
    subscript(section: SectionID) -> String?? { titles[section] }

    func read(_ table: TableModel, _ departures: inout Departures) throws {
        titles = [:]
        for (section, title) in try provided() where bindings.isOwn(section.sectionID, of: chain) {
            try bindings.sections.add(section)
            titles.updateValue(title, forKey: section.sectionID)
        }
    }

    func place(into editor: inout TableEditor, _ departures: inout Departures) {}
    func settle(_ departures: Departures) {}
    func commit() {}
    func rollBack() {}
}

extension TableBindings {
    /// Whether a section is in the scope of the cells that a chain binds.
    fileprivate func isOwn(_ section: SectionID, of chain: Int) -> Bool {
        let scope = bindings[chain].scope
        switch scope {
        case .table, .sections: return scope.named(in: declared).contains(section)
        case .allOtherSections: return owner(of: section) == nil
        case .anySection: return false
        }
    }
}
