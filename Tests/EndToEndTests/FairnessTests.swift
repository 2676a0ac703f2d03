import Foundation
import Testing

/// Slow commands of many sessions leave time for others.
@Suite(.serialized) struct FairnessTests {
    static let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"title":"${model.id} of ${state.n}","length":{"$eval":"len(str(model.id)) + row"}}}]}"#

    @Test("A session can be opened while many slow commands of other sessions are still waiting for their answers")
    func openingDuringSlowCommands() throws {
        let server = try ServerProcess()
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let models = "[" + (0..<4_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",") + "]"
        let heavy = try (0..<4 * processors).map { number in
            let client = try server.client()
            let body =
                #"{"id":"heavy-\#(number)","table":\#(Self.table),"state":{"n":0},"models":{"table":\#(models)}}"#
            try #require(try client.request("POST", "/v1/sessions", body).status == 201)
            // Now the server knows that they are slow here.
            try #require(try client.request("PATCH", "/v1/sessions/heavy-\(number)/state", #"{"n":1}"#).status == 200)
            return client
        }
        let client = try server.client()
        var answered = heavy.count
        // Again, if the test stood still between two requests and the slow commands ended first.
        for round in 2..<40 where answered >= heavy.count - processors {
            for (number, other) in heavy.enumerated() {
                let body = #"{"n":\#(round)}"#
                try other.send(
                    "PATCH /v1/sessions/heavy-\(number)/state HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                )
            }
            let light = #"{"id":"light-\#(round)","table":\#(Self.table)}"#
            #expect(try client.request("POST", "/v1/sessions", light).status == 201)
            answered = heavy.count { $0.hasAnswer }
            for other in heavy { #expect(try other.receive().status == 200) }
        }
        #expect(answered < heavy.count - processors, "\(answered) of \(heavy.count) came first")
    }
}
