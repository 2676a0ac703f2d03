// The five ways to bind cells. The closures are called at every refresh and in commands; a section that is left out has
// no rows. Source: Braid, "Data binding methods".

extension BindingChain where Model == Never {
    /// Shows each model in an empty `cellType`, for `onDequeue` to fill. Its reuse identifier is the rows' `cell`.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [Section: [NewModel]]
    ) -> BindingChain<Section, NewCell, NewModel> {
        provide(NewCell.self, models, name: .string(NewCell.reuseIdentifier)) { _, _, _ in NewCell() }
    }

    /// Shows each view model in a `cellType` made with it. The rows have no models.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: @escaping () throws -> [Section: [NewCell.ViewModel]]
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> {
        provide(NewCell.self, viewModels, name: .string(NewCell.reuseIdentifier), showsModel: false) {
            _, _, viewModel in NewCell(viewModel: viewModel)
        }
    }

    /// Shows each model in a `cellType` made with its view model.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [Section: [NewModel]],
        mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel
    ) -> BindingChain<Section, NewCell, NewModel> {
        provide(NewCell.self, models, name: .string(NewCell.reuseIdentifier)) { _, _, model in
            NewCell(viewModel: try mapToViewModels(model))
        }
    }

    /// Shows each model in a cell that a closure makes (section, index, model), of any type.
    ///
    /// It is called when a row is inserted, changes or gets another index, and when a view asks after a later command.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable,
        models: @escaping () throws -> [Section: [NewModel]]
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        provide((any ReuseIdentifiable).self, models, name: nil, cellProvider)
    }

    /// Shows a number of cells that a closure makes (section, index), without models. It is called for each row, at
    /// every refresh and in commands, as nothing else says whether a row changed.
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
        cells.source = .counted(
            Computed(reads: .everything) { input, _ in .number(program.value.counts[input.id] ?? 0) })
        cells.instance = { try program.value.cells.cell(for: $0) }
        bindings.providers.append(counts)
        return claiming(cells, of: ModelType(id: nil)).carrying((any ReuseIdentifiable).self, Never.self)
    }

    // For one section, with an array or number instead of a dictionary. With several, `finish()` throws
    // `descriptionInvalid`.

    /// For one section: each model in a `cellType`, for `onDequeue` to fill.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [NewModel]
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: alone(models)) }

    /// For one section: each view model in a `cellType`.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: @escaping () throws -> [NewCell.ViewModel]
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> { bind(cellType: cellType, viewModels: alone(viewModels)) }

    /// For one section: each model in a `cellType`, by its view model.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [NewModel],
        mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel
    ) -> BindingChain<Section, NewCell, NewModel> {
        bind(cellType: cellType, models: alone(models), mapToViewModels: mapToViewModels)
    }

    /// For one section: each model in a cell that a closure makes.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable,
        models: @escaping () throws -> [NewModel]
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        bind(cellProvider: cellProvider, models: alone(models))
    }

    /// For one section: a number of cells that a closure makes.
    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable,
        numberOfCells: @escaping () throws -> Int
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        bind(cellProvider: cellProvider, numberOfCells: alone(numberOfCells))
    }

    /// With several sections, a mistake, which `finish()` throws.
    private func alone<Value>(_ value: @escaping () throws -> Value) -> () throws -> [Section: Value] {
        let named = binding.scope.named(in: bindings.declared)
        guard named.count == 1, let section = try? bindings.sections.section(named[0]) else {
            bindings.mistakes.append("The models of a chain that is not of one section must be given by section.")
            return { [:] }
        }
        return { [section: try value()] }
    }

    /// - Parameter name: `nil` for each cell's own.
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
        // The root pointer only says that there is an id, which the Swift model gives.
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
    /// Declares the model type of cells that another chain binds, for this chain's handlers.
    ///
    /// `finish()` throws `descriptionInvalid` if it is another. Without `CaseIterable`, it checks only sections that
    /// this chain names; in others, a handler throws `modelTypeMismatch`.
    public func assuming<NewModel>(modelType: NewModel.Type) -> BindingChain<Section, Cell, NewModel> {
        edit { $0.assumedType = UTF8Key(String(reflecting: NewModel.self)) }.carrying(Cell.self, NewModel.self)
    }

    /// Fills a cell (section, index, cell, model) when a view asks for it. `onAnySection()` adds to the section's own.
    @discardableResult
    public func onDequeue(_ fill: @escaping (Section, Int, inout Cell, Model) throws -> Void) -> Self {
        let values = bindings.values
        return filling { section, input, cell in try fill(section, input.row, &cell, values.model(input.model)) }
    }

    /// As the other, without the model.
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
    /// Throws ``Refusal`` `modelTypeMismatch` if there is none of this type.
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
