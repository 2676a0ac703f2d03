import BraidRuntime
import Testing

@testable import BraidHTTP

struct HTTPResponseTests {
    private func encoded(_ response: HTTPResponse, method: String = "GET", minor: Int = 1, keepsAlive: Bool = true)
        -> String
    {
        var framing = ResponseFraming()
        framing.isHead = method == "HEAD"
        framing.minor = minor
        framing.keepsAlive = keepsAlive
        var out: [UInt8] = []
        response.encodeHead(for: framing, date: [UInt8]("Date: D\r\n".utf8), to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    @Test("A response with a body of bytes, even an empty one, has a Content-Length") func contentLength() {
        let response = HTTPResponse(status: 201, headers: [("Location", "/x")], body: .bytes([1, 2, 3]))
        #expect(encoded(response) == "HTTP/1.1 201 Created\r\nDate: D\r\nLocation: /x\r\nContent-Length: 3\r\n\r\n")
        #expect(encoded(HTTPResponse(status: 200)) == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("A stream is sent in chunks under HTTP/1.1, and ends with the connection under HTTP/1.0")
    func streamFraming() {
        let response = HTTPResponse(status: 200, body: .stream(ByteStream()))
        #expect(encoded(response) == "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(
            encoded(response, minor: 0, keepsAlive: false) == "HTTP/1.1 200 OK\r\nDate: D\r\nConnection: close\r\n\r\n")
    }

    @Test("A response to HEAD states the length of the body. A response with status 204 or 304 has no body")
    func noBody() {
        #expect(
            encoded(HTTPResponse(status: 200, body: .bytes([1, 2, 3])), method: "HEAD").contains(
                "Content-Length: 3\r\n"))
        #expect(!encoded(HTTPResponse(status: 204, body: .bytes([1]))).contains("Content-Length"))
        #expect(!encoded(HTTPResponse(status: 304, body: .bytes([1]))).contains("Content-Length"))
        for (status, sends) in [(200, true), (204, false), (304, false)] {
            #expect(HTTPResponse(status: status).sendsBody(in: ResponseFraming()) == sends)
        }
    }

    @Test("The application's headers cannot break a response's framing, and an invalid status becomes 500")
    func invalidHeaders() {
        let headers = [
            ("X", "a\r\nSet-Cookie: b"), ("Content-Length", "99"), ("Transfer-Encoding", "chunked"),
            ("Connection", "upgrade"), ("dATE", "never"),
        ]
        let text = encoded(HTTPResponse(status: 99, headers: headers, body: .bytes([1])))
        #expect(
            text == "HTTP/1.1 500 Internal Server Error\r\nDate: D\r\nX: a  Set-Cookie: b\r\nContent-Length: 1\r\n\r\n")
    }

    @Test("The header Connection says that the server closes the connection, or keeps it open under HTTP/1.0")
    func connectionHeader() {
        #expect(encoded(HTTPResponse(status: 200), keepsAlive: false).contains("Connection: close\r\n"))
        #expect(encoded(HTTPResponse(status: 200), minor: 0).contains("Connection: keep-alive\r\n"))
    }

    @Test(
        "Dates are written in the date format of HTTP",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ])
    func dates(_ seconds: Int, _ text: String) {
        #expect(String(decoding: HTTPDate.text(secondsSince1970: seconds), as: UTF8.self) == text)
    }

    @Test("A stream refuses writes beyond its limit, and notifies its producer when it is drained or closed")
    func backpressure() async {
        let stream = ByteStream(limit: 10)
        #expect(stream.write([1, 2, 3, 4, 5, 6]) == .accepted)
        #expect(stream.write([1, 2, 3, 4, 5]) == .full)
        #expect(stream.write([1, 2, 3, 4]) == .accepted)
        let drained = Task { await stream.drained() }
        #expect(stream.take().bytes == 10)
        await drained.value
        #expect(
            stream.write([UInt8](repeating: 0, count: 11)) == .accepted,
            "one piece over the limit, while the queue is empty")
        await confirmation { closed in
            stream.onClose { closed() }
            stream.close()
            stream.close()
        }
        #expect(stream.write([1]) == .closed)
        await confirmation { closed in stream.onClose { closed() } }
        await stream.drained()
    }

    @Test("A finished stream keeps its queued bytes, refuses further writes and does not report a close")
    func finishedStream() async {
        let stream = ByteStream()
        stream.write([1])
        stream.finish()
        #expect(stream.write([2]) == .closed)
        await confirmation(expectedCount: 0) { closed in
            stream.onClose { closed() }
            stream.endFromServer()
            #expect(stream.take().pieces == [[1]])
            stream.close()
        }
    }

    @Test("A stream notifies its event loop only once until the queued bytes are taken") func notifications() async {
        let stream = ByteStream()
        await confirmation(expectedCount: 2) { told in
            stream.attach { told() }
            for _ in 0..<5 { stream.write([1]) }
            _ = stream.take()
            stream.write([1])
        }
    }
}
