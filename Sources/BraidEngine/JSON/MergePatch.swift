extension JSONValue {
    /// Returns the value after a JSON merge patch (RFC 7396, section 2).
    ///
    /// If the patch is an object, each of its members replaces or adds the member of that name, recursively. A member
    /// that is `null` removes it. Any other patch replaces the whole value.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let patch) = patch else { return patch }
        var target = objectValue ?? JSONObject()
        // Removing all members at once costs O(members). Each single removal would shift the members behind it.
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
