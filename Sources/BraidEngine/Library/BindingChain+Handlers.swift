// Binds a program's handlers. A handler that throws refuses the command, so the table does not change.
//
// A row's index counts from 0 within its section. `onDelete` gets the index that the row had before it was removed, and
// `onInsert` gets the index of the inserted row.

extension BindingChain {
    private func handler(takesModel: Bool = true, _ run: @escaping (Section, HandlerCall) throws -> Void) -> Handler {
        let program = Confined((sections: bindings.sections, run: run))
        return Handler(takesModel: takesModel) { call, _, _ in
            try program.value.run(program.value.sections.section(call.section), call)
        }
    }

    /// Binds the closure that runs when a row is tapped. The closure gets the section and the row's index in it.
    ///
    /// The tap handler of a chain that begins with `onAnySection()` runs in addition to the section's own tap handler.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int) throws -> Void) -> Self {
        edit { $0.onTap = handler { try run($0, $1.row) } }
    }

    /// Binds the closure that runs when a row is tapped. The closure gets the section, the row's index in the section,
    /// and the row's model.
    ///
    /// The tap handler of a chain that begins with `onAnySection()` runs in addition to the section's own tap handler.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int, Model) throws -> Void) -> Self {
        let values = bindings.values
        return edit { $0.onTap = handler { try run($0, $1.row, values.model($1.model)) } }
    }

    /// Binds the closure that runs when a cell of the type `cellType` emits an event: see
    /// ``SectionedTableBinder/emit(_:at:)``.
    ///
    /// - Parameters:
    ///   - cellType: the type of cells whose events are handled.
    ///   - run: gets the section, the row's index in it and the event.
    @discardableResult
    public func onEvent<Emitter: ViewEventEmitting>(
        from cellType: Emitter.Type, _ run: @escaping (Section, Int, Emitter.ViewEvent) throws -> Void
    ) -> Self {
        let values = bindings.values
        return on(Emitter.self) { try run($0, $1.row, values.model($1.event ?? .null)) }
    }

    /// Binds the closure that runs, with the row's model, when a cell of the type `cellType` emits an event: see
    /// ``SectionedTableBinder/emit(_:at:)``.
    ///
    /// - Parameters:
    ///   - cellType: the type of cells whose events are handled.
    ///   - run: gets the section, the row's index in it, the event and the model.
    @discardableResult
    public func onEvent<Emitter: ViewEventEmitting>(
        from cellType: Emitter.Type, _ run: @escaping (Section, Int, Emitter.ViewEvent, Model) throws -> Void
    ) -> Self {
        let values = bindings.values
        return on(Emitter.self) { try run($0, $1.row, values.model($1.event ?? .null), values.model($1.model)) }
    }

    private func on<Emitter: ViewEventEmitting>(
        _: Emitter.Type, _ run: @escaping (Section, HandlerCall) throws -> Void
    ) -> Self {
        edit { binding in
            binding.onEvent[UTF8Key(Emitter.reuseIdentifier), default: [:]][UTF8Key(Emitter.eventName)] = handler(run)
        }
    }

    /// Binds the closure that removes a deleted or moved row's model from the program's data. The command fails unless
    /// the closure makes the section lose exactly one model. For a move inside the section, the number of models must
    /// be unchanged after `onInsert`.
    ///
    /// The closure gets the section, the row's index in it, the reason and the model.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>, Model) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onDelete = handler {
                try run($0, $1.row, bindings.deletionReason($1), bindings.values.model($1.model))
            }
        }
    }

    /// Binds the closure that removes a deleted or moved row's model from the program's data. Unlike the other
    /// `onDelete`, the closure does not get the model. The command fails unless the section loses exactly one model.
    /// For a move inside the section, the number of models must be unchanged after `onInsert`.
    ///
    /// The closure gets the section, the row's index in it and the reason.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onDelete = handler(takesModel: false) { try run($0, $1.row, bindings.deletionReason($1)) }
        }
    }

    /// Binds the closure that inserts a new or moved model into the program's data. The command fails unless the
    /// closure makes the section gain exactly one model. For a move inside the section, the number of models must be
    /// the same as before `onDelete`.
    ///
    /// The closure gets the section, the new row's index in it, the reason and the moved model. The model is `nil` for
    /// an insert by editing, for which the program makes the model.
    @discardableResult
    public func onInsert(_ run: @escaping (Section, Int, InsertionReason<Section>, Model?) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onInsert = handler {
                try run(
                    $0, $1.row, bindings.insertionReason($1), $1.model.isNull ? nil : bindings.values.model($1.model))
            }
        }
    }

    /// Binds the closure that inserts a model into the program's data. Unlike the other `onInsert`, the closure does
    /// not get a moved model: the program makes the model. The command fails unless the section gains exactly one
    /// model. For a move inside the section, the number of models must be the same as before `onDelete`.
    ///
    /// Rows whose models have another type can therefore be moved to the chain's sections, too. The closure gets the
    /// section, the new row's index in it and the reason.
    @discardableResult
    public func onInsert(_ run: @escaping (Section, Int, InsertionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onInsert = handler(takesModel: false) { try run($0, $1.row, bindings.insertionReason($1)) }
        }
    }

    /// Binds the closure that runs when a row near its section's end is displayed, as
    /// ``SectionedTableBinder/willDisplay(_:)`` reports. The closure runs again for the section only if the section has
    /// more rows than at the last run, or since then has got another last row or was filled again with fewer rows.
    ///
    /// - Parameters:
    ///   - cellsFromEnd: the largest distance from the section's last row, at least 0. 0 means the last row.
    ///   - run: gets the section and the displayed row's index in it.
    @discardableResult
    public func prefetch(cellsFromEnd: Int, _ run: @escaping (Section, Int) throws -> Void) -> Self {
        if cellsFromEnd < 0 { bindings.mistakes.append("`cellsFromEnd` must be 0 at least.") }
        return edit { binding in
            binding.prefetchDistance = max(0, cellsFromEnd)
            binding.onPrefetch = handler { try run($0, $1.row) }
        }
    }
}

extension ProgramBindings {
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
    /// The single event name that the table uses for all events of this cell type. An event's parameters represent the
    /// program's event value.
    ///
    /// The name comes from the Swift type of the cell, so that two types whose cells share a reuse identifier have
    /// different names.
    static var eventName: String { "\(ObjectIdentifier(Self.self))" }
}

/// The reason why a row's model is deleted from a section.
public enum DeletionReason<Section: TableSection>: Sendable {
    /// The person deleted the row.
    case editing
    /// The row moved to another place. `row` is the row's new index in the target section, counted after the model has
    /// been removed from its old place.
    case moved(toSection: Section, row: Int)
}

/// The reason why a model is inserted into a section.
public enum InsertionReason<Section: TableSection>: Sendable {
    /// The person inserted a row.
    case editing
    /// The row moved from another place. `row` is the index that the row had in the source section before the move.
    case moved(fromSection: Section, row: Int)
}
