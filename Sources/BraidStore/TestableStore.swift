/// A store with the additional operations that a server in test mode needs.
public protocol TestableStore: SessionStore {
    /// Keeps a copy of everything that the store contains now, in memory. A later call replaces the copy.
    func keepContent() throws
    /// Replaces everything that the store contains by the kept copy.
    ///
    /// - Parameter beginsEpochs: whether all sessions of the copy get new epochs.
    /// - Complexity: O(content of the store and of the copy).
    func restoreContent(beginsEpochs: Bool) async throws
    /// Stores a new epoch for a session, which keeps its revision and its content.
    func setEpoch(_ epoch: String, of sessionNumber: Int) async throws
}
