// BraidEngine has its own: neither module knows another.
extension Int {
    /// Of ASCII digits only. `nil` also if too large.
    package init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var number = 0
        for byte in digits {
            let (product, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = product.addingReportingOverflow(Int(byte &- UInt8(ascii: "0")))
            guard byte &- UInt8(ascii: "0") < 10, !overflows, !overflowsToo else { return nil }
            number = sum
        }
        self = number
    }

    package init?(digits text: some StringProtocol) { self.init(digits: text.utf8) }

    /// `Int.max` if too large.
    package init?(clampingDigits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
        self = Int(digits: text) ?? .max
    }
}
