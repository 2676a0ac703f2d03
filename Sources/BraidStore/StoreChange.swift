import Synchronization

/// What operators must know.
package enum StoreChange: Sendable, Equatable {
    case failing(StoreError)
    case working(after: StoreError)
    /// The database was restored or may have lost commits.
    case newEpochs
}

/// Reports the first failure, each of another kind than the last, and the recovery.
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
    /// Such as `disk-full`. `nil` for what callers can cause.
    package var kind: String? {
        switch self {
        case .full: "disk-full"
        case .io, .outcomeUnknown: "input-output"
        case .busy: "locked"
        case .corrupt: "damaged"
        case .unavailable: "unavailable"
        case .readOnly: "read-only"
        case .sessionExists, .sessionMissing, .revisionConflict, .answered, .tableMissing, .tableChanged, .exhausted,
            .tooLarge, .closed, .locked, .usedByOtherName, .notADatabase, .wrongApplication, .newerVersion,
            .differentSchema, .missing, .exists, .noRoom, .otherVersion, .notEmpty:
            nil
        }
    }
}
