/// A store that can restore its whole content, for servers in test mode.
public protocol RestorableStore: SessionStore {
    /// Keeps a copy of everything that the store contains now, in memory. A later call replaces the copy.
    func keepContent() throws
    /// Replaces everything that the store contains by the kept copy.
    ///
    /// - Parameter beginsEpochs: whether all sessions of the copy get new epochs.
    /// - Complexity: O(content of the store and of the copy).
    func restoreContent(beginsEpochs: Bool) async throws
}
