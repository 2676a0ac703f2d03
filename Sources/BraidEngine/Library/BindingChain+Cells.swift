// The five ways to bind cells to a chain's sections. The closures that return models or numbers of cells are called at
// every refresh and in commands. Source: Braid, "Data binding methods".

extension BindingChain where Model == Never {
    /// Shows each model in a cell of the type `cellType`. The cell is created empty, and `onDequeue` handlers fill it.
    ///
    /// - Parameters:
    ///   - cellType: the cells' type. The type's reuse identifier is the `cell` of the rows.
    ///   - models: returns the models by section, and is called at every refresh and in commands. A section that the
    ///     closure leaves out has no rows.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [Section: [NewModel]]
    ) -> BindingChain<Section, NewCell, NewModel> {
        provide(NewCell.self, models, name: .string(NewCell.reuseIdentifier)) { _, _, _ in NewCell() }
    }

    /// Shows each view model in a cell of the type `cellType`, which is created with the view model. The rows have no
    /// models.
    ///
    /// - Parameters:
    ///   - cellType: the cells' type.
    ///   - viewModels: returns the view models by section, and is called at every refresh and in commands. A section
    ///     that the closure leaves out has no rows.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: @escaping () throws -> [Section: [NewCell.ViewModel]]
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> {
        provide(NewCell.self, viewModels, name: .string(NewCell.reuseIdentifier), showsModel: false) {
            _, _, viewModel in NewCell(viewModel: viewModel)
        }
    }

    /// Shows each model in a cell of the type `cellType`. The cell is created with the view model that
    /// `mapToViewModels` makes from the model.
    ///
    /// - Parameters:
    ///   - cellType: the cells' type.
    ///   - models: returns the models by section, and is called at every refresh and in commands. A section that the
    ///     closure leaves out has no rows.
    ///   - mapToViewModels: makes a cell's view model from a model.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [Section: [NewModel]],
        mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel
    ) -> BindingChain<Section, NewCell, NewModel> {
        provide(NewCell.self, models, name: .string(NewCell.reuseIdentifier)) { _, _, model in
            NewCell(viewModel: try mapToViewModels(model))
        }
    }

    /// Shows each model in the cell that a closure makes for it. The cell's type may differ from row to row.
    ///
    /// - Parameters:
    ///   - cellProvider: makes the cell from the section, the row's index in it and the model. The closure is called
    ///     when a row is inserted, changes or gets another index. The closure is also called when a view asks for the
    ///     row's cell after a later command.
    ///   - models: returns the models by section, and is called at every refresh and in commands. A section that the
    ///     closure leaves out has no rows.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable,
        models: @escaping () throws -> [Section: [NewModel]]
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        provide((any ReuseIdentifiable).self, models, name: nil, cellProvider)
    }

    /// Shows a number of cells, which a closure makes, in sections that have no models.
    ///
    /// - Parameters:
    ///   - cellProvider: makes the cell from the section and the row's index in it. The closure is called for each row
    ///     at every refresh and in commands, because no model says whether the row has changed.
    ///   - numberOfCells: returns the number of rows by section, and is called at every refresh and in commands.
    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable,
        numberOfCells: @escaping () throws -> [Section: Int]
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        let counts = CountedSections(bindings: bindings, chain: index, numberOfCells), sections = bindings.sections
        let program = Confined(
            (counts: counts, cells: ProvidedCells { try cellProvider(sections.section($0.section), $0.row) }))
        counts.cells = program.value.cells
        var cells = CellRules(
            cell: Computed(reads: .everything) { input, _ in try program.value.cells.newName(of: input) })
        cells.source = .counted(Computed(reads: .everything) { input, _ in .number(program.value.counts[input.id]) })
        cells.instance = { try program.value.cells.cell(for: $0) }
        bindings.providers.append(counts)
        return claiming(cells, of: ModelType(id: nil)).carrying((any ReuseIdentifiable).self, Never.self)
    }

    // The `bind` methods for chains of one section. These methods accept an array of models, or one number of cells,
    // instead of a dictionary by section.

    /// For a chain that binds exactly one of the table's sections: shows each model in a cell of the type `cellType`,
    /// which `onDequeue` handlers fill.
    ///
    /// `finish()` throws `descriptionInvalid` if the chain is not about exactly one section. The same rule applies to
    /// every form of `bind` whose models are an array or whose number of cells is a single number.
    ///
    /// - Parameters:
    ///   - cellType: the cells' type. The type's reuse identifier is the `cell` of the rows.
    ///   - models: returns the section's models in order, and is called at every refresh and in commands.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [NewModel]
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: alone(models)) }

    /// For a chain that binds exactly one of the table's sections: shows each view model in a cell of the type
    /// `cellType`.
    ///
    /// - Parameters:
    ///   - cellType: the cells' type.
    ///   - viewModels: returns the section's view models in order, and is called at every refresh and in commands.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: @escaping () throws -> [NewCell.ViewModel]
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> { bind(cellType: cellType, viewModels: alone(viewModels)) }

    /// For a chain that binds exactly one of the table's sections: shows each model in a cell of the type `cellType`.
    /// The cell gets the view model that `mapToViewModels` makes from the model.
    ///
    /// - Parameters:
    ///   - cellType: the cells' type.
    ///   - models: returns the section's models in order, and is called at every refresh and in commands.
    ///   - mapToViewModels: makes a cell's view model from a model.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [NewModel],
        mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel
    ) -> BindingChain<Section, NewCell, NewModel> {
        bind(cellType: cellType, models: alone(models), mapToViewModels: mapToViewModels)
    }

    /// For a chain that binds exactly one of the table's sections: shows each model in the cell that a closure makes
    /// for the model.
    ///
    /// - Parameters:
    ///   - cellProvider: makes the cell from the section, the row's index in it and the model.
    ///   - models: returns the section's models in order, and is called at every refresh and in commands.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable,
        models: @escaping () throws -> [NewModel]
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        bind(cellProvider: cellProvider, models: alone(models))
    }

    /// For a chain that binds exactly one of the table's sections: shows a number of cells, which a closure makes. The
    /// section has no models.
    ///
    /// - Parameters:
    ///   - cellProvider: makes the cell from the section and the row's index in it. The closure is called at every
    ///     refresh and in commands.
    ///   - numberOfCells: returns the section's number of rows, and is called at every refresh and in commands.
    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable,
        numberOfCells: @escaping () throws -> Int
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        bind(cellProvider: cellProvider, numberOfCells: alone(numberOfCells))
    }

    /// Returns a closure that returns a dictionary with the value for the one section that the chain binds. If the
    /// chain does not bind exactly one section, notes a mistake for `finish()`.
    private func alone<Value>(_ value: @escaping () throws -> Value) -> () throws -> [Section: Value] {
        let named = binding.scope.named(in: bindings.declared)
        guard named.count == 1, let section = try? bindings.sections.section(named[0]) else {
            bindings.mistakes.append("The models of a chain that is not of one section must be given by section.")
            return { [:] }
        }
        return { [section: try value()] }
    }

    /// Binds models, and the closure that makes the cell for each model.
    ///
    /// - Parameter name: the cells' name. If `nil`, each cell's own reuse identifier is its name.
    private func provide<NewCell, NewModel>(
        _: NewCell.Type, _ models: @escaping () throws -> [Section: [NewModel]], name: JSONText?,
        showsModel: Bool = true,
        _ make: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable
    ) -> BindingChain<Section, NewCell, NewModel> {
        let values = bindings.values, sections = bindings.sections
        let made = ProvidedCells { input in
            try make(sections.section(input.section), input.row, values.model(input.model))
        }
        let program = Confined(made)
        var cells = CellRules(
            cell: name.map { Computed(constant: $0) }
                ?? Computed(reads: [.model, .row]) { input, _ in try program.value.name(of: input) })
        cells.isProvided = true
        cells.showsModel = showsModel
        cells.instance = { try program.value.cell(for: $0) }
        let models = ProvidedModels(bindings: bindings, chain: index, models)
        if name == nil { models.cells = made }
        bindings.providers.append(models)
        // The root pointer only says that models have an id. The id itself comes from the Swift model.
        let modelType = ModelType(
            name: String(reflecting: NewModel.self), id: models.traits.identity == nil ? nil : .root)
        return claiming(cells, of: modelType).carrying(NewCell.self, NewModel.self)
    }

    private func claiming(_ cells: CellRules, of type: ModelType) -> Self {
        edit { ($0.cells, $0.modelType) = (cells, type) }
        for (section, _) in bindings.claimCells(index) {
            bindings.mistakes.append(
                "The cells of \(section.map { "the section \"\($0)\"" } ?? "all other sections") are bound twice.")
        }
        return self
    }
}

