/// What the binding chains of one program's binder share.
final class ProgramBindings<Section: TableSection>: TableBindings {
    let sections: SectionNames<Section>
    /// The program's Swift models, by the numbers that represent them in the table.
    let values = Values()
    var providers: [any ModelProvider] = []
    /// Each closure reads one bound asynchronous sequence, and calls `arrived` after every element.
    var sources: [@Sendable (_ arrived: @Sendable () -> Void) async throws -> Void] = []
    /// Reads the program's models and rules again. Does nothing while a command is running.
    var refresh: () -> Void = {}
    /// `finish()` throws those made before it; a later one makes every later command throw.
    var mistakes: [String] = []
    var isFinished = false

    /// `nil` makes sections dynamic.
    init(sections: [Section]?) {
        self.sections = SectionNames(areDeclared: sections != nil)
        super.init(declared: sections?.map(\.sectionID))
        for section in sections ?? [] { add(section) }
    }

    func onSections(_ sections: [Section]) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        if sections.isEmpty { mistakes.append("A chain is about no section: `onSections` was given none.") }
        for section in sections { add(section) }
        return on(.sections(sections.map(\.sectionID)))
    }

    func on(_ scope: Scope) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        noteBinding()
        bindings.append(ScopeBinding(scope: scope))
        return BindingChain(bindings: self, index: bindings.count - 1)
    }

    /// After `finish()`, a binding would have no effect.
    func noteBinding() {
        if isFinished, mistakes.isEmpty {
            mistakes.append("Something was bound after `finish()`: bind all chains before it.")
        }
    }

    /// Adds a section that a chain names. An id that two sections share is a mistake.
    func add(_ section: Section) {
        do throws(Refusal) { try sections.add(section) } catch { mistakes.append(error.detail) }
    }

    func binder(display: @autoclosure @escaping @Sendable () -> SectionDisplay) -> Binder {
        binder(display: display(), providers: providers)
    }
}

/// From ids, which the engine uses, to the sections that the program's closures get.
final class SectionNames<Section: TableSection> {
    private var byID: [SectionID: Section] = [:]
    private let areDeclared: Bool

    init(areDeclared: Bool) { self.areDeclared = areDeclared }

    /// Of two dynamic sections with an id, the newer wins. Throws if two different declared ones share it.
    func add(_ section: Section) throws(Refusal) {
        let known = byID.updateValue(section, forKey: section.sectionID)
        guard !areDeclared || known == nil || known == section else {
            throw Refusal(.descriptionInvalid, "Two sections have the id \"\(section.sectionID)\".")
        }
    }

    func section(_ id: SectionID) throws(Refusal) -> Section {
        guard let section = byID[id] else { throw .noSection(id, among: byID.keys.sorted()) }
        return section
    }
}
