import Synchronization

/// Unanswered commands by session, in the order of the calls; only a session's first is on its way.
final class CommandQueue: Sendable {
    struct Place: Sendable {
        fileprivate let session: String
        fileprivate let number: Int
    }

    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        private(set) var places: [String: [(number: Int, waiter: Waiter?)]] = [:]
        private var lastNumber = 0

        func index(of place: Place) -> Int? { places[place.session]?.firstIndex { $0.number == place.number } }

        mutating func append(to session: String) -> Place {
            lastNumber += 1
            places[session, default: []].append((lastNumber, nil))
            return Place(session: session, number: lastNumber)
        }

        mutating func remove(at index: Int, of session: String) {
            places[session]?.remove(at: index)
            if places[session]?.isEmpty == true { places[session] = nil }
        }

        /// Returns the previous waiter.
        mutating func exchange(_ waiter: Waiter?, at index: Int, of session: String) -> Waiter? {
            let previous = places[session]?[index].waiter
            places[session]?[index].waiter = waiter
            return previous
        }
    }

    private let state = Mutex(State())

    /// Takes the last place. Each place must `leave`.
    func enter(_ session: String) -> Place { state.withLock { $0.append(to: session) } }

    /// Waits to be first. Throws `CancellationError` when cancelled.
    func wait(at place: Place, isolation: isolated (any Actor)? = #isolation) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let result: Result<Void, any Error>? = state.withLock { state in
                    // Under the lock, either we see the cancellation, or its handler finds the continuation.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard let index = state.index(of: place), index > 0 else { return .success(()) }
                    _ = state.exchange(waiter, at: index, of: place.session)
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.index(of: place).flatMap { state.exchange(nil, at: $0, of: place.session) }
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// If it was the first, the next continues.
    func leave(_ place: Place) {
        let next = state.withLock { state -> Waiter? in
            guard let index = state.index(of: place) else { return nil }
            state.remove(at: index, of: place.session)
            guard index == 0, state.places[place.session] != nil else { return nil }
            return state.exchange(nil, at: 0, of: place.session)
        }
        next?.resume()
    }
}
