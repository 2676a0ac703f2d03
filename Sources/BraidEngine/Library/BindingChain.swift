/// A chain of links that bind cells, models, titles, dimensions, policies and handlers to a scope of sections.
///
/// The article <doc:BindingChainScopes> says which binding wins if several bindings are about the same section.
///
/// `Cell` and `Model` are the types of the cells and models that the chain's closures receive. Before the chain binds
/// cells, `Cell` is `any ReuseIdentifiable`. Before the chain binds or assumes models, `Model` is `Never`.
///
/// Source: Braid's binding chains.
public struct BindingChain<Section: TableSection, Cell, Model> {
    let bindings: ProgramBindings<Section>
    let index: Int

    var binding: ScopeBinding { bindings.bindings[index] }

    @discardableResult
    func edit(_ edit: (inout ScopeBinding) -> Void) -> Self {
        bindings.noteBinding()
        edit(&bindings.bindings[index])
        return self
    }

    /// Returns the same chain, typed with other `Cell` and `Model` types.
    func carrying<NewCell, NewModel>(_: NewCell.Type, _: NewModel.Type) -> BindingChain<Section, NewCell, NewModel> {
        BindingChain<Section, NewCell, NewModel>(bindings: bindings, index: index)
    }
}

extension BindingChain {
    /// Sets whether changed rows of the chain's sections appear in updates as `updateRows` instead of `reloadRows`.
    ///
    /// - Parameter manually: if true, the program itself updates the cells of changed rows.
    @discardableResult
    public func updates(manually: Bool) -> Self { edit { $0.updatesManually = manually } }
}
