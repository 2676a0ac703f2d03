import BraidStore

extension SessionHost {
    /// Starts to receive the notices of other servers, if several servers can share the store.
    package func listen() throws {
        try store.sharing?.listen { [weak self] notice in self?.hear(notice) }
    }

    private func hear(_ notice: StoreNotice) {
        switch notice {
        case .committed(let number, let revision): inMemory(number: number)?.hear(revision: revision)
        case .ended(let number):
            forget(number)
            tokens.revokeAll(of: number)
        case .revoked(let token): tokens.end(token)
        case .renewed: for session in inMemory { session.markStale() }
        case .hearing:
            lookForNews()
            Task { try? await tokens.endRevoked() }
        case .look: lookForNews()
        }
    }

    private func lookForNews() {
        for session in inMemory where session.feed.isFollowed { session.refreshSoon() }
    }
}
