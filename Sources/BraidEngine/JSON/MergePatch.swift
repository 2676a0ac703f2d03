extension JSONValue {
    /// This value after a JSON merge patch (RFC 7396, section 2): an object's members replace, `null` removes,
    /// anything that is no object replaces the whole.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let patch) = patch else { return patch }
        var target = objectValue ?? JSONObject()
        for (name, value) in patch.members {
            target[name] = value.isNull ? nil : (target[name] ?? .null).merging(patch: value)
        }
        return .object(target)
    }
}
