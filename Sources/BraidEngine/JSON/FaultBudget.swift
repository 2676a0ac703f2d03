/// How much a list of faults may still grow: without a limit, many pointers that repeat one long name could be many
/// times as large as the document.
struct FaultBudget {
    /// Bytes for the pointers after the first.
    static let limit = 65_536

    /// Negative once a fault did not fit; `nil` before the first.
    private var left: Int?

    var isExhausted: Bool { left.map { $0 < 0 } ?? false }

    /// Whether one more fault fits. The first always does. After one that does not, none does, so the list has the
    /// document's first faults.
    mutating func admit(_ pointer: JSONPointer) -> Bool {
        guard let left else {
            self.left = Self.limit
            return true
        }
        let rest = left < 0 ? left : left - pointer.tokens.reduce(0) { $0 + $1.utf8.count + 1 }
        self.left = rest
        return rest >= 0
    }
}
