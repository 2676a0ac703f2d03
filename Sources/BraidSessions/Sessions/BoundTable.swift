import BraidEngine
import BraidStore

/// What a session is bound to: a table description, or data without one.
package struct BoundTable: Sendable {
    let description: TableDescription?
    /// `nil`: not registered.
    let version: Int?
    /// Shown without a description while there are no rows.
    let empty: JSONText?
    package var limits = TableLimits()

    package init(_ description: TableDescription, version: Int?) {
        self.description = description
        self.version = version
        empty = nil
    }

    package init(showing empty: JSONText?) {
        description = nil
        version = nil
        self.empty = empty
    }

    /// A copy: sessions with other limits share the description's binder.
    package var binder: Binder {
        var binder = description?.binder ?? Binder.dataSource.showing(empty: empty)
        binder.limits = limits
        return binder
    }

    /// Whether people can have tables of their own.
    package var readsViewer: Bool { description?.binder.readsViewer ?? false }
    /// Whether some people may not know of some rows.
    var hidesRows: Bool { description?.binder.hidesRows ?? false }

    package func rebound(by rebinding: Rebinding?) -> BoundTable {
        guard let rebinding, let description = rebinding.description else { return self }
        var table = BoundTable(description, version: rebinding.version)
        table.limits = limits
        return table
    }

    var stored: SessionDescription? {
        description.map { SessionDescription(table: $0.name, version: version, text: $0.text) }
    }

    package func content(of opening: SessionOpening) throws -> TableModel {
        guard let description else { return try binder.openingTable(opening.sections, cells: opening.cells) }
        return try description.openingTable(models: opening.models, state: opening.state, within: limits)
    }

    /// What a reset sets the session back to. Models that do not fit the version bound now are left out.
    package func resetContent(of opening: SessionOpening) throws -> TableModel {
        if let fork = opening.fork {
            let table = try fork.table
            guard let description, description.text != fork.description else { return table }
            let models = table.sections.map { (section: $0.id, models: $0.rows.map(\.model)) }
            return try description.openingTable(
                models: description.fitting(models), state: fork.state, displayed: table.displayedSections,
                within: limits)
        }
        guard let description else { return try content(of: opening) }
        return try description.openingTable(
            models: description.fitting(opening.models), state: opening.state, within: limits)
    }
}

extension SessionHost {
    /// With the description compiled, from the store or from the command's own text.
    func compiled(_ rebinding: Rebinding, for session: Session) async throws -> Rebinding {
        guard let name = session.table else {
            throw SessionError(
                .noTable,
                "The session was opened without a table description, so it cannot be bound to another version.")
        }
        var rebinding = rebinding
        switch rebinding.source {
        case .version(let version):
            guard let table = try await store.table(name, version: version) else {
                throw SessionError(
                    .noTable,
                    "The table description \"\(name)\" has no version \(version). GET /v1/tables/\(name)/versions lists the versions."
                )
            }
            rebinding.source = .compiled(try descriptions.compiled(table.description), version: version)
        case .inline(let text):
            let place = JSONPointer.root.appending("table")
            let description: TableDescription
            do {
                description = try descriptions.compiled(text)
            } catch let refusal as Refusal {
                throw refusal.placed(at: place)
            }
            guard description.name == name else {
                throw Refusal(
                    .descriptionInvalid,
                    "The description has the name \"\(description.name)\", but the session's table is \"\(name)\".",
                    faults: [
                        .init(
                            pointer: place.appending("table"), code: .conflict,
                            detail: "must be \"\(name)\", as in the session's description")
                    ])
            }
            rebinding.source = .compiled(description, version: nil)
        case .compiled: break
        }
        return rebinding
    }

    /// Binds the table's sessions, followed ones first. One that cannot be bound (it would lose models, for example)
    /// keeps its version, as does one whose description is not registered.
    package func bindSessions(of table: String, to version: Int) async throws -> (
        bound: Int, left: [(session: String, error: any Error)]
    ) {
        var ids: [String] = [], after: String?
        repeat {
            let page = try await store.sessions(of: table, after: after, limit: 1_000)
            ids += page.filter { $0.tableVersion != nil && $0.tableVersion != version }.map(\.id)
            after = page.last?.id
        } while after != nil
        let isFollowed = { [self] (id: String) in inMemory(id)?.isFollowed == true }
        ids = ids.filter(isFollowed) + ids.filter { !isFollowed($0) }
        var bound = 0, left: [(session: String, error: any Error)] = []
        // Several at once can share the store's transaction.
        for start in stride(from: 0, to: ids.count, by: Self.boundAtOnce) {
            await withTaskGroup(of: (id: String, error: (any Error)?).self) { group in
                for id in ids[start..<min(start + Self.boundAtOnce, ids.count)] {
                    group.addTask { [self] in
                        do {
                            let command = Command.rebind(Rebinding(version: version))
                            _ = try await execute(CommandRequest(session: id, command, text: .null))
                            return (id, nil)
                        } catch {
                            return (id, error)
                        }
                    }
                }
                for await (id, error) in group {
                    switch error {
                    case nil: bound += 1
                    // Ended meanwhile.
                    case let error as SessionError where error.code == .noSession: break
                    case let error?: left.append((id, error))
                    }
                }
            }
        }
        return (bound, left.sorted { $0.session < $1.session })
    }

    private static let boundAtOnce = 16
}
