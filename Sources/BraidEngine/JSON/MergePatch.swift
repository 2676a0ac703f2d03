extension JSONValue {
    /// Returns the result of applying a JSON merge patch to this value (RFC 7396, section 2).
    ///
    /// Each member of the patch replaces or adds the member of its name, recursively, and `null` removes it. A patch
    /// that is not an object replaces the whole value.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let patch) = patch else { return patch }
        var target = objectValue ?? JSONObject()
        // All at once: each single removal would shift the members behind it.
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
