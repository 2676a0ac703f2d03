import BraidRuntime
import Foundation
import Synchronization
import Testing

@Suite("Reading lines") struct LineReaderTests {
    private func lines(_ content: Data) throws -> [[UInt8]] {
        let path = NSTemporaryDirectory() + "lines-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try content.write(to: URL(fileURLWithPath: path))
        let reader = try LineReader(path)
        #expect(reader.size == content.count)
        var lines: [[UInt8]] = []
        while let line = try reader.next() { lines.append(line) }
        #expect(reader.bytesRead == content.count)
        return lines
    }

    @Test("A file has the same lines with and without a line feed at its end", arguments: ["", "\n"])
    func ends(end: String) throws {
        #expect(try lines(Data("a\n\nbc\(end)".utf8)) == ["a", "", "bc"].map { [UInt8]($0.utf8) })
        #expect(try lines(Data()) == [])
    }

    @Test("Lines of any length are read correctly across the boundaries of the reader's pieces")
    func lengths() throws {
        let lengths = [0, 1, 65_534, 65_535, 65_536, 65_537, 0, 200_000, 3]
        let content = lengths.map { String(repeating: "x", count: $0) + "\n" }.joined()
        #expect(try lines(Data(content.utf8)).map(\.count) == lengths)
    }

    @Test("A signal during a read does not make the read fail") func signals() async throws {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, nil)
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let path = "/dev/fd/\(ends[0])", thread = Mutex<pthread_t?>(nil)
        async let line = withCheckedContinuation { continuation in
            Thread.detachNewThread {
                thread.withLock { $0 = pthread_self() }
                continuation.resume(returning: Result { try LineReader(path).next() })
            }
        }
        // Each signal interrupts a read, if the thread has begun one.
        for _ in 0..<20 {
            if let thread = thread.withLock({ $0 }) { pthread_kill(thread, SIGUSR2) }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(write(ends[1], "a\n", 2) == 2)
        #expect(try await line.get() == [UInt8(ascii: "a")])
        for end in ends { close(end) }
    }

    @Test("The error for a file that does not exist says so") func missing() {
        #expect { try LineReader("/no/such/file") } throws: { "\($0)" == "No such file or directory" }
    }
}
