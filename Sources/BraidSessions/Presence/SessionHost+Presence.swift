import BraidEngine
import BraidRuntime

extension SessionHost {
    /// `at` becomes the row's id. Returns the client as others see it. Throws `Refusal`, `badRequest`, `unavailable`,
    /// `quotaExceeded` or `invalidToken`.
    package func putPresence(
        in table: DisplayedTable, of client: Presence.Client, _ user: User, at: RowReference?, data: JSONText?,
        token: AccessToken?, for account: Quota.Account
    ) async throws -> JSONText {
        let session = table.session, number = session.number
        let content = Presence.Content(user: user, at: try at.map { try table.named($0, for: user.role) }, data: data)
        let (json, new) = try presence.put(client, in: number, content, for: account)
        // If it has ended, nobody sees the client any more.
        if session.isStale { throw StaleSession() }
        guard let new, let token else { return json }
        do {
            _ = try await tokens.follow(token, isThere: { [weak new] in new != nil }) { [presence, weak new] in
                // Without its lease, the client has left, and may have come back.
                if new != nil { presence.remove(client, from: number) }
            }
            return json
        } catch {
            presence.remove(client, from: number)
            throw error
        }
    }

    package func removePresence(in session: Session, of client: Presence.Client) {
        presence.remove(client, from: session.number)
    }

    /// `{"present": […]}`. Throws `unavailable` or `quotaExceeded`.
    package func presenceList(
        in table: DisplayedTable, for role: Role, _ account: Quota.Account
    ) throws -> (json: JSONText, lease: Quota.Lease?) {
        let json = presence.list(of: table.session.number, in: table.hidingRows(from: role))
        return (json, try streams.lease(json.count, for: account))
    }
}

extension DisplayedTable {
    fileprivate func named(_ reference: RowReference, for role: Role) throws -> RowReference {
        let table = current
        var binder = table.bound.binder
        binder.limits = session.limits.table(for: role)
        return try binder.named(
            reference, at: JSONPointer.root.appending("at"), in: table.snapshot, of: table.model)
    }
}
