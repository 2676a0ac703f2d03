import Foundation
import TestSupport
import Testing

@Suite(.serialized, .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs)) struct ClusterPresenceTests {
    private static let path = "/v1/sessions/x/presence"

    @Test("Servers on one database show each other's clients: those put, changed, held by a stream and removed")
    func shared() throws {
        let cluster = try ServerCluster(2), clients = try cluster.clients()
        try ConcurrencyTests.open(clients[0], rows: 3)
        let stream = try EventStreamClient(
            port: cluster[1].port, "/v1/sessions/x/updates?presence&client=a")
        _ = try stream.events(through: "presence")
        // Spaces would separate the words of other notices.
        let put = try clients[0].request(
            "PUT", Self.path + "?client=a", #"{"at":{"id":"a1"},"data":"c12.3 e4 \u0000 é"}"#)
        #expect(put.status == 200, "\(put.text)")
        #expect(try stream.next().data == #"{"changed":[\#(put.text)],"left":[]}"#)
        #expect(try clients[1].get(Self.path).text == #"{"present":[\#(put.text)]}"#)
        let again = try clients[1].request("PUT", Self.path + "?client=a", "{}")
        #expect(again.object["id"] as? String == put.object["id"] as? String, "one client at all servers")
        #expect(try stream.next().data == #"{"changed":[\#(again.text)],"left":[]}"#)
        #expect(try eventually { try clients[0].get(Self.path).text == #"{"present":[\#(again.text)]}"# })
        #expect(try clients[0].request("DELETE", Self.path + "?client=a").status == 204)
        #expect(try stream.next().object["left"] as? [String] == [put.object["id"] as? String ?? ""])
        #expect(try clients[1].get(Self.path).text == #"{"present":[]}"#)
    }

    @Test("A server that starts later asks the others who is present") func laterServer() throws {
        let cluster = try ServerCluster(2), clients = try cluster.clients()
        try ConcurrencyTests.open(clients[0], rows: 3)
        #expect(try clients[0].request("PUT", Self.path + "?client=a", "{}").status == 200)
        cluster.kill(1)
        try cluster.start(1)
        let client = try cluster[1].keptClient()
        #expect(try eventually { try client.get(Self.path).text.contains(#""role":"controller""#) })
    }
}
