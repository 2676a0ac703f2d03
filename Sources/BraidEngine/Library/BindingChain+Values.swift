// Values instead of closures: constant unless `updatedWith` asks for a closure that replaces them.

/// Receives a closure that replaces the value and refreshes the table.
///
/// ```swift
/// binder.onSection(.first)
///     .bind(cellType: SongCell.self, models: songs, updatedWith: { self.updateSongs = $0 })
/// …
/// updateSongs(newSongs)
/// ```
/// If the refresh throws, the table stays, but the next command reads the new value again.
public typealias UpdateHandler<Value> = (_ update: @escaping (Value) -> Void) -> Void

extension BindingChain {
    private func replaceable<Value>(_ value: Value, _ updatedWith: UpdateHandler<Value>?) -> () -> Value {
        guard let updatedWith else { return { value } }
        let replaceable = Replaceable(value)
        updatedWith { [weak bindings] new in
            replaceable.value = new
            bindings?.refresh()
        }
        return { replaceable.value }
    }
}

private final class Replaceable<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}

extension BindingChain where Model == Never {
    // A section that is left out has no rows.

    /// Shows each model in a `cellType`.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: [Section: [NewModel]], updatedWith: UpdateHandler<[Section: [NewModel]]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: replaceable(models, updatedWith)) }

    /// Shows each view model in a `cellType`.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: [Section: [NewCell.ViewModel]],
        updatedWith: UpdateHandler<[Section: [NewCell.ViewModel]]>? = nil
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> {
        bind(cellType: cellType, viewModels: replaceable(viewModels, updatedWith))
    }

    /// Shows each model in a `cellType`, by its view model.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: [Section: [NewModel]],
        mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel,
        updatedWith: UpdateHandler<[Section: [NewModel]]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> {
        bind(cellType: cellType, models: replaceable(models, updatedWith), mapToViewModels: mapToViewModels)
    }

    /// Shows each model in a cell that a closure makes.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable, models: [Section: [NewModel]],
        updatedWith: UpdateHandler<[Section: [NewModel]]>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        bind(cellProvider: cellProvider, models: replaceable(models, updatedWith))
    }

    /// Shows a number of cells that a closure makes.
    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable, numberOfCells: [Section: Int],
        updatedWith: UpdateHandler<[Section: Int]>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        bind(cellProvider: cellProvider, numberOfCells: replaceable(numberOfCells, updatedWith))
    }

    // For chains of one section.

    /// For one section: each model in a `cellType`.
    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: [NewModel], updatedWith: UpdateHandler<[NewModel]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: replaceable(models, updatedWith)) }

    /// For one section: each view model in a `cellType`.
    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: [NewCell.ViewModel], updatedWith: UpdateHandler<[NewCell.ViewModel]>? = nil
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> {
        bind(cellType: cellType, viewModels: replaceable(viewModels, updatedWith))
    }

    /// For one section: each model in a `cellType`, by its view model.
    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: [NewModel], mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel,
        updatedWith: UpdateHandler<[NewModel]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> {
        bind(cellType: cellType, models: replaceable(models, updatedWith), mapToViewModels: mapToViewModels)
    }

    /// For one section: each model in a cell that a closure makes.
    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable, models: [NewModel],
        updatedWith: UpdateHandler<[NewModel]>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> {
        bind(cellProvider: cellProvider, models: replaceable(models, updatedWith))
    }

    /// For one section: a number of cells that a closure makes.
    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable, numberOfCells: Int,
        updatedWith: UpdateHandler<Int>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        bind(cellProvider: cellProvider, numberOfCells: replaceable(numberOfCells, updatedWith))
    }
}

// Titles.
extension BindingChain {
    /// Every section's header title; `nil` for none.
    @discardableResult
    public func bind(headerTitle: String?, updatedWith: UpdateHandler<String?>? = nil) -> Self {
        guard let updatedWith else { return edit { $0.header = Computed(title: headerTitle) } }
        let title = replaceable(headerTitle, updatedWith)
        return bind(headerTitle: { _ in title() })
    }

    /// Every section's footer title; `nil` for none.
    @discardableResult
    public func bind(footerTitle: String?, updatedWith: UpdateHandler<String?>? = nil) -> Self {
        guard let updatedWith else { return edit { $0.footer = Computed(title: footerTitle) } }
        let title = replaceable(footerTitle, updatedWith)
        return bind(footerTitle: { _ in title() })
    }

    /// Header titles; `nil` for none. A section left out keeps what the chain binds otherwise.
    @discardableResult
    public func bind(headerTitles: [Section: String?], updatedWith: UpdateHandler<[Section: String?]>? = nil) -> Self {
        if updatedWith != nil { return bind(headerTitles: replaceable(headerTitles, updatedWith)) }
        for section in headerTitles.keys { bindings.add(section) }
        return edit { $0.headers.merge(byID(headerTitles)) { $1 } }
    }

    /// Footer titles; `nil` for none. A section left out keeps what the chain binds otherwise.
    @discardableResult
    public func bind(footerTitles: [Section: String?], updatedWith: UpdateHandler<[Section: String?]>? = nil) -> Self {
        if updatedWith != nil { return bind(footerTitles: replaceable(footerTitles, updatedWith)) }
        for section in footerTitles.keys { bindings.add(section) }
        return edit { $0.footers.merge(byID(footerTitles)) { $1 } }
    }

    private func byID(_ titles: [Section: String?]) -> [(SectionID, Computed<SectionInput>)] {
        titles.map { ($0.sectionID, Computed(title: $1)) }
    }
}

extension Computed<SectionInput> {
    fileprivate init(title: String?) { self.init(constant: title.map { .string($0) } ?? .null) }
}
