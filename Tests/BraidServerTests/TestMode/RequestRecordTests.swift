import BraidHTTP
import Testing

@testable import BraidServer
@testable import BraidTestMode

@Suite struct RequestRecordTests {
    private static func request(_ number: Int, bytes: Int) -> RecordedRequest {
        let head = parsedHead("POST", "/v1/sessions/s/edits", [("Host", "localhost")])
        let request = TestedRequest(head, [UInt8](repeating: UInt8(ascii: "x"), count: bytes), nil, nil)
        return RecordedRequest(
            request, id: "\(number)", start: number,
            answer: HTTPResponse(status: 204), time: 0)
    }

    @Test(
        "The record keeps the newest requests, and obeys its limits for requests and bytes", arguments: [1, 7, 100],
        [1, 20_000, 1_000_000])
    func bounds(entries: Int, bytes: Int) {
        let record = RequestRecord(mostEntries: entries, mostBytes: bytes), count = 300
        for number in 0..<count {
            record.append(Self.request(number, bytes: number * 37 % 5_000))
            let (kept, dropped) = record.content
            #expect(kept.count <= entries && kept.reduce(0) { $0 + $1.size } <= bytes)
            #expect(kept.count + dropped == number + 1)
            #expect(kept.map(\.id) == (dropped..<number + 1).map { "\($0)" })
            // Nothing is dropped before a limit requires it.
            if dropped > 0, kept.count < entries {
                let next = Self.request(dropped - 1, bytes: (dropped - 1) * 37 % 5_000)
                #expect(kept.reduce(next.size) { $0 + $1.size } > bytes)
            }
        }
        record.removeAll()
        #expect(record.content.requests.isEmpty && record.content.dropped == 0)
    }

    @Test("Requests are listed in the order in which they arrived, not in the order of their answers")
    func order() {
        let record = RequestRecord()
        for number in [3, 1, 2] { record.append(Self.request(number, bytes: 0)) }
        #expect(record.content.requests.map(\.id) == ["1", "2", "3"])
    }
}
