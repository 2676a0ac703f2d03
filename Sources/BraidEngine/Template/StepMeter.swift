import Synchronization

/// Steps that all templates of one command may take together. Each rendering has a budget of its own; this one bounds
/// a template that is cheap once, and rendered for a hundred thousand rows.
final class StepMeter: Sendable {
    private let left: Mutex<Int>

    /// Five million steps last for about a third of a second; large tables may take more.
    init(rows: Int) { left = Mutex(5_000_000 + 200 * rows) }

    var remaining: Int { left.withLock { $0 } }

    func charge(_ steps: Int) { left.withLock { $0 -= steps } }
}
