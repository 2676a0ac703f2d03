import BraidEngine
import BraidRuntime
import BraidStore

/// A session's table as one viewer sees it: the session's own, or one of theirs.
package struct DisplayedTable: Sendable {
    package let session: Session
    /// `nil`: the session's own.
    let own: ViewerTable?

    var id: String { session.id }
    var feed: ChangeFeed { own?.feed ?? session.feed }
    var isStale: Bool { session.isStale || own?.isEnded == true }

    /// Of `position`s in this table.
    package var epoch: String { own?.epoch ?? session.epoch }

    var current: SessionTable { own?.current ?? session.current.table }

    var revision: Int { current.snapshot.revision }
    package var totalRowCount: Int { current.snapshot.totalRowCount }
    package var position: Position { position(at: revision) }
    package func position(at revision: Int) -> Position { Position(epoch: epoch, revision: revision) }

    var cachedSnapshot: (revision: Int, bytes: SharedBytes)? {
        if let own { own.cachedSnapshot } else { session.cachedSnapshot }
    }

    func cache(_ encoded: SharedBytes, of revision: Int) {
        if let own { own.cache(encoded, of: revision) } else { session.cache(encoded, of: revision) }
    }
}

extension Session {
    /// What everybody sees who has no table of their own.
    package var displayed: DisplayedTable { DisplayedTable(session: self, own: nil) }

    /// Brought up to the current revision. Throws `badRequest` for a view that the description does not allow,
    /// `StaleSession`, and what rendering throws.
    package func displayed(to looker: Looker, for account: Quota.Account) async throws -> DisplayedTable {
        guard let viewer = try current.bound.viewer(looker) else { return displayed }
        let table = viewers.table(of: viewer, in: self, for: account)
        table.use()
        // The first time, all rows are looked at.
        try await withWindows(
            costing: table.isRendered ? 0 : current.snapshot.totalRowCount, for: account
        ) { try await table.advance(in: self) }
        return DisplayedTable(session: self, own: table)
    }

    /// `nil` for somebody with a table of their own.
    package func displayedAtOnce(to looker: Looker) throws -> DisplayedTable? {
        try current.bound.viewer(looker) == nil ? displayed : nil
    }
}

/// Who looks, and the view that their client chose.
package struct Looker: Sendable {
    package var user: User
    /// `nil`: the description's.
    package var view: JSONText?

    package init(_ user: User, view: JSONText? = nil) {
        self.user = user
        self.view = view
    }

    /// A record's sender; `nil` if its `by` is none.
    init?(by: JSONText?) {
        guard let user = User(by: by) else { return nil }
        self.init(user, view: by?["view"])
    }

    /// For a journal record: with the view, if the sender had a table of their own.
    func by(seeing viewer: Viewer?) -> JSONText? {
        guard viewer != nil, let view else { return user.by }
        let by = user.by ?? .object { $0.member("role", user.role.rawValue) }
        return JSONText(object: (by.members() ?? []) + [("view", view)])
    }
}

extension BoundTable {
    /// `nil` for who sees the session's own table. A controller sees what no user in particular sees.
    func viewer(_ looker: Looker) throws(Refusal) -> Viewer? {
        guard readsViewer || looker.view != nil else { return nil }
        return try binder.viewer(
            looker.user.role == .controller ? User.controller.json : looker.user.json, view: looker.view)
    }
}

extension DisplayedTable {
    /// All that has changed since an earlier revision, in somebody's own table. `nil`: neither memory nor journal reaches
    /// back.
    func update(since revision: Int, for account: Quota.Account) async throws -> BatchUpdate? {
        guard let own, let past = try await session.past(own, at: revision, for: account) else { return nil }
        let now = current
        return try now.bound.binder.seen(by: own.viewer).ownUpdate(
            from: (past.model, past.snapshot), to: (now.model, now.snapshot))
    }
}

extension DisplayedTable {
    /// `nil` beyond memory and journal, or under another description.
    func table(atRevision revision: Int, for account: Quota.Account) async throws -> SessionTable? {
        if let own { return try await session.past(own, at: revision, for: account) }
        do {
            return try await session.table(atRevision: revision)
        } catch let error as SessionError where error.code == .revisionNotAvailable {
            return nil
        }
    }

    /// At any earlier position, as its description of then shows it. Throws as `Session.table(atRevision:)`, and
    /// `revisionNotAvailable` for a position of another table or epoch.
    package func table(at position: Position, seenBy looker: Looker) async throws -> SessionTable {
        guard position.epoch == nil || position.epoch == epoch else {
            throw SessionError(
                .revisionNotAvailable,
                "The position \(position) is of another epoch. This table's epoch is \(epoch): the session was opened again, a backup was restored, or the position is of another view."
            )
        }
        let past = try await session.table(atRevision: position.revision)
        return try past.seen(by: try past.bound.viewer(looker))
    }
}

extension Session {
    /// Somebody's own table at an earlier revision. `nil` beyond memory and journal, or under another description.
    func past(_ own: ViewerTable, at revision: Int, for account: Quota.Account) async throws -> SessionTable? {
        if let known = own.table(at: revision) { return known }
        do {
            let past = try await table(atRevision: revision)
            guard past.bound.description === current.bound.description else { return nil }
            return try await withWindows(costing: past.snapshot.totalRowCount, for: account) {
                try past.seen(by: own.viewer)
            }
        } catch let error as SessionError where error.code == .revisionNotAvailable {
            return nil
        }
    }
}

extension SessionTable {
    /// As one viewer sees it; `nil` sees the session's own.
    func seen(by viewer: Viewer?) throws -> SessionTable {
        guard let viewer else { return self }
        return showing(try bound.binder.seen(by: viewer).ownSnapshot(of: model, sharing: snapshot))
    }
}
