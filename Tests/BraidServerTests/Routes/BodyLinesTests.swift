import BraidRuntime
import Testing

@testable import BraidHTTP
@testable import BraidServer

@Suite struct BodyLinesTests {
    @Test("An unfinished line of a streamed body uses the quota for bodies, and is refused if the quota is used up")
    func unfinishedLines() async throws {
        let quota = Quota(300_000), line = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
        func read() async throws -> Int? {
            let body = HTTPBodyReader(lease: Quota.Lease(of: quota))
            line.withUnsafeBufferPointer { body.append($0) }
            body.finish()
            var lines = BodyLines(body, limit: 1 << 20)
            return try await lines.next()?.count
        }
        let others = try quota.lease(150_000)
        await #expect(throws: HTTPFailure.noRoomForBody(.quota)) { try await read() }
        others.end()
        #expect(try await read() == 200_000)
        #expect(quota.taken == 0)
    }
}
