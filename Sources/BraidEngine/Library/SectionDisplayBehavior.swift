/// The rule that decides which sections a program's table displays, and in which order.
///
/// Source: Braid, "Hiding, showing, and ordering sections automatically".
public struct SectionDisplayBehavior<Section: TableSection> {
    let behavior: SectionDisplay.Behavior
    /// Returns the sections in the order in which the table displays them. Not used if the sections are manually
    /// managed. If the closure is `nil`, `Comparable` sections are in ascending order, and other sections are in the
    /// order of declaration. Without a declaration, the sections that chains name come first, and the others follow in
    /// the order of their ids.
    private let ordering: (([Section]) throws -> [Section])?

    /// The rule that displays the sections of the binder's `displayedSections`, in that order. Until
    /// `displayedSections` is set, all sections are displayed, or the sections that another rule displayed before.
    public static var manuallyManaged: Self { Self(behavior: .manuallyManaged, ordering: nil) }

    /// The rule that displays the sections with at least one row. Sections of a `Comparable` type are sorted ascending,
    /// and other sections are in the order of declaration. Without a declaration, the sections that chains name come
    /// first, and the others follow in the order of their ids.
    public static var hidesSectionsWithNoCellData: Self { Self(behavior: .hidesSectionsWithNoCellData, ordering: nil) }

    /// Returns the rule that displays the sections with at least one row, ordered by a closure.
    ///
    /// - Parameter ordering: returns the sections that the closure receives, each once, in order.
    public static func hidesSectionsWithNoCellData(orderedWith ordering: @escaping ([Section]) throws -> [Section])
        -> Self
    {
        Self(behavior: .hidesSectionsWithNoCellData, ordering: ordering)
    }

    /// The rule that displays the sections with a row, a header or a footer. Sections of a `Comparable` type are sorted
    /// ascending, and other sections are in the order of declaration. Without a declaration, the sections that chains
    /// name come first, and the others follow in the order of their ids.
    public static var hidesSectionsWithNoData: Self { Self(behavior: .hidesSectionsWithNoData, ordering: nil) }

    /// Returns the rule that displays the sections with a row, a header or a footer, ordered by a closure.
    ///
    /// - Parameter ordering: returns the sections that the closure receives, each once, in order.
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

/// The rule by which a program's binder displays sections.
///
/// A rule that is set after `finish()` takes effect only if the command that renders the table by the new rule
/// succeeds.
final class DisplayRule<Section: TableSection>: ModelProvider, @unchecked Sendable {
    private(set) var behavior: SectionDisplayBehavior<Section> = .manuallyManaged
    /// The behavior and the displayed sections before the program set a new behavior. `nil` unless the program has set
    /// a behavior that no command has applied yet.
    private var before: (behavior: SectionDisplayBehavior<Section>, displayed: [SectionID])?
    let sections: Set<SectionID> = []

    /// Sets the behavior.
    ///
    /// - Parameter displayed: the sections that the table displays. `nil` before the table exists.
    func set(_ new: SectionDisplayBehavior<Section>, displayed: [SectionID]?) {
        if let displayed, before == nil { before = (behavior, displayed) }
        behavior = new
    }

    func read(_ table: TableModel, _ departures: inout Departures) {}

    func place(into editor: inout TableEditor, _ departures: inout Departures) {
        guard let before else { return }
        editor.noteDisplay()
        // When the behavior becomes manually managed, the sections that the table displays stay displayed until the
        // program sets other sections.
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
