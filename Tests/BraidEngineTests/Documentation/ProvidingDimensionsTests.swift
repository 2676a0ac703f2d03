// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct ProvidingDimensionsTests {
    enum Section: String, TableSection, CaseIterable { case summary, text }
    struct TextCell: ReuseIdentifiable { var text = "" }

    @Test("Every dimension of cells, headers and footers can be bound")
    func everyDimension() throws {
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        // snippet: dimensions
        binder.onAllSections()
            .bind(cellType: TextCell.self, models: { [.summary: ["Short"], .text: ["A longer text"]] })
            .bind(headerTitles: [.text: "TEXT"])
            .cellHeight { section, row, text in section == .summary ? 44 : .automatic }
            .estimatedCellHeight { section, row, text in .points(Double(text.count) * 2) }
            .headerHeight { section in 32.5 }
            .estimatedHeaderHeight { section in 30 }
            .footerHeight { section in 10 }
            .estimatedFooterHeight { section in 10 }
        // end
        try binder.finish()
        let sections = binder.snapshot.sections
        #expect(sections[0].rows[0].json["height"]?.intValue == 44)
        #expect(sections[1].rows[0].json["height"]?.stringValue == "automatic")
        #expect(sections[1].rows[0].json["estimatedHeight"]?.intValue == 26)
        #expect(sections[1].header["height"]?.doubleValue == 32.5 && sections[1].header["estimatedHeight"]?.intValue == 30)
        // A header or footer that does not exist has no height, even if a height is bound.
        #expect(sections[0].header.isNull && sections[1].footer.isNull)
    }

    @Test("A row's changed height is part of the next update")
    func changedHeight() throws {
        // snippet: changing
        var isExpanded = false
        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: TextCell.self, models: { ["A text"] })
            .cellHeight { _, _ in isExpanded ? 200 : 44 }
        try binder.finish()

        isExpanded = true
        let update = try binder.refresh()
        let updated = update.stages[0].updateRows       // the update gives row 0 its new height
        // end
        #expect(updated.count == 1 && updated[0].row.json["height"]?.intValue == 200)
    }
}
