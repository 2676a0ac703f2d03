extension JSONValue {
    /// Returns the result of applying a JSON merge patch to this value (RFC 7396, section 2).
    ///
    /// If the patch is an object, each of its members replaces or adds the member of that name, recursively. A member
    /// of the patch that is `null` removes the member of that name. A patch that is not an object replaces the whole
    /// value.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let patch) = patch else { return patch }
        var target = objectValue ?? JSONObject()
        // Removing all members at once costs O(members). Removing members one by one would each time shift the members
        // behind the removed one.
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
