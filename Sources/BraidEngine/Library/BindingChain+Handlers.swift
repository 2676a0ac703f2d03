// A handler that throws refuses the command, so the table does not change. Rows count from 0 within their section: for
// `onDelete` as before the delete, for `onInsert` as after the insert.

extension BindingChain {
    private func handler(takesModel: Bool = true, _ run: @escaping (Section, HandlerCall) throws -> Void) -> Handler {
        let program = Confined((sections: bindings.sections, run: run))
        return Handler(takesModel: takesModel) { call, _, _ in
            try program.value.run(program.value.sections.section(call.section), call)
        }
    }

    /// Runs when a row is tapped, with its section and index. Of a chain of `onAnySection()`, in addition to the
    /// section's own.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int) throws -> Void) -> Self {
        edit { $0.onTap = handler { try run($0, $1.row) } }
    }

    /// As the other `onTapped`, with the model as well.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int, Model) throws -> Void) -> Self {
        let values = bindings.values
        return edit { $0.onTap = handler { try run($0, $1.row, values.model($1.model)) } }
    }

    /// Runs when a cell of the type emits an event (``SectionedTableBinder/emit(_:at:)``), with the row's section and
    /// index, and the event.
    @discardableResult
    public func onEvent<Emitter: ViewEventEmitting>(
        from cellType: Emitter.Type, _ run: @escaping (Section, Int, Emitter.ViewEvent) throws -> Void
    ) -> Self {
        let values = bindings.values
        return on(Emitter.self) { try run($0, $1.row, values.model($1.event ?? .null)) }
    }

    /// As the other `onEvent`, with the model as well.
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

    /// Removes a deleted or moved row's model from the program's data. The closure gets its section and index, the
    /// reason and the model.
    ///
    /// The command fails unless the section loses exactly one model or, for a move inside it, has as many again after
    /// `onInsert`.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>, Model) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onDelete = handler {
                try run($0, $1.row, bindings.deletionReason($1), bindings.values.model($1.model))
            }
        }
    }

    /// As the other `onDelete`, without the model.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onDelete = handler(takesModel: false) { try run($0, $1.row, bindings.deletionReason($1)) }
        }
    }

    /// Inserts a new or moved model into the program's data. The closure gets the section, the new row's index in it,
    /// the reason and the moved model: `nil` for an insert by editing, for which the program makes the model.
    ///
    /// The command fails unless the section gains exactly one model or, for a move inside it, has as many again as
    /// before `onDelete`.
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

    /// As the other `onInsert`, without the moved model: the program makes it, so rows of other model types can be
    /// moved here, too.
    @discardableResult
    public func onInsert(_ run: @escaping (Section, Int, InsertionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onInsert = handler(takesModel: false) { try run($0, $1.row, bindings.insertionReason($1)) }
        }
    }

    /// Runs when one of the last rows of a section, at most `cellsFromEnd` before its last, is displayed
    /// (``SectionedTableBinder/willDisplay(_:)``), with the section and that row's index. It runs again only if the
    /// section has more rows or another last row, or was filled again with fewer.
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
    /// One for all events of the cell type; the parameters represent the program's value. By type, because two types
    /// can share a reuse identifier.
    static var eventName: String { "\(ObjectIdentifier(Self.self))" }
}

/// Why a row's model is deleted from a section.
public enum DeletionReason<Section: TableSection>: Sendable {
    /// The person deleted the row.
    case editing
    /// `row` is the new index in the target section, without the old place.
    case moved(toSection: Section, row: Int)
}

/// Why a model is inserted into a section.
public enum InsertionReason<Section: TableSection>: Sendable {
    /// The person inserted a row.
    case editing
    /// `row` is the index in the source section before the move.
    case moved(fromSection: Section, row: Int)
}
