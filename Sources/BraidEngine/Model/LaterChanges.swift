/// What the commands after one changed.
struct LaterChanges {
    // By key, number and name.
    private(set) var rows: Set<Int> = []
    private(set) var movedRows: Set<Int> = []
    private(set) var refilledSections: Set<Int> = []
    private(set) var sections: Set<Int> = []
    private(set) var titles: Set<Title> = []
    private(set) var state: Set<UTF8Key> = []
    private(set) var cells: Set<UTF8Key> = []
    private(set) var hasNewOrder = false
    private(set) var hasNewDisplay = false

    struct Title: Hashable {
        var section: Int
        var isHeader: Bool
    }

    mutating func add(_ step: PastTable.Step, _ change: TableChange) {
        rows.formUnion(step.changedRows)
        movedRows.formUnion(step.rows.gone.map(\.key))
        movedRows.formUnion(step.rows.come.map(\.key))
        refilledSections.formUnion(change.refilledSections)
        for (number, before, after) in step.sections {
            if (before == nil) != (after == nil) { sections.insert(number) }
            if before?.header != after?.header { titles.insert(Title(section: number, isHeader: true)) }
            if before?.footer != after?.footer { titles.insert(Title(section: number, isHeader: false)) }
        }
        state.formUnion(step.changedState)
        cells.formUnion(step.changedCells)
        hasNewOrder = hasNewOrder || step.isReordered
        hasNewDisplay = hasNewDisplay || change.displayedSections != nil
    }
}
