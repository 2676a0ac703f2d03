import Glibc
import TestSupport
import Testing

@testable import BraidRuntime

@Suite struct ThreadTests {
    /// Without `pthread_attr_setstacksize`, fails under `ulimit -s unlimited` and any limit below 8 MB.
    @Test("A started thread has a stack of at least 8 MB, whatever the limit of the process is")
    func stackSize() async {
        let size: Int? = await withCheckedContinuation { continuation in
            let failure = startThread(named: "stack-size") { continuation.resume(returning: stackSizeOfThisThread()) }
            if failure != 0 { continuation.resume(returning: nil) }
        }
        #expect((size ?? 0) >= 8 << 20)
    }
}

#if os(Linux)
extension ThreadTests {
    @Test("Threads that the system can start pass the check, and a process without threads fails it")
    func check() async throws {
        try checkThreads(40)
        await #expect(processExitsWith: .exitCode(3)) {
            refuseThreads()
            do { try checkThreads(1) } catch { exit(3) }
        }
        await #expect(processExitsWith: .exitCode(3)) {
            refuseThreads()
            do { try Workers(processors: 1).check() } catch { exit(3) }
        }
    }
}
#endif

/// Bytes.
private func stackSizeOfThisThread() -> Int? {
    // Glibc's Swift module lacks pthread_getattr_np.
    typealias GetAttributes = @convention(c) (pthread_t, UnsafeMutablePointer<pthread_attr_t>) -> CInt
    guard let symbol = dlsym(nil, "pthread_getattr_np") else { return nil }
    let getAttributes = unsafeBitCast(symbol, to: GetAttributes.self)
    var attributes = pthread_attr_t()
    guard getAttributes(pthread_self(), &attributes) == 0 else { return nil }
    defer { pthread_attr_destroy(&attributes) }
    var size = 0
    return pthread_attr_getstacksize(&attributes, &size) == 0 ? size : nil
}
