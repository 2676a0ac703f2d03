// BraidEngine has its own, because it and this module know no other one.
extension Int {
    /// Reads a whole text of one or more ASCII digits, without a sign. `nil` for any other text, and if the number is
    /// too large.
    public init?(digits: some Collection<UInt8>) {
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

    /// Reads a text as ``init(digits:)`` reads its UTF-8.
    public init?(digits text: some StringProtocol) { self.init(digits: text.utf8) }

    /// As ``init(digits:)``, but a number that is too large is `Int.max`.
    public init?(clampingDigits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
        self = Int(digits: text) ?? .max
    }
}
