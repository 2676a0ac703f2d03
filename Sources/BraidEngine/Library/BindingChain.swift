/// Binds cells, models, titles, dimensions, policies and handlers to sections, link by link.
///
/// ```swift
/// binder.onSection(.attending)
///     .bind(cellType: AttendeeCell.self, models: { attending })
///     .onDequeue { section, row, cell, person in cell.title = person.name }
///     .allowEditing(style: .delete)
///     .onDelete { section, row, reason, person in attending.remove(at: row) }
/// ```
/// `Cell` and `Model` are what the closures get: `any ReuseIdentifiable` until cells are bound, `Never` until models
/// are bound or assumed. Source: Braid's binding chains.
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

    /// Puts changed rows into `updateRows` instead of `reloadRows`: the program updates their cells itself.
    @discardableResult
    public func updates(manually: Bool) -> Self { edit { $0.updatesManually = manually } }
}
