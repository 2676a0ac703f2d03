/// What a binder's chains share.
final class ProgramBindings<Section: TableSection>: TableBindings {
    let sections: SectionNames<Section>
    /// The program's values, by the numbers that stand for them in the table.
    let values = Values()
    var providers: [any ModelProvider] = []
    /// Each reads one sequence, and calls `arrived` after every element.
    var sources: [@Sendable (_ arrived: @Sendable () -> Void) async throws -> Void] = []
    /// Does nothing in a command.
    var refresh: () -> Void = {}
    /// `finish()` throws them; one made later makes every command throw.
    var mistakes: [String] = []
    var isFinished = false

    /// `nil`: dynamic sections.
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

    /// What is bound after `finish()` is a mistake: it would have no effect.
    func noteBinding() {
        if isFinished, mistakes.isEmpty {
            mistakes.append("Something was bound after `finish()`: bind all chains before it.")
        }
    }

    /// Two sections with one id are a mistake.
    func add(_ section: Section) {
        do throws(Refusal) { try sections.add(section) } catch { mistakes.append(error.detail) }
    }

    func binder(display: @autoclosure @escaping @Sendable () -> SectionDisplay) -> Binder {
        binder(display: display(), providers: providers)
    }
}

/// From the engine's ids to the program's sections.
final class SectionNames<Section: TableSection> {
    private var byID: [SectionID: Section] = [:]
    private let areDeclared: Bool

    init(areDeclared: Bool) { self.areDeclared = areDeclared }

    /// Of two dynamic sections with one id, the newer wins; for declared ones it throws.
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
