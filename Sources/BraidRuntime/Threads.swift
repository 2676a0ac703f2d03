import CEpoll
import Glibc
import Synchronization

/// The engine follows nested JSON and expressions by recursion. The default is `ulimit -s`, or without one only 2 MB
/// (glibc), too few for a debug build.
private let threadStackSize = 8 << 20

/// The thread blocks all signals, so that others handle them, and runs soon when it is ready: a command passes several,
/// and would wait for a slice to end before each. The name has at most 15 bytes (pthread_setname_np(3)). Returns 0 or an
/// error number.
@discardableResult
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> Int32 {
    final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }
    var attributes = pthread_attr_t()
    let noAttributes = pthread_attr_init(&attributes)
    guard noAttributes == 0 else { return noAttributes }
    defer { pthread_attr_destroy(&attributes) }
    let noStackSize = pthread_attr_setstacksize(&attributes, threadStackSize)
    guard noStackSize == 0 else { return noStackSize }
    let start = Unmanaged.passRetained(Start(name, body))
    var thread = pthread_t()
    let failure = pthread_create(
        &thread, &attributes,
        { context in
            guard let context else { return nil }
            let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            cepoll_name_thread(start.name)
            cepoll_run_soon(cepoll_thread_id())
            start.body()
            return nil
        }, start.toOpaque())
    if failure == 0 { pthread_detach(thread) } else { start.release() }
    return failure
}

package struct ThreadFailure: Error, CustomStringConvertible {
    /// The error number of pthread_create(3).
    let number: Int32

    package var description: String {
        "The system does not start the threads that the server needs: \(String(cString: strerror(number))). Raise its limit of processes (ulimit -u), or the limit of its service or container."
    }
}

/// Starts so many threads at once, which only wait, and ends them. Throws if the system refuses one.
package func checkThreads(_ count: Int) throws(ThreadFailure) {
    final class Trial: Sendable {
        let condition = Condition()
        let isOver = Atomic(false)
        let running = Atomic(0)
    }
    let trial = Trial()
    var failure: Int32 = 0
    for _ in 0..<count where failure == 0 {
        trial.running.add(1, ordering: .relaxed)
        failure = startThread(named: "braid-trial") {
            trial.condition.withLock {
                while !trial.isOver.load(ordering: .relaxed) { trial.condition.wait() }
                trial.running.subtract(1, ordering: .relaxed)
                trial.condition.broadcast()
            }
        }
    }
    trial.condition.withLock {
        if failure != 0 { trial.running.subtract(1, ordering: .relaxed) }
        trial.isOver.store(true, ordering: .relaxed)
        trial.condition.broadcast()
        while trial.running.load(ordering: .relaxed) > 0 { trial.condition.wait() }
    }
    guard failure == 0 else { throw ThreadFailure(number: failure) }
}

/// For threads; tasks must not wait for it. `@unchecked`: the pthread objects may be shared.
package final class Condition: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let variable = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private enum Signal { case none, one, all }
    /// Sent at the unlock: until then the woken thread would only wait for the lock, and be woken again.
    private var signalDue = Signal.none

    package init() {
        pthread_mutex_init(mutex, nil)
        // The system's time can jump.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(variable, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(variable)
        pthread_mutex_destroy(mutex)
        variable.deallocate()
        mutex.deallocate()
    }

    package func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
        pthread_mutex_lock(mutex)
        defer {
            let signal = takeSignal()
            pthread_mutex_unlock(mutex)
            send(signal)
        }
        return try body()
    }

    /// In `withLock` and in a loop: a wait can end without a signal.
    package func wait() {
        send(takeSignal())
        pthread_cond_wait(variable, mutex)
    }

    package func wait(for time: Duration) {
        send(takeSignal())
        let deadline = monotonicNanoseconds() + max(0, time.nanoseconds)
        var until = timespec(tv_sec: deadline / 1_000_000_000, tv_nsec: deadline % 1_000_000_000)
        pthread_cond_timedwait(variable, mutex, &until)
    }

    /// In `withLock`.
    package func signal() { if signalDue == .none { signalDue = .one } }

    /// In `withLock`.
    package func broadcast() { signalDue = .all }

    private func takeSignal() -> Signal {
        defer { signalDue = .none }
        return signalDue
    }

    private func send(_ signal: Signal) {
        switch signal {
        case .none: break
        case .one: pthread_cond_signal(variable)
        case .all: pthread_cond_broadcast(variable)
        }
    }
}
