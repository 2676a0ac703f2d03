extension Binder {
    /// The binder of sessions that are opened without a table description. A controller changes such a session with the
    /// commands of the data source.
    ///
    /// Sections are dynamic. The cell of a row is the cell that is registered for the type of the row's model. If no
    /// cell is registered for the type, the cell is the type's name. A row's id is the member `id` of the row's model,
    /// if this member is a string or an integer.
    public static let dataSource: Binder = {
        var type = ModelType(id: JSONPointer("/id"))
        type.isIDOptional = true
        return sections(showing: .cellByModelType(RegisteredCells(), typeNamesCell: true), of: type)
    }()

    /// The binder of every ``DataSourceController``'s table. The table's models are numbers that represent the
    /// program's values, so nothing in the displayed rows depends on a model's content.
    static let values = sections(showing: Computed(constant: .string("")), of: ModelType(id: nil))

    private static func sections(showing cell: Computed<RowInput>, of type: ModelType) -> Binder {
        let bindings = TableBindings<SectionID>(sections: nil)
        bindings.onAllSections().bind(CellBinding(cell: cell), of: type)
        return bindings.binder(display: SectionDisplay(), cells: CellDeclarations(others: CellDeclaration()))
    }

    /// Returns the stored table of a new session that is opened with sections of rows. Corresponds to
    /// DataSourceController's initializers.
    ///
    /// - Parameters:
    ///   - sections: the sections with their rows, in order.
    ///   - cells: the names of the cells that are registered for model types.
    /// - Throws: ``Refusal`` if a model or an id is invalid, or if the binder's sections are declared.
    public func openingTable(_ sections: [SectionContent], cells: RegisteredCells = RegisteredCells()) throws(Refusal)
        -> TableModel
    {
        var work = CommandInProgress(binder: self, table: TableModel(cells: cells), shown: Snapshot(), now: "")
        _ = try work.updateAllSections(sections)
        return work.editor.table
    }
}

extension Snapshot {
    /// Returns a row's model, or its view model if the row shows no model. JSON null if the row has neither.
    /// Corresponds to DataSourceController's `modelObject(at:)`.
    ///
    /// - Parameter path: the row's index path in this snapshot.
    /// - Throws: ``Refusal`` with `sectionNotFound` or `rowNotFound`.
    public func modelObject(at path: RowPath) throws(Refusal) -> JSONText {
        let section = try section(.displayed(path.section))
        guard section.rows.indices.contains(path.row) else {
            throw .noRow(path.row, in: section.id, of: section.rows.count)
        }
        let row = section.rows[path.row]
        return row.model ?? row.json["viewModel"] ?? .null
    }

    /// Returns a section's header and footer, in the form in which commands set them. Corresponds to
    /// DataSourceController's `data(for:)`.
    ///
    /// - Parameter section: a displayed section.
    /// - Throws: ``Refusal`` with `sectionNotFound`.
    public func sectionData(for section: SectionReference) throws(Refusal) -> (header: JSONText, footer: JSONText) {
        let section = try self.section(section)
        return (Self.title(section.header), Self.title(section.footer))
    }

    /// Returns a displayed header or footer without its heights: a string, null, or `{"view": name, "viewModel"?: …}`.
    private static func title(_ shown: JSONText) -> JSONText {
        if let title = shown["title"] { return title }
        guard let members = shown.members() else { return .null }
        return JSONText(object: members.filter { $0.name == "view" || $0.name == "viewModel" })
    }
}
