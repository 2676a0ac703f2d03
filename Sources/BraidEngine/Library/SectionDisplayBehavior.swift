/// Which sections are displayed, in which order. Source: Braid, "Hiding, showing, and ordering sections automatically".
///
/// Without an `ordering`, `Comparable` sections ascend; others come as declared, or as chains name them, then by id.
public struct SectionDisplayBehavior<Section: TableSection> {
    let behavior: SectionDisplay.Behavior
    /// `nil` for the default.
    private let ordering: (([Section]) throws -> [Section])?

    /// The binder's `displayedSections`; until they are set, all, or those that another rule displayed before.
    public static var manuallyManaged: Self { Self(behavior: .manuallyManaged, ordering: nil) }

    /// Those with a row.
    public static var hidesSectionsWithNoCellData: Self { Self(behavior: .hidesSectionsWithNoCellData, ordering: nil) }

    /// Those with a row. `ordering` returns what it receives, each once.
    public static func hidesSectionsWithNoCellData(orderedWith ordering: @escaping ([Section]) throws -> [Section])
        -> Self
    {
        Self(behavior: .hidesSectionsWithNoCellData, ordering: ordering)
    }

    /// Those with a row, header or footer.
    public static var hidesSectionsWithNoData: Self { Self(behavior: .hidesSectionsWithNoData, ordering: nil) }

    /// Those with a row, header or footer. `ordering` returns what it receives, each once.
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

/// The binder's behavior. One that is set after `finish()` takes effect only if its command succeeds.
final class DisplayRule<Section: TableSection>: ModelProvider, @unchecked Sendable {
    private(set) var behavior: SectionDisplayBehavior<Section> = .manuallyManaged
    /// What was valid before a behavior that no command has applied yet.
    private var before: (behavior: SectionDisplayBehavior<Section>, displayed: [SectionID])?
    let sections: Set<SectionID> = []

    /// - Parameter displayed: `nil` while there is no table.
    func set(_ new: SectionDisplayBehavior<Section>, displayed: [SectionID]?) {
        if let displayed, before == nil { before = (behavior, displayed) }
        behavior = new
    }

    func read(_ table: TableModel, _ departures: inout Departures) {}

    func place(into editor: inout TableEditor, _ departures: inout Departures) {
        guard let before else { return }
        editor.noteDisplay()
        // The displayed sections stay until others are set.
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
