/// Links that bind cells, models, titles, dimensions, policies and handlers to a scope of sections.
///
/// `Cell` and `Model` are what the closures receive: `any ReuseIdentifiable` before the chain binds cells, `Never`
/// before it binds or assumes models.
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

    func carrying<NewCell, NewModel>(_: NewCell.Type, _: NewModel.Type) -> BindingChain<Section, NewCell, NewModel> {
        BindingChain<Section, NewCell, NewModel>(bindings: bindings, index: index)
    }

    /// Whether changed rows of the chain's sections appear in updates as `updateRows` instead of `reloadRows`: the
    /// program itself then updates their cells.
    @discardableResult
    public func updates(manually: Bool) -> Self { edit { $0.updatesManually = manually } }
}
