import Foundation
import Testing

@testable import BraidClient

@Suite struct EventParserTests {
    @Test(
        "The parser returns the same events wherever the stream is cut into pieces, and for each kind of line break",
        arguments: ["\n", "\r\n", "\r"])
    func cuts(end: String) {
        let lines = [
            "\u{FEFF}retry: 7", "", ": hello", "event: snapshot", "data: {\"ü\":", "data:\"€\u{2028}\"}", "id: e.0", "",
            "event:update", "data", "id: \0", "", "event: none", "id: e.1", "", "data: 1", "", "data: lost",
        ]
        let bytes = Array(lines.joined(separator: end).utf8)
        for size in [1, 2, 3, 7, bytes.count] {
            var parser = EventParser(), events: [ServerEvent] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                events += parser.events(in: Data(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(
                events == [
                    ServerEvent(type: "snapshot", data: Array("{\"ü\":\n\"€\u{2028}\"}".utf8), id: "e.0"),
                    ServerEvent(type: "update"),
                    ServerEvent(data: Array("1".utf8)),
                ])
            #expect(parser.retryTime == .milliseconds(7))
        }
    }

    @Test("A `retry` field that does not consist of digits is ignored", arguments: ["+5", "-5", "5s", "5 ", "1.5"])
    func retryTimes(value: String) {
        var parser = EventParser()
        _ = parser.events(in: Data("retry: 7\n\nretry: \(value)\n\n".utf8))
        #expect(parser.retryTime == .milliseconds(7))
    }
}

@Suite struct ClientTests {
    @Test("Retry delays grow up to a limit, and are added to the pause that the server asked for")
    func delays() {
        let retrying = BraidClient.Retrying()
        for tries in 1...80 {
            let delay = retrying.delay(tries: tries)
            #expect(delay >= .zero && delay <= .seconds(30))
            #expect(tries > 6 || delay <= .milliseconds(500) * (1 << (tries - 1)))
            #expect(retrying.delay(tries: tries, after: .seconds(9)) >= .seconds(9))
        }
    }

    @Test("A request is sent again only if a repetition is safe, and never after a pause of an hour")
    func retries() {
        let command = Request("POST", ["edits"]), token = Request("POST", ["tokens"], isRepeatable: false)
        func isRetried(_ request: Request, _ error: any Error) -> Bool {
            request.isWorthRetrying(after: error, longest: .seconds(30))
        }
        #expect(isRetried(command, ConnectionFailure(detail: "")) && !isRetried(token, ConnectionFailure(detail: "")))
        for (status, again) in [
            (408, true), (429, true), (502, true), (503, true), (504, true), (400, false), (404, false), (409, false),
            (500, false), (507, false),
        ] {
            #expect(isRetried(command, Problem(status: status)) == again, "\(status)")
            #expect(isRetried(token, Problem(status: status)) == (again && status != 502 && status != 504), "\(status)")
        }
        #expect(isRetried(command, Problem(status: 409, type: "/problems/idempotency-key-in-use")))
        #expect(
            isRetried(command, Problem(status: 503, retryAfter: .seconds(30)))
                && !isRetried(command, Problem(status: 503, retryAfter: .seconds(31))))
        #expect(!isRetried(command, URLError(.cancelled)))
    }

    @Test("A long poll times out only after the server's waiting time plus the time for an answer")
    func patience() throws {
        let client = BraidClient(url: try #require(URL(string: "http://x")), timeout: .seconds(5))
        #expect(try client.urlRequest(Request("GET", ["updates"], wait: .seconds(60))).timeoutInterval == 65)
        #expect(try client.urlRequest(Request("GET", ["updates"])).timeoutInterval == 5)
    }

    @Test("A `Retry-After` is limited to one year, so that adding it to a clock cannot overflow")
    func longRests() {
        func rest(_ text: String) -> Duration? { Problem(status: 503, body: Data(), retryAfter: text).retryAfter }
        #expect(rest("2") == .seconds(2) && rest("-1") == .zero && rest("soon") == nil)
        #expect(rest("9223372036854775807") == .seconds(365 * 86_400) && rest("99999999999999999999") == nil)
        #expect(rest("Fri, 31 Dec 9999 23:59:59 GMT") == .seconds(365 * 86_400))
    }

    @Test("Encoding a value of the program as JSON and decoding it returns the same value")
    func values() throws {
        struct Person: Codable, Equatable {
            var name: String
            var age: Int?
            var height: Double
        }
        let json = try JSON(encoding: Person(name: "Omar", age: 44, height: 1.8))
        #expect(json == ["name": "Omar", "age": 44, "height": 1.8])
        #expect(try json.decoded() == Person(name: "Omar", age: 44, height: 1.8))
        #expect(try JSON.string("x").decoded(as: String.self) == "x" && JSON.null.decoded(as: Int?.self) == nil)
        #expect(
            json["age"]?.integer == 44 && json["age"]?.number == 44 && json["name"]?.string == "Omar" && json[0] == nil)
    }

    @Test("Numbers, Booleans and null are decoded as different values")
    func kinds() throws {
        let text = #"[true,false,0,1,-7,1.5,1e300,9223372036854775807,"",null,{},[]]"#
        let json = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
        #expect(json == [true, false, 0, 1, -7, 1.5, 1e300, 9_223_372_036_854_775_807, "", .null, [:], []])
    }

    @Test("A refusal by a proxy is a problem, too, and its `Retry-After` may be a date")
    func proxies() {
        let problem = Problem(status: 502, body: Data("<html>".utf8), retryAfter: "Fri, 31 Dec 1999 23:59:59 GMT")
        #expect(problem.kind == "about:blank" && problem.errors.isEmpty && problem.retryAfter == .zero)
        #expect(
            Problem(status: 503, body: Data(#"{"type":5,"detail":{}}"#.utf8), retryAfter: nil) == Problem(status: 503))
        #expect(Problem(status: 503, body: Data(), retryAfter: "120").retryAfter == .seconds(120))
        #expect(Problem(status: 503, body: Data(), retryAfter: "soon").retryAfter == nil)
    }
}
