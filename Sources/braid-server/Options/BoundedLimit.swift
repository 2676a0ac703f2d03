/// A limit that another limit bounds. The server lowers the limit's default to fit the bound, but never a value that the
/// user has chosen.
struct BoundedLimit: Sendable {
    var value: Int
    /// Whether the user has chosen the value, with an option or an environment variable.
    var isChosen = false

    /// Lowers the default to the bound, or to `usual` if this is less. Throws a `Failure` if the user has chosen a value
    /// above the bound.
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
