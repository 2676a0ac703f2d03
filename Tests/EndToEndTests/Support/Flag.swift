import Synchronization

/// A flag that one thread sets and other threads read.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set(_ new: Bool = true) { value.store(new, ordering: .relaxed) }
}
