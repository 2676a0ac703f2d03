import BraidEngine
import Synchronization

/// A cache by text, for all sessions. Registered ones are kept, too: usually a session is opened with them next.
package final class CompiledDescriptions: Sendable {
    private struct Cache {
        var descriptions: [JSONText: TableDescription] = [:]
        var bytes = 0
    }

    private let cache = Mutex(Cache())
    let compilations = Counter()

    static let most = 256
    /// Of text; compiled, it needs a multiple.
    static let mostBytes = 4 << 20

    /// For a stored description. It may have any ids: an earlier version may have stored it.
    func compiled(_ text: JSONText) throws -> TableDescription {
        if let description = cache.withLock({ $0.descriptions[text] }) { return description }
        return try compile(text) { try TableDescription(stored: $0) }
    }

    /// By today's rules for ids, so never from the cache: `compiled` may have added it.
    package func compile(new text: JSONText) throws -> TableDescription {
        try compile(text) { try TableDescription($0) }
    }

    private func compile(
        _ text: JSONText, _ compile: (JSONText) throws -> TableDescription
    ) throws -> TableDescription {
        compilations.add()
        let text = text.detached, description = try compile(text)
        guard text.count <= Self.mostBytes else { return description }
        cache.withLock { cache in
            if cache.descriptions.count >= Self.most || cache.bytes + text.count > Self.mostBytes { cache = Cache() }
            if cache.descriptions.updateValue(description, forKey: text) == nil { cache.bytes += text.count }
        }
        return description
    }
}