extension BindingChain {
    /// Declares the model type of sections whose cells and models another chain binds. The handlers of this chain get
    /// the models as this type.
    ///
    /// `finish()` throws `descriptionInvalid` if the other chain binds models of another type. If the section type is
    /// not `CaseIterable`, `finish()` checks only the sections that this chain names. For any other section, a handler
    /// of this chain that gets a model of another type makes the command throw `modelTypeMismatch`.
    public func assuming<NewModel>(modelType: NewModel.Type) -> BindingChain<Section, Cell, NewModel> {
        edit { $0.assumedType = UTF8Key(String(reflecting: NewModel.self)) }.carrying(Cell.self, NewModel.self)
    }

    /// Binds a closure that fills a cell from its row's model when a view asks for the cell.
    ///
    /// The closure gets the section, the row's index in it, the cell and the model. A chain that begins with
    /// `onAnySection()` fills the cell in addition to the section's own chain.
    @discardableResult
    public func onDequeue(_ fill: @escaping (Section, Int, inout Cell, Model) throws -> Void) -> Self {
        let values = bindings.values
        return filling { section, input, cell in try fill(section, input.row, &cell, values.model(input.model)) }
    }

    /// Binds a closure that fills a cell, without its row's model, when a view asks for the cell.
    ///
    /// The closure gets the section, the row's index in it and the cell.
    @discardableResult
    public func onDequeue(_ fill: @escaping (Section, Int, inout Cell) throws -> Void) -> Self {
        filling { section, input, cell in try fill(section, input.row, &cell) }
    }

