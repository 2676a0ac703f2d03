// The five ways to bind cells. The closures of models and numbers are called whenever the binder refreshes.
// Source: Braid, "Data binding methods".

extension BindingChain where Model == Never {
    /// One cell of this type for each model; `onDequeue` fills it. Models by section; a section left out has none.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [Section: [NewModel]]
    ) -> BindingChain<Section, NewCell, NewModel> {
        provide(NewCell.self, models, name: .string(NewCell.reuseIdentifier)) { _, _, _ in NewCell() }
    }

    /// One cell of this type for each view model, and given it.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: @escaping () throws -> [Section: [NewCell.ViewModel]]
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> {
        provide(NewCell.self, viewModels, name: .string(NewCell.reuseIdentifier), showsModel: false) { _, _, viewModel in NewCell(viewModel: viewModel) }
    }

    /// One cell of this type for each model, given the view model that is made of it.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [Section: [NewModel]],
        mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel
    ) -> BindingChain<Section, NewCell, NewModel> {
        provide(NewCell.self, models, name: .string(NewCell.reuseIdentifier)) { _, _, model in NewCell(viewModel: try mapToViewModels(model)) }
    }

    /// For each model the cell that the provider makes: its type may differ from row to row. The provider is called once
    /// when a row comes, changes or has another place, and when a view asks for the row's cell after a later command.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable, models: @escaping () throws -> [Section: [NewModel]]
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        provide((any ReuseIdentifiable).self, models, name: nil, cellProvider)
    }

    /// So many cells, without models, as the provider makes them. The provider is called for each row whenever the binder
    /// refreshes, as no model says whether the row has changed.
    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable, numberOfCells: @escaping () throws -> [Section: Int]
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        let counts = CountedSections(bindings: bindings, chain: index, numberOfCells), sections = bindings.sections
        let program = Confined((counts: counts, cells: ProvidedCells { try cellProvider(sections.section($0.section), $0.row) }))
        counts.cells = program.value.cells
        var cells = CellBinding(cell: Computed(reads: .everything) { input, _ in try program.value.cells.newName(of: input) })
        cells.source = .counted(Computed(reads: .everything) { input, _ in .number(program.value.counts[input.id]) })
        cells.instance = { try program.value.cells.cell(for: $0) }
        bindings.providers.append(counts)
        return claiming(cells, of: ModelType(id: nil)).carrying((any ReuseIdentifiable).self, Never.self)
    }

    // For chains of one section, the same with its models alone.

    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [NewModel]
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: alone(models)) }

    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: @escaping () throws -> [NewCell.ViewModel]
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> { bind(cellType: cellType, viewModels: alone(viewModels)) }

    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: @escaping () throws -> [NewModel], mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: alone(models), mapToViewModels: mapToViewModels) }

    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable, models: @escaping () throws -> [NewModel]
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> { bind(cellProvider: cellProvider, models: alone(models)) }

    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable, numberOfCells: @escaping () throws -> Int
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> { bind(cellProvider: cellProvider, numberOfCells: alone(numberOfCells)) }

    /// Of the chain's only section.
    private func alone<Value>(_ value: @escaping () throws -> Value) -> () throws -> [Section: Value] {
        let named = binding.scope.named(in: bindings.declared)
        guard named.count == 1, let section = try? bindings.sections.section(named[0]) else {
            bindings.mistakes.append("The models of a chain that is not of one section must be given by section.")
            return { [:] }
        }
        return { [section: try value()] }
    }

    /// `name` nil: as the cell that is made is called.
    private func provide<NewCell, NewModel>(
        _: NewCell.Type, _ models: @escaping () throws -> [Section: [NewModel]], name: JSONText?, showsModel: Bool = true,
        _ make: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable
    ) -> BindingChain<Section, NewCell, NewModel> {
        let values = bindings.values, sections = bindings.sections
        let made = ProvidedCells { input in try make(sections.section(input.section), input.row, values.model(input.model)) }
        let program = Confined(made)
        var cells = CellBinding(
            cell: name.map { Computed(constant: $0) } ?? Computed(reads: [.model, .row]) { input, _ in try program.value.name(of: input) })
        cells.isProvided = true
        cells.showsModel = showsModel
        cells.instance = { try program.value.cell(for: $0) }
        let models = ProvidedModels(bindings: bindings, chain: index, models)
        if name == nil { models.cells = made }
        bindings.providers.append(models)
        // The id is asked of the model itself; the pointer says that there is one.
        let modelType = ModelType(name: String(reflecting: NewModel.self), id: models.traits.identity == nil ? nil : .root)
        return claiming(cells, of: modelType).carrying(NewCell.self, NewModel.self)
    }

    private func claiming(_ cells: CellBinding, of type: ModelType) -> Self {
        bind(cells, of: type)
        for (section, _) in bindings.claimCells(index) {
            bindings.mistakes.append("The cells of \(section.map { "the section \"\($0)\"" } ?? "all other sections") are bound twice.")
        }
        return self
    }
}

extension BindingChain {
    /// For sections whose cells and models another chain binds: handlers get the models as this type.
    public func assuming<NewModel>(modelType: NewModel.Type) -> BindingChain<Section, Cell, NewModel> {
        assuming(modelTypeNamed: String(reflecting: NewModel.self)).carrying(Cell.self, NewModel.self)
    }

    /// Fills a cell when it is about to be shown. Of any section: called in addition.
    @discardableResult
    public func onDequeue(_ fill: @escaping (Section, Int, inout Cell, Model) throws -> Void) -> Self {
        let values = bindings.values
        return filling { section, input, cell in try fill(section, input.row, &cell, values.model(input.model)) }
    }

    @discardableResult
    public func onDequeue(_ fill: @escaping (Section, Int, inout Cell) throws -> Void) -> Self {
        filling { section, input, cell in try fill(section, input.row, &cell) }
    }

    private func filling(_ fill: @escaping (Section, RowInput, inout Cell) throws -> Void) -> Self {
        let program = Confined((sections: bindings.sections, fill: fill))
        return edit { binding in
            binding.onDequeue = { input, cell in
                guard var typed = cell as? Cell else {
                    throw Refusal(.modelTypeMismatch, "The section \"\(input.section)\" shows \(type(of: cell)), not \(Cell.self).")
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
    /// Throws `modelTypeMismatch`.
    func model<Model>(_ number: JSONText) throws(Refusal) -> Model {
        guard let value = self[number] else { throw Refusal(.modelTypeMismatch, "There is no model where one of the type \(Model.self) is expected.") }
        guard let model = value as? Model else {
            throw Refusal(.modelTypeMismatch, "A model is a \(type(of: value)), where the binding chain expects a \(Model.self).")
        }
        return model
    }
}
