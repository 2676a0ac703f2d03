extension Binder {
    /// Binds sessions that were opened without a table: sections come as they are given, each row's cell is that of its
    /// model's type (the type's name itself, where none is registered), and rows have ids where models have `/id`.
    public static let dataSource: Binder = {
        var type = ModelType(id: JSONPointer("/id"))
        type.isIDOptional = true
        return sections(showing: .cellByModelType(RegisteredCells(), typeNamesCell: true), of: type)
    }()

    /// Binds DataSourceController's own table, whose models are numbers: nothing in its rows depends on the models.
    static let values = sections(showing: Computed(constant: .string("")), of: ModelType(id: nil))

    private static func sections(showing cell: Computed<RowInput>, of type: ModelType) -> Binder {
        let bindings = TableBindings<SectionID>(sections: nil)
        bindings.onAllSections().bind(CellBinding(cell: cell), of: type)
        return bindings.binder(display: SectionDisplay(), cells: CellDeclarations(others: CellDeclaration()))
    }

    /// The table of a session that is opened with these sections: DataSourceController's initializers.
    public func openingTable(_ sections: [SectionContent], cells: RegisteredCells = RegisteredCells()) throws(Refusal) -> TableModel {
        var work = CommandInProgress(binder: self, table: TableModel(cells: cells), shown: Snapshot(), now: "")
        _ = try work.updateAllSections(sections)
        return work.editor.table
    }
}

extension Snapshot {
    /// DataSourceController's `modelObject(at:)`: the model of a row, or what its cell is given where there is no model.
    /// Throws `rowNotFound`.
    public func modelObject(at path: RowPath) throws(Refusal) -> JSONText {
        let section = try section(.displayed(path.section))
        guard section.rows.indices.contains(path.row) else { throw .noRow(path.row, in: section.id, of: section.rows.count) }
        let row = section.rows[path.row]
        return row.model ?? row.json["viewModel"] ?? .null
    }

    /// DataSourceController's `data(for:)`: a section's header and footer, in the form in which they are set.
    /// Throws `rowNotFound`.
    public func sectionData(for index: Int) throws(Refusal) -> (header: JSONText, footer: JSONText) {
        let section = try section(.displayed(index))
        return (Self.title(section.header), Self.title(section.footer))
    }

    /// A title without its heights: a string, null, or `{"view": name, "viewModel"?: …}`.
    private static func title(_ shown: JSONText) -> JSONText {
        if let title = shown["title"] { return title }
        guard let members = shown.members() else { return .null }
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in members where name == "view" || name == "viewModel" {
            writer.name(name)
            writer.value(value)
        }
        writer.endObject()
        return writer.text
    }
}
