extension JSONValue {
    /// Applies a merge patch (RFC 7396, section 2).
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let patch) = patch else { return patch }
        var target = objectValue ?? JSONObject()
        // Removed all at once: each removal would shift the members after it.
        var removed: Set<UTF8Key> = []
        for (name, value) in patch.members {
            if value.isNull {
                removed.insert(UTF8Key(name))
            } else {
                target[name] = (target[name] ?? .null).merging(patch: value)
            }
        }
        if !removed.isEmpty { target.removeMembers(named: removed) }
        return .object(target)
    }
}
