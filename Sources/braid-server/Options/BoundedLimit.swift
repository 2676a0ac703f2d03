/// A limit that must not be greater than another limit (the bound). If the default of the limit is greater than the
/// bound, the server lowers the default. The server never lowers a value that the user has chosen.
struct BoundedLimit: Sendable {
    var value: Int
    /// Whether the user has chosen the value, with an option or an environment variable.
    var isChosen = false

    /// If the user has not chosen the value, lowers the value to at most `usual`. If `usual` is `nil`, lowers the value
    /// to at most `bound`. Throws a `Failure` if the user has chosen a value above `bound`.
    ///
    /// - Parameter conflict: returns the text of the failure.
    mutating func fit(to bound: Int, usual: Int? = nil, _ conflict: () -> String) throws(Failure) {
        if !isChosen {
            value = min(value, usual ?? bound)
        } else if value > bound {
            throw Failure(conflict())
        }
    }
}
