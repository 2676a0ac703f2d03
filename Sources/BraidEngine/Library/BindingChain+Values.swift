// Models, numbers and titles as plain values. A value stays as it is, unless the program asks for a closure that replaces it.

/// Is called with a closure that replaces a bound value, and refreshes the table.
///
/// The program keeps that closure, and calls it whenever there is another value:
///
/// ```swift
/// binder.onSection(.first)
///     .bind(cellType: SongCell.self, models: songs, updatedWith: { self.updateSongs = $0 })
/// …
/// updateSongs(newSongs)
/// ```
/// A refresh that throws leaves the table as it was, and the value stays replaced: the next command throws the same.
public typealias UpdateHandler<Value> = (_ update: @escaping (Value) -> Void) -> Void

extension BindingChain {
    /// The closure that reads the value, or what it was replaced with.
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
    // By section.

    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: [Section: [NewModel]], updatedWith: UpdateHandler<[Section: [NewModel]]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: replaceable(models, updatedWith)) }

    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: [Section: [NewCell.ViewModel]], updatedWith: UpdateHandler<[Section: [NewCell.ViewModel]]>? = nil
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> { bind(cellType: cellType, viewModels: replaceable(viewModels, updatedWith)) }

    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: [Section: [NewModel]], mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel,
        updatedWith: UpdateHandler<[Section: [NewModel]]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> {
        bind(cellType: cellType, models: replaceable(models, updatedWith), mapToViewModels: mapToViewModels)
    }

    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable, models: [Section: [NewModel]],
        updatedWith: UpdateHandler<[Section: [NewModel]]>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> { bind(cellProvider: cellProvider, models: replaceable(models, updatedWith)) }

    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable, numberOfCells: [Section: Int],
        updatedWith: UpdateHandler<[Section: Int]>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        bind(cellProvider: cellProvider, numberOfCells: replaceable(numberOfCells, updatedWith))
    }

    // For chains of one section.

    @discardableResult
    public func bind<NewCell: ReuseIdentifiable, NewModel>(
        cellType: NewCell.Type, models: [NewModel], updatedWith: UpdateHandler<[NewModel]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> { bind(cellType: cellType, models: replaceable(models, updatedWith)) }

    @discardableResult
    public func bind<NewCell: ViewModelBindable>(
        cellType: NewCell.Type, viewModels: [NewCell.ViewModel], updatedWith: UpdateHandler<[NewCell.ViewModel]>? = nil
    ) -> BindingChain<Section, NewCell, NewCell.ViewModel> { bind(cellType: cellType, viewModels: replaceable(viewModels, updatedWith)) }

    @discardableResult
    public func bind<NewCell: ViewModelBindable, NewModel>(
        cellType: NewCell.Type, models: [NewModel], mapToViewModels: @escaping (NewModel) throws -> NewCell.ViewModel,
        updatedWith: UpdateHandler<[NewModel]>? = nil
    ) -> BindingChain<Section, NewCell, NewModel> {
        bind(cellType: cellType, models: replaceable(models, updatedWith), mapToViewModels: mapToViewModels)
    }

    @discardableResult
    public func bind<NewModel>(
        cellProvider: @escaping (Section, Int, NewModel) throws -> any ReuseIdentifiable, models: [NewModel],
        updatedWith: UpdateHandler<[NewModel]>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, NewModel> { bind(cellProvider: cellProvider, models: replaceable(models, updatedWith)) }

    @discardableResult
    public func bind(
        cellProvider: @escaping (Section, Int) throws -> any ReuseIdentifiable, numberOfCells: Int, updatedWith: UpdateHandler<Int>? = nil
    ) -> BindingChain<Section, any ReuseIdentifiable, Never> {
        bind(cellProvider: cellProvider, numberOfCells: replaceable(numberOfCells, updatedWith))
    }
}

// Titles. Nil: the section has none.
extension BindingChain {
    /// The same title for every section of the chain.
    @discardableResult
    public func bind(headerTitle: String?, updatedWith: UpdateHandler<String?>? = nil) -> Self {
        guard let updatedWith else { return bind(header: Computed(title: headerTitle)) }
        let title = replaceable(headerTitle, updatedWith)
        return bind(headerTitle: { _ in title() })
    }

    /// The same title for every section of the chain.
    @discardableResult
    public func bind(footerTitle: String?, updatedWith: UpdateHandler<String?>? = nil) -> Self {
        guard let updatedWith else { return bind(footer: Computed(title: footerTitle)) }
        let title = replaceable(footerTitle, updatedWith)
        return bind(footerTitle: { _ in title() })
    }

    /// Titles by section. A section that is left out has the title that the chain binds besides.
    @discardableResult
    public func bind(headerTitles: [Section: String?], updatedWith: UpdateHandler<[Section: String?]>? = nil) -> Self {
        if updatedWith != nil { return bind(headerTitles: replaceable(headerTitles, updatedWith)) }
        for (section, title) in headerTitles { bind(header: Computed(title: title), of: named(section)) }
        return self
    }

    /// Titles by section. A section that is left out has the title that the chain binds besides.
    @discardableResult
    public func bind(footerTitles: [Section: String?], updatedWith: UpdateHandler<[Section: String?]>? = nil) -> Self {
        if updatedWith != nil { return bind(footerTitles: replaceable(footerTitles, updatedWith)) }
        for (section, title) in footerTitles { bind(footer: Computed(title: title), of: named(section)) }
        return self
    }

    /// The id of a section that the program names.
    private func named(_ section: Section) -> SectionID {
        bindings.mistake { () throws(Refusal) in try bindings.sections.add(section) }
        return section.sectionID
    }
}

extension Computed<SectionInput> {
    fileprivate init(title: String?) { self.init(constant: title.map { .string($0) } ?? .null) }
}
