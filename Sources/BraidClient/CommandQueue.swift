import Synchronization

/// The client's queue of commands for each session: the commands without an answer, in the order of the program's
/// calls.
///
/// Only the first command of a session is sent. A later command waits until each command before it is answered or has
/// failed.
final class CommandQueue: Sendable {
    /// A command's place in its session's queue.
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

        /// Replaces the waiting continuation of the command at an index of a session's queue. Returns the previous one.
        mutating func exchange(_ waiter: Waiter?, at index: Int, of session: String) -> Waiter? {
            let previous = places[session]?[index].waiter
            places[session]?[index].waiter = waiter
            return previous
        }
    }

    private let state = Mutex(State())

    /// Adds a command's place at the end of the session's queue. The caller must call `leave` for every place.
    func enter(_ session: String) -> Place { state.withLock { $0.append(to: session) } }

    /// Waits until the command's place is the first place in its session's queue.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits.
    func wait(at place: Place, isolation: isolated (any Actor)? = #isolation) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let result: Result<Void, any Error>? = state.withLock { state in
                    // The lock also covers the check for a cancellation. So a cancellation is either seen by this
                    // check, or its handler finds the stored continuation.
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

    /// Removes a command's place from the queue. If the place was the first in the queue, the next command continues.
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
