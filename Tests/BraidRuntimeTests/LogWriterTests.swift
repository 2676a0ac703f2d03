import Glibc
import Testing

@testable import BraidRuntime

/// Read when the test wants.
private final class TestPipe {
    let reader: CInt
    let writer: CInt

    init() {
        var ends: [CInt] = [-1, -1]
        precondition(pipe(&ends) == 0)
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        close(reader)
        close(writer)
    }

    /// Without a time limit.
    func lines(through isLast: (String) -> Bool) -> [String] {
        var text = "", piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(reader, &piece, piece.count)
            precondition(count > 0)
            text += String(decoding: piece[..<count], as: UTF8.self)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if lines.last == "", lines.dropLast().contains(where: isLast) { return lines.dropLast() }
        }
    }
}

@Suite struct LogWriterTests {
    private func writer(to descriptor: CInt, limit: Int = 1 << 20) throws -> LogWriter {
        try LogWriter(to: descriptor, limit: limit) { Array("dropped \($0)\n".utf8) }
    }

    private func line(_ number: Int) -> [UInt8] { Array("line \(number)\n".utf8) }

    @Test("Lines are written in order, including lines that are longer than a memory page")
    func order() throws {
        let pipe = TestPipe(), writer = try writer(to: pipe.writer)
        let long = String(repeating: "x", count: 9_000)
        let lines = (0..<2_000).map { $0.isMultiple(of: 500) ? "\($0) \(long)" : "\($0)" }
        for line in lines { writer.write(Array("\(line)\n".utf8)) }
        #expect(pipe.lines { $0 == "1999" } == lines)
        writer.flush(within: .seconds(60))
        #expect(writer.dropped == 0)
    }

    /// Fails the test if a note is not exactly where its lines are missing.
    private func account(_ lines: [String]) -> (written: Int, reported: Int) {
        var next = 0, reported = 0
        for line in lines {
            let words = line.split(separator: " "), number = Int(words.last ?? "") ?? -1
            if words.first == "dropped" {
                reported += number
                next += number
            } else {
                #expect(number == next, "\(line)")
                next = number + 1
            }
        }
        return (next - reported, reported)
    }

    @Test(
        "While the pipe is full, lines are dropped and counted, and a note appears exactly where they are missing",
        arguments: [false, true])
    func fullPipe(isNonBlocking: Bool) throws {
        let pipe = TestPipe()
        if isNonBlocking { _ = fcntl(pipe.writer, F_SETFL, O_NONBLOCK) }
        let writer = try writer(to: pipe.writer, limit: 50_000), count = 100_000
        for number in 0..<count { writer.write(line(number)) }
        // After its limit, although the lines cannot be written.
        writer.flush(within: .milliseconds(1))
        let dropped = writer.dropped
        #expect(dropped > 0)
        // The last note comes as soon as the pipe has room, even without another line, unless no last line was
        // dropped.
        var lines: [String] = [], found = account(lines)
        while found.written + found.reported < count {
            lines += pipe.lines { _ in true }
            found = account(lines)
        }
        #expect(found == (count - dropped, dropped))
        writer.write(line(count))
        #expect(pipe.lines { _ in true } == ["line \(count)"])
    }

    @Test("Lines that cannot be written are counted, and the note about them is written as soon as writing works again")
    func failure() throws {
        let pipe = TestPipe(), descriptor = open("/dev/full", O_WRONLY)
        defer { close(descriptor) }
        let writer = try writer(to: descriptor)
        for number in 0..<10 { writer.write(line(number)) }
        writer.flush(within: .seconds(60))
        #expect(writer.dropped == 10)
        dup2(pipe.writer, descriptor)  // From now on, writing works, as on a disk that has free space again.
        #expect(pipe.lines { _ in true } == ["dropped 10"], "without another line")
        writer.write(line(10))
        #expect(pipe.lines { _ in true } == ["line 10"])
        #expect(writer.dropped == 10)
    }
}
