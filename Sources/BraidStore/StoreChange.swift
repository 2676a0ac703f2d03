import Synchronization

/// A change of a store's state that operators need to know.
public enum StoreChange: Sendable, Equatable {
    /// Operations of the store now fail with the given error.
    case failing(StoreError)
    /// Operations of the store succeed again, after they have failed with the given error.
    case working(after: StoreError)
    /// All sessions have new epochs, because the database was restored or may have lost commits.
    case newEpochs
}

/// Knows whether a store's operations fail at the moment. Reports the first failure and the recovery. Reports a further
/// failed operation only if its error is of another kind than the last one.
package final class StoreTrouble: Sendable {
    private let error = Mutex<StoreError?>(nil)
    private let isFailing = Atomic<Bool>(false)
    private let report: @Sendable (StoreChange) -> Void

    package init(_ report: @escaping @Sendable (StoreChange) -> Void) { self.report = report }

    package func failed(_ error: StoreError) {
        let old = self.error.withLock { old in
            defer { old = error }
            return old
        }
        isFailing.store(true, ordering: .relaxed)
        if old?.kind != error.kind { report(.failing(error)) }
    }

    package func succeeded() {
        guard isFailing.load(ordering: .relaxed) else { return }
        let old = error.withLock { error in
            defer { error = nil }
            isFailing.store(false, ordering: .relaxed)
            return error
        }
        if let old { report(.working(after: old)) }
    }
}

extension StoreError {
    /// The name of the kind of error, such as `disk-full`, for failures of the disk or the database. `nil` for all
    /// other errors, such as errors that callers can cause.
    public var kind: String? {
        switch self {
        case .full: "disk-full"
        case .io, .outcomeUnknown: "input-output"
        case .busy: "locked"
        case .corrupt: "damaged"
        case .unavailable: "unavailable"
        case .readOnly: "read-only"
        case .sessionExists, .sessionMissing, .revisionConflict, .answered, .tableMissing, .tableChanged, .exhausted,
            .tooLarge, .closed, .locked, .usedByOtherName, .notADatabase, .wrongApplication, .newerVersion,
            .differentSchema, .missing,
            .exists, .noRoom, .otherVersion, .notEmpty:
            nil
        }
    }
}
