/// A store with the additional operations that a server in test mode (for tests of apps) needs.
public protocol TestableStore: SessionStore {
    /// Copies everything that the store contains now, and keeps the copy in memory. A later call replaces the copy.
    func keepContent() throws
    /// Replaces everything that the store contains by the copy that `keepContent` has kept.
    ///
    /// - Parameter beginsEpochs: whether all sessions of the copy get new epochs.
    /// - Complexity: O(content of the store and of the copy).
    func restoreContent(beginsEpochs: Bool) async throws
    /// Stores a new epoch for a session. The session keeps its revision and its content.
    func setEpoch(_ epoch: String, of sessionNumber: Int) async throws
}
