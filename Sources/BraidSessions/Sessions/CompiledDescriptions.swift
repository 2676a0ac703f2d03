import BraidEngine
import Synchronization

/// A cache of compiled table descriptions. Sessions whose table descriptions have the same text share the compiled
/// description that the cache contains. The cache does not contain descriptions of more than 64 KiB. A full cache is
/// emptied.
final class CompiledDescriptions: Sendable {
    private let compiled = Mutex<[JSONText: TableDescription]>([:])
    private static let most = 256
    /// Bytes: a full cache has at most 16 MiB of texts.
    private static let largestText = 64 * 1024

    func compiled(_ text: JSONText) throws -> TableDescription {
        guard text.count <= Self.largestText else { return try TableDescription(stored: text) }
        if let description = compiled.withLock({ $0[text] }) { return description }
        let text = text.detached
        let description = try TableDescription(stored: text)
        compiled.withLock { compiled in
            if compiled.count >= Self.most { compiled.removeAll() }
            compiled[text] = description
        }
        return description
    }
}
