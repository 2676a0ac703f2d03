/// How much a list of faults may still grow. Without a limit it could become many times as large as the document,
/// because the pointers of many faults can repeat one long name.
struct FaultBudget {
    /// Bytes of the faults' pointers, without the first fault.
    static let limit = 65_536

    /// Negative after a fault that did not fit, and `nil` before the first fault.
    private var left: Int?

    /// No further fault fits.
    var isExhausted: Bool { left.map { $0 < 0 } ?? false }

    /// Whether a fault with this pointer fits. The first one always does; after one that does not, none does, so the
    /// list has the first faults of the document.
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
