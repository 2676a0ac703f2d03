// What a program does when something happens to a row. A handler that throws refuses the command: the table stays as
// it was. Rows count from 0 within their section; at `onDelete` before the row is taken out, at `onInsert` after it was
// put in.

extension BindingChain {
    private func handler(takesModel: Bool = true, _ run: @escaping (Section, HandlerCall) throws -> Void) -> Handler {
        let program = Confined((sections: bindings.sections, run: run))
        return Handler(takesModel: takesModel) { call, _, _ in try program.value.run(program.value.sections.section(call.section), call) }
    }

    /// Runs when a row is tapped. Of any section: called in addition.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int) throws -> Void) -> Self { onTapped(handler { try run($0, $1.row) }) }

    /// Runs when a row is tapped, with its model. Of any section: called in addition.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int, Model) throws -> Void) -> Self {
        let values = bindings.values
        return onTapped(handler { try run($0, $1.row, values.model($1.model)) })
    }

    /// Something that a cell of this type has to say.
    @discardableResult
    public func onEvent<Emitter: ViewEventEmitting>(
        from cellType: Emitter.Type, _ run: @escaping (Section, Int, Emitter.ViewEvent) throws -> Void
    ) -> Self {
        let values = bindings.values
        return onEvent(Emitter.eventName, from: Emitter.reuseIdentifier, handler { try run($0, $1.row, values.model($1.event ?? .null)) })
    }

    /// Something that a cell of this type has to say, with its row's model.
    @discardableResult
    public func onEvent<Emitter: ViewEventEmitting>(
        from cellType: Emitter.Type, _ run: @escaping (Section, Int, Emitter.ViewEvent, Model) throws -> Void
    ) -> Self {
        let values = bindings.values
        return onEvent(Emitter.eventName, from: Emitter.reuseIdentifier, handler {
            try run($0, $1.row, values.model($1.event ?? .null), values.model($1.model))
        })
    }

    /// Takes the row's model out of the program's data.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>, Model) throws -> Void) -> Self {
        let bindings = bindings
        return onDelete(handler { try run($0, $1.row, bindings.deletionReason($1), bindings.values.model($1.model)) })
    }

    /// Takes the row's model out of the program's data, without a look at the model.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return onDelete(handler(takesModel: false) { try run($0, $1.row, bindings.deletionReason($1)) })
    }

    /// Puts a model into the program's data, at the row: the one that was moved; nil for an insert by editing, whose
    /// model the program makes.
    @discardableResult
    public func onInsert(_ run: @escaping (Section, Int, InsertionReason<Section>, Model?) throws -> Void) -> Self {
        let bindings = bindings
        return onInsert(handler { try run($0, $1.row, bindings.insertionReason($1), $1.model.isNull ? nil : bindings.values.model($1.model)) })
    }

    /// Puts a model that the program makes into its data, at the row. Rows whose models are of another type can be moved
    /// to the sections of the chain, too.
    @discardableResult
    public func onInsert(_ run: @escaping (Section, Int, InsertionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return onInsert(handler(takesModel: false) { try run($0, $1.row, bindings.insertionReason($1)) })
    }

    /// The handler runs when a row is displayed that is at most so many rows from its section's end: once for each
    /// growth of the section; one that is filled anew with fewer rows may grow again.
    @discardableResult
    public func prefetch(cellsFromEnd: Int, _ run: @escaping (Section, Int) throws -> Void) -> Self {
        if cellsFromEnd < 0 { bindings.mistakes.append("`cellsFromEnd` must be 0 at least.") }
        return prefetch(cellsFromEnd: max(0, cellsFromEnd), handler { try run($0, $1.row) })
    }
}

extension TableBindings {
    fileprivate func deletionReason(_ call: HandlerCall) throws(Refusal) -> DeletionReason<Section> {
        guard case .movedTo(let target, let row)? = call.reason else { return .editing }
        return .moved(toSection: try sections.section(target), row: row)
    }

    fileprivate func insertionReason(_ call: HandlerCall) throws(Refusal) -> InsertionReason<Section> {
        guard case .movedFrom(let source, let row)? = call.reason else { return .editing }
        return .moved(fromSection: try sections.section(source), row: row)
    }
}

extension ViewEventEmitting {
    /// The one name of all events of the type, whose parameters are the program's value. Another type has another one,
    /// though its cells may be called the same.
    static var eventName: String { "\(ObjectIdentifier(Self.self))" }
}
