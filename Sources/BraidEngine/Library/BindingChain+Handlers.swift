// A handler that throws refuses the command, and the table does not change. Rows count from 0 in their section:
// `onDelete` as before the delete, `onInsert` as after the insert.

extension BindingChain {
    private func handler(takesModel: Bool = true, _ run: @escaping (Section, HandlerCall) throws -> Void) -> Handler {
        let program = Confined((sections: bindings.sections, run: run))
        return Handler(takesModel: takesModel) { call, _, _ in
            try program.value.run(program.value.sections.section(call.section), call)
        }
    }

    /// Runs at a tap (section, index). `onAnySection()` adds to the section's own.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int) throws -> Void) -> Self {
        edit { $0.onTap = handler { try run($0, $1.row) } }
    }

    /// As the other, with the model.
    @discardableResult
    public func onTapped(_ run: @escaping (Section, Int, Model) throws -> Void) -> Self {
        let values = bindings.values
        return edit { $0.onTap = handler { try run($0, $1.row, values.model($1.model)) } }
    }

    /// Runs when a cell of the type emits an event (``SectionedTableBinder/emit(_:at:)``): section, index, event.
    @discardableResult
    public func onEvent<Emitter: ViewEventEmitting>(
        from cellType: Emitter.Type, _ run: @escaping (Section, Int, Emitter.ViewEvent) throws -> Void
    ) -> Self {
        let values = bindings.values
        return on(Emitter.self) { try run($0, $1.row, values.model($1.event ?? .null)) }
    }

    /// As the other, with the model.
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

    /// Removes a deleted or moved row's model from the program's data (section, index, reason, model).
    ///
    /// The section must lose exactly one model, or the command fails; in a move inside it, `onInsert` brings it back.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>, Model) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onDelete = handler {
                try run($0, $1.row, bindings.deletionReason($1), bindings.values.model($1.model))
            }
        }
    }

    /// As the other, without the model.
    @discardableResult
    public func onDelete(_ run: @escaping (Section, Int, DeletionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onDelete = handler(takesModel: false) { try run($0, $1.row, bindings.deletionReason($1)) }
        }
    }

    /// Inserts a new or moved model into the program's data (section, new index, reason, moved model, or `nil` to make
    /// one).
    ///
    /// The section must gain exactly one model, or the command fails; in a move inside it, `onDelete` took one before.
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

    /// As the other, but the program makes every model, so rows of other model types can move here, too.
    @discardableResult
    public func onInsert(_ run: @escaping (Section, Int, InsertionReason<Section>) throws -> Void) -> Self {
        let bindings = bindings
        return edit {
            $0.onInsert = handler(takesModel: false) { try run($0, $1.row, bindings.insertionReason($1)) }
        }
    }

    /// Runs when a row is displayed at most `cellsFromEnd` before the last (``SectionedTableBinder/willDisplay(_:)``):
    /// section, index. Runs again only with more rows, another last one, or after a refill with fewer.
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
    /// Names the type, as two types can share a reuse identifier. One name for all of its events, which are the
    /// parameters.
    static var eventName: String { "\(ObjectIdentifier(Self.self))" }
}

/// Why a row left a section.
public enum DeletionReason<Section: TableSection>: Sendable {
    /// A person deleted it.
    case editing
    /// Its new index, which does not count the old place.
    case moved(toSection: Section, row: Int)
}

/// Why a row came to a section.
public enum InsertionReason<Section: TableSection>: Sendable {
    /// A person inserted it.
    case editing
    /// Its index before the move.
    case moved(fromSection: Section, row: Int)
}
