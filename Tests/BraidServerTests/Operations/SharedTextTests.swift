import BraidRuntime
import Synchronization
import Testing

@testable import BraidServer

@Suite struct SharedTextTests {
    @Test("Everyone gets a text that was begun after they asked, and texts are begun at most every 50 ms")
    func sharing() async {
        let texts = Texts(), shared = SharedText { texts.begin() }
        for _ in 0..<3 {
            await withTaskGroup { group in
                for _ in 0..<300 {
                    group.addTask {
                        let asked = monotonicNanoseconds()
                        let text = String(decoding: await shared.bytes().plain, as: UTF8.self)
                        #expect(Int(text) ?? 0 >= asked)
                    }
                }
            }
        }
        let begun = texts.begun.withLock { $0 }
        #expect(!begun.isEmpty)
        for (one, next) in zip(begun, begun.dropFirst()) {
            #expect(.nanoseconds(next - one) >= SharedText.pause - .milliseconds(1))
        }
    }
}

private final class Texts: Sendable {
    let begun = Mutex<[Int]>([])

    func begin() -> [UInt8] {
        let now = monotonicNanoseconds()
        begun.withLock { $0.append(now) }
        return Array("\(now)".utf8)
    }
}
