/// The remaining size of a list of faults. The pointers of many faults can repeat one long name of a document. Without
/// this limit, the list could become many times as large as the document.
struct FaultBudget {
    /// The maximum number of bytes in the pointers of a list's faults, without the first fault.
    static let limit = 65_536

    /// The remaining number of bytes. Negative after a fault that did not fit, and `nil` before the first fault.
    private var left: Int?

    /// Whether the list can contain no further fault.
    var isExhausted: Bool { left.map { $0 < 0 } ?? false }

    /// Charges the budget for a fault with this pointer. Returns false if the list must not contain the fault.
    ///
    /// The first fault always fits, because an answer must name at least one fault. After the first fault that does not
    /// fit, no other fault fits, so the list always contains the first faults of the document.
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
