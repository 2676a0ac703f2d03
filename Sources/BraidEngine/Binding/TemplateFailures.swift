/// Lets one refusal name several faulty rows.
struct TemplateFailures {
    private let meter: CommandMeter
    private var first: Refusal?

    static let most = 10

    init(_ meter: CommandMeter) { self.meter = meter }

    /// Keeps a template's failure, so that the caller goes on with the next row. Throws at any other error, and once
    /// there are enough.
    mutating func add(_ error: any Error, in place: @autoclosure () -> Refusal.Fault.Place? = nil) throws {
        guard var refusal = error as? Refusal, refusal.code == .templateFailed, !refusal.faults.isEmpty else {
            throw first ?? error
        }
        if let place = place() { refusal = refusal.failed(in: place) }
        var kept = first ?? refusal
        if first != nil { kept.faults += refusal.faults.prefix(Self.most - kept.faults.count) }
        first = kept
        if kept.faults.count >= Self.most || meter.isNearlyUsedUp { throw kept }
    }

    func check() throws { if let first { throw first } }
}
