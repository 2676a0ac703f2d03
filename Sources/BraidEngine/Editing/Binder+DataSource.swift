extension Binder {
    /// The binder of sessions without a description, which a controller changes by data source calls. Sections are
    /// dynamic. A row's cell is the one registered for its model's type, or else the type's name; its id the model's
    /// `id`, a string or an integer.
    public static let dataSource: Binder = {
        var type = ModelType(id: JSONPointer("/id"))
        type.isIDOptional = true
        return sections(showing: .cellByModelType(RegisteredCells(), typeNamesCell: true), of: type)
    }()

    /// The binder of every ``DataSourceController``. Models are numbers that stand for the program's values, so no row
    /// depends on a model's content.
    static let values = sections(showing: Computed(constant: .string("")), of: ModelType(id: nil))

    private static func sections(showing cell: Computed<RowInput>, of type: ModelType) -> Binder {
        var binding = ScopeBinding(scope: .allOtherSections)
        (binding.cells, binding.modelType) = (CellRules(cell: cell), type)
        return Binder(
            sections: nil, display: SectionDisplay(), empty: nil,
            cells: CellDeclarations(others: CellDeclaration()), bindings: [binding])
    }

    /// A new session's table. Throws ``Refusal`` for invalid models or ids, and if sections are declared.
    public func openingTable(_ sections: [SectionContent], cells: RegisteredCells = RegisteredCells()) throws(Refusal)
        -> TableModel
    {
        var work = CommandInProgress(binder: self, table: TableModel(cells: cells), shown: Snapshot(), now: "")
        _ = try work.updateAllSections(sections)
        return work.editor.table
    }
}

extension Snapshot {
    /// A row's model, otherwise its view model or JSON null. Throws `sectionNotFound` or `rowNotFound`.
    public func modelObject(at path: RowPath) throws(Refusal) -> JSONText {
        let section = try section(.displayed(path.section))
        guard section.rows.indices.contains(path.row) else {
            throw .noRow(path.row, in: section.id, of: section.rows.count)
        }
        let row = section.rows[path.row]
        return row.model ?? row.json["viewModel"] ?? .null
    }

    /// Header and footer, in the form in which commands set them. Throws `sectionNotFound`.
    public func sectionData(for section: SectionReference) throws(Refusal) -> (header: JSONText, footer: JSONText) {
        let section = try self.section(section)
        return (Self.title(section.header), Self.title(section.footer))
    }

    /// Without heights: a string, null, or `{"view": name, "viewModel"?: …}`.
    private static func title(_ shown: JSONText) -> JSONText {
        if let title = shown["title"] { return title }
        guard let members = shown.members() else { return .null }
        return JSONText(object: members.filter { $0.name == "view" || $0.name == "viewModel" })
    }
}
