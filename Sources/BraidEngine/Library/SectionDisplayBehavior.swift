/// Which sections a program's table displays, in which order. Source: Braid, "Hiding, showing, and ordering sections
/// automatically".
public struct SectionDisplayBehavior<Section: TableSection> {
    let behavior: SectionDisplay.Behavior
    /// `nil` orders `Comparable` sections ascending, others as declared, or as chains name them, then by id.
    private let ordering: (([Section]) throws -> [Section])?

    /// Displays the binder's `displayedSections`, in that order; until they are set, all sections, or those that
    /// another rule displayed before.
    public static var manuallyManaged: Self { Self(behavior: .manuallyManaged, ordering: nil) }

    /// Displays the sections with at least one row: `Comparable` ones ascending, others as declared, or as chains name
    /// them, then by id.
    public static var hidesSectionsWithNoCellData: Self { Self(behavior: .hidesSectionsWithNoCellData, ordering: nil) }

    /// Displays the sections with at least one row. `ordering` returns the sections that it receives, each once.
    public static func hidesSectionsWithNoCellData(orderedWith ordering: @escaping ([Section]) throws -> [Section])
        -> Self
    {
        Self(behavior: .hidesSectionsWithNoCellData, ordering: ordering)
    }

    /// Displays the sections with a row, a header or a footer: `Comparable` ones ascending, others as declared, or as
    /// chains name them, then by id.
    public static var hidesSectionsWithNoData: Self { Self(behavior: .hidesSectionsWithNoData, ordering: nil) }

    /// Displays the sections with a row, a header or a footer. `ordering` returns the sections that it receives, each
    /// once.
    public static func hidesSectionsWithNoData(orderedWith ordering: @escaping ([Section]) throws -> [Section]) -> Self
    {
        Self(behavior: .hidesSectionsWithNoData, ordering: ordering)
    }

    func display(_ sections: SectionNames<Section>) -> SectionDisplay {
        var display = SectionDisplay()
        display.behavior = behavior
        guard let ordering = ordering ?? Self.ascending else { return display }
        let program = Confined((sections: sections, ordering: ordering))
        display.order = .sorting { ids in
            try program.value.ordering(ids.map { try program.value.sections.section($0) }).map(\.sectionID)
        }
        return display
    }

    private static var ascending: (([Section]) -> [Section])? {
        func sorting<Known: Comparable>(_: Known.Type) -> ([Section]) -> [Section] {
            { unsafeBitCast(unsafeBitCast($0, to: [Known].self).sorted(), to: [Section].self) }  // `Known` is `Section`
        }
        return (Section.self as? any Comparable.Type).map { sorting($0) }
    }
}

/// A rule that is set after `finish()` takes effect only if the command that renders by it succeeds.
final class DisplayRule<Section: TableSection>: ModelProvider, @unchecked Sendable {
    private(set) var behavior: SectionDisplayBehavior<Section> = .manuallyManaged
    /// Before the program set a behavior that no command has applied yet.
    private var before: (behavior: SectionDisplayBehavior<Section>, displayed: [SectionID])?
    let sections: Set<SectionID> = []

    /// - Parameter displayed: what the table displays, once it exists.
    func set(_ new: SectionDisplayBehavior<Section>, displayed: [SectionID]?) {
        if let displayed, before == nil { before = (behavior, displayed) }
        behavior = new
    }

    func read(_ table: TableModel, _ departures: inout Departures) {}

    func place(into editor: inout TableEditor, _ departures: inout Departures) {
        guard let before else { return }
        editor.noteDisplay()
        // What is displayed stays so until the program sets other sections.
        if behavior.behavior == .manuallyManaged, before.behavior.behavior != .manuallyManaged {
            editor.setDisplayedSections(before.displayed)
        }
    }

    func settle(_ departures: Departures) {}

    func commit() { before = nil }

    func rollBack() {
        if let before { behavior = before.behavior }
        before = nil
    }
}
