extension JSONValue {
    /// This value after a JSON merge patch (RFC 7396, section 2): an object's members replace, `null` removes,
    /// anything that is no object replaces the whole.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let patch) = patch else { return patch }
        var target = objectValue ?? JSONObject()
        // Removed together: each by itself would move all behind it.
        var removed: Set<UTF8Key> = []
        for (name, value) in patch.members {
            if value.isNull { removed.insert(UTF8Key(name)) } else { target[name] = (target[name] ?? .null).merging(patch: value) }
        }
        if !removed.isEmpty { target.removeMembers(named: removed) }
        return .object(target)
    }
}
