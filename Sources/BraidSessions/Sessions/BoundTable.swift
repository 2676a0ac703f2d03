import BraidEngine
import BraidStore

/// The table to which a session is bound: a table description, or data without a description.
package struct BoundTable: Sendable {
    /// `nil` for a session that was opened without a description.
    let description: TableDescription?
    /// `nil` if the description is not a registered version.
    let version: Int?
    /// The JSON that a session without a description shows while it has no rows. `nil` if it shows nothing then.
    let empty: JSONText?
    /// The limits of the table's size and of a command's cost.
    package var limits = TableLimits()

    package init(_ description: TableDescription, version: Int?) {
        self.description = description
        self.version = version
        empty = nil
    }

    /// Creates the table of a session without a description.
    package init(showing empty: JSONText?) {
        description = nil
        version = nil
        self.empty = empty
    }

    /// A copy on each access, because sessions with other limits share the binder of the description.
    package var binder: Binder {
        var binder = description?.binder ?? Binder.dataSource.showing(empty: empty)
        binder.limits = limits
        return binder
    }

    /// Returns the table after a rebinding, with the same limits.
    package func rebound(by rebinding: Rebinding?) -> BoundTable {
        guard let rebinding, let description = rebinding.description else { return self }
        var table = BoundTable(description, version: rebinding.version)
        table.limits = limits
        return table
    }

    /// The table description and its version in the form in which the store keeps them. `nil` for a session without a
    /// description.
    var stored: SessionDescription? {
        description.map { SessionDescription(table: $0.name, version: version, text: $0.text) }
    }

    /// Returns the content with which a session of this table starts. Throws a `Refusal` if a model does not fit.
    package func content(of opening: SessionOpening) throws -> TableModel {
        guard let description else { return try binder.openingTable(opening.sections, cells: opening.cells) }
        return try description.openingTable(models: opening.models, state: opening.state, within: limits)
    }

    /// Returns the content to which a reset sets back a session that `opening` has opened. Models that do not fit the
    /// version to which it is bound now are left out.
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
    /// Returns a rebinding with its compiled description.
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

    /// Binds all sessions of a registered table to a version, those with followers on this server first. A session that
    /// cannot be bound, for example because it would lose models, keeps its version, and so does one whose description
    /// is not a registered version.
    ///
    /// - Returns: the number of sessions that this call has bound, and those that could not be bound, with the errors.
    package func bindSessions(of table: String, to version: Int) async throws -> (
        bound: Int, left: [(session: String, error: any Error)]
    ) {
        var ids: [String] = [], after: String?
        repeat {
            let page = try await store.sessions(of: table, after: after, limit: 1_000)
            ids += page.filter { $0.tableVersion != nil && $0.tableVersion != version }.map(\.id)
            after = page.last?.id
        } while after != nil
        let isFollowed = { [self] (id: String) in inMemory(id)?.feed.isFollowed == true }
        ids = ids.filter(isFollowed) + ids.filter { !isFollowed($0) }
        var bound = 0, left: [(session: String, error: any Error)] = []
        // Several at a time, so that the store can commit them in one transaction.
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
                    // The session was ended meanwhile.
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
