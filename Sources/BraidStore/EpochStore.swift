/// A store that can give one session a new epoch, for servers in test mode.
public protocol EpochStore: SessionStore {
    /// Stores a new epoch for a session, which keeps its revision and its content.
    func setEpoch(_ epoch: String, of sessionNumber: Int) async throws
}