    private func filling(_ fill: @escaping (Section, RowInput, inout Cell) throws -> Void) -> Self {
        let program = Confined((sections: bindings.sections, fill: fill))
        return edit { binding in
            binding.onDequeue = { input, cell in
                guard var typed = cell as? Cell else {
                    throw Refusal(
                        .modelTypeMismatch,
                        "The section \"\(input.section)\" shows \(type(of: cell)), not \(Cell.self).")
                }
                try program.value.fill(program.value.sections.section(input.section), input, &typed)
                if let filled = typed as? any ReuseIdentifiable { cell = filled }
            }
        }
    }
}

extension ViewModelBindable {
    init(viewModel: ViewModel) {
        self.init()
        self.viewModel = viewModel
    }
}

extension Values {
    /// Returns the program's Swift model that a number in the table represents.
    ///
    /// - Throws: ``Refusal`` with `modelTypeMismatch` if there is no such model or it has another type.
    func model<Model>(_ number: JSONText) throws(Refusal) -> Model {
        guard let value = self[number] else {
            throw Refusal(.modelTypeMismatch, "No model was found where the binding chain expects a \(Model.self).")
        }
        guard let model = value as? Model else {
            throw Refusal(
                .modelTypeMismatch, "A model is a \(type(of: value)), where the binding chain expects a \(Model.self).")
        }
        return model
    }
}
