extension DataSourceController: RowManager {
    /// Inserts a row; see ``RowManager/add(row:at:notify:)``.
    public func add(row: Any, at indexPath: RowPath, notify: Bool) {
        let new = number(for: row)
        perform(.addRow(new, at: RowReference(indexPath)), notify: notify, with: [new])
    }

    /// Replaces a row; see ``RowManager/update(row:at:notify:)``.
    public func update(row: Any, at indexPath: RowPath, notify: Bool) {
        let new = number(for: row)
        perform(
            .updateRow(new, at: RowReference(indexPath)), notify: notify, replacing: numbers(at: [indexPath]),
            with: [new])
    }

    /// Replaces all rows of a section; see ``RowManager/update(rows:atSection:notify:)``.
    public func update(rows: [Any], atSection section: Int, notify: Bool) {
        let new = rows.map { number(for: $0) }
        perform(
            .updateRowsOfSection(new, at: .displayed(section)), notify: notify, replacing: numbers(in: [section]),
            with: new)
    }

    /// Replaces the rows at several index paths; see ``RowManager/update(rows:notify:)``.
    public func update(rows: [RowPath: Any], notify: Bool) {
        let ascending = rows.sorted { $0.key < $1.key }
        let paths = ascending.map(\.key), new = ascending.map { number(for: $0.value) }
        let skipped = zip(paths, new).filter { number(at: $0.0) == nil }.map(\.1)
        perform(
            .updateRows(Array(zip(paths.map { RowReference($0) }, new))), notify: notify, replacing: numbers(at: paths),
            with: new)
        forget(skipped)
    }

    /// Removes a row; see ``RowManager/remove(rowAt:notify:)``.
    public func remove(rowAt indexPath: RowPath, notify: Bool) {
        perform(.removeRow(at: RowReference(indexPath)), notify: notify, replacing: numbers(at: [indexPath]))
    }
}

extension DataSourceController: SectionManager {
    /// Inserts a section; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: Section, at index: Int?, notify: Bool) {
        let content = content(of: section)
        let place = index.flatMap { (0..<sectionCount).contains($0) ? $0 : nil } ?? sectionCount
        perform(.addSection(content, at: index), notify: notify, with: content.rows, data: [place: section.sectionData])
    }

    /// Replaces a section's header and footer; see ``SectionManager/update(sectionData:at:notify:)``.
    public func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool) {
        let titles = content(of: Section(sectionData: sectionData, rows: []))
        perform(
            .updateSectionData(header: titles.header, footer: titles.footer, at: .displayed(index)), notify: notify,
            data: [index: sectionData])
    }

    /// Replaces a section; see ``SectionManager/update(section:at:notify:)``.
    public func update(section: Section, at index: Int, notify: Bool) {
        let content = content(of: section)
        perform(
            .updateSection(content, at: .displayed(index)), notify: notify, replacing: numbers(in: [index]),
            with: content.rows, data: [index: section.sectionData])
    }

    /// Replaces all sections; see ``SectionManager/update(allSections:notify:)``.
    public func update(allSections sections: [Section], notify: Bool) {
        let contents = sections.map { content(of: $0) }
        perform(
            .updateAllSections(contents), notify: notify, replacing: numbers(in: 0..<sectionCount),
            with: contents.flatMap(\.rows),
            data: Dictionary(uniqueKeysWithValues: sections.map(\.sectionData).enumerated().map { ($0, $1) }))
    }

    /// Removes a section; see ``SectionManager/remove(sectionAt:notify:)``.
    public func remove(sectionAt index: Int, notify: Bool) {
        perform(.removeSection(at: .displayed(index)), notify: notify, replacing: numbers(in: [index]))
    }

    /// Removes all sections; see ``SectionManager/removeAllSections(notify:)``.
    public func removeAllSections(notify: Bool) {
        perform(.removeAllSections, notify: notify, replacing: numbers(in: 0..<sectionCount))
    }

    private func content(of section: Section) -> SectionContent {
        SectionContent(
            header: section.sectionData?.header.map { .string($0) },
            footer: section.sectionData?.footer.map { .string($0) },
            rows: section.rows.map { number(for: $0) })
    }
}
