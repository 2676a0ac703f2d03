/// A chain of links that bind cells, models, titles, dimensions, policies and handlers to a scope of sections.
///
/// The article <doc:BindingChainScopes> says which binding wins if several bindings are about the same section.
///
/// `Cell` and `Model` are the types of the cells and models that the chain's closures receive. Before the chain binds
/// cells, `Cell` is `any ReuseIdentifiable`. Before the chain binds or assumes models, `Model` is `Never`.
///
/// Source: Braid's binding chains.
public struct BindingChain<Section: TableSection, Cell, Model> {
    let bindings: TableBindings<Section>
    let index: Int

    var binding: Binding { bindings.bindings[index] }

    @discardableResult
    func edit(_ edit: (inout Binding) -> Void) -> Self {
        bindings.noteBinding()
        edit(&bindings.bindings[index])
        return self
    }

    /// Returns the same chain, typed with other `Cell` and `Model` types.
    func carrying<NewCell, NewModel>(_: NewCell.Type, _: NewModel.Type) -> BindingChain<Section, NewCell, NewModel> {
        BindingChain<Section, NewCell, NewModel>(bindings: bindings, index: index)
    }
}

// The links of a chain that bind cells and models.
extension BindingChain {
    @discardableResult
    func bind(_ cells: CellBinding, of type: ModelType? = nil) -> Self {
        edit { binding in
            binding.cells = cells
            if let type { binding.modelType = type }
        }
    }

    /// Records the name of the model type that this chain's handlers expect. Another chain binds the models of the same
    /// sections.
    @discardableResult
    func assuming(modelTypeNamed name: String) -> Self { edit { $0.assumedType = UTF8Key(name) } }

    /// Sets whether changed rows of the chain's sections appear in updates as `updateRows` instead of `reloadRows`.
    ///
    /// - Parameter manually: if true, the program itself updates the cells of changed rows.
    @discardableResult
    public func updates(manually: Bool) -> Self { edit { $0.updatesManually = manually } }
}

// The links of a chain that bind headers, footers and heights.
extension BindingChain {
    /// Binds a header: a string, null, or `{"view": name, "viewModel": …}`.
    ///
    /// - Parameter section: the section with this header. `nil` binds the header to those sections of the scope that
    ///   have no header by section id.
    @discardableResult
    func bind(header: Computed<SectionInput>, of section: SectionID? = nil) -> Self {
        edit { if let section { $0.headers[section] = header } else { $0.header = header } }
    }

    @discardableResult
    func bind(footer: Computed<SectionInput>, of section: SectionID? = nil) -> Self {
        edit { if let section { $0.footers[section] = footer } else { $0.footer = footer } }
    }

    @discardableResult func bind(headerView: Computed<SectionInput>) -> Self { edit { $0.headerView = headerView } }
    @discardableResult func bind(footerView: Computed<SectionInput>) -> Self { edit { $0.footerView = footerView } }
    @discardableResult func cellHeight(_ height: Computed<RowInput>) -> Self { edit { $0.cellHeight = height } }
    @discardableResult func estimatedCellHeight(_ height: Computed<RowInput>) -> Self {
        edit { $0.estimatedCellHeight = height }
    }
    @discardableResult func headerHeight(_ height: Computed<SectionInput>) -> Self { edit { $0.headerHeight = height } }
    @discardableResult func estimatedHeaderHeight(_ height: Computed<SectionInput>) -> Self {
        edit { $0.estimatedHeaderHeight = height }
    }
    @discardableResult func footerHeight(_ height: Computed<SectionInput>) -> Self { edit { $0.footerHeight = height } }
    @discardableResult func estimatedFooterHeight(_ height: Computed<SectionInput>) -> Self {
        edit { $0.estimatedFooterHeight = height }
    }
}

// The links of a chain that bind editing, moving and handlers.
extension BindingChain {
    /// Binds a function that computes a row's editing style: the JSON string `"none"`, `"delete"` or `"insert"`.
    @discardableResult
    func allowEditing(_ style: Computed<RowInput>) -> Self { edit { $0.editing = style } }

    /// Binds a function that creates an inserted row's model. If the command gives a model, that model is applied to
    /// the created model as a merge patch (RFC 7396).
    @discardableResult
    func insertTemplate(_ template: @escaping @Sendable (SectionID, Evaluation) throws -> JSONText?) -> Self {
        edit { $0.insertTemplate = template }
    }

    /// Binds the policy that decides to which sections rows may be moved.
    ///
    /// - Parameter rowIsMovable: computes for each row whether it may be moved, as a JSON boolean. `nil` makes every
    ///   row movable.
    @discardableResult
    func allowMoving(_ policy: MovePolicy, rowIsMovable: Computed<RowInput>?) -> Self {
        edit { binding in
            binding.moving = policy
            binding.movable = rowIsMovable
        }
    }

    @discardableResult func onDelete(_ handler: Handler) -> Self { edit { $0.onDelete = handler } }
    @discardableResult func onInsert(_ handler: Handler) -> Self { edit { $0.onInsert = handler } }
    @discardableResult func onTapped(_ handler: Handler) -> Self { edit { $0.onTap = handler } }

    @discardableResult
    func onEvent(_ event: String, from cell: String, _ handler: Handler) -> Self {
        edit { $0.onEvent[UTF8Key(cell), default: [:]][UTF8Key(event)] = handler }
    }

    /// Binds a handler that runs when a client reports that it displays a row near the end of a section. For the same
    /// section, it runs again only after the section has grown, has got another last row or has been filled again with
    /// fewer rows, or the session has been reset.
    ///
    /// - Parameter cellsFromEnd: the largest distance from the section's end, in rows, at which the handler runs.
    @discardableResult
    func prefetch(cellsFromEnd: Int, _ handler: Handler?) -> Self {
        edit { binding in
            binding.prefetchDistance = cellsFromEnd
            binding.onPrefetch = handler
        }
    }
}
