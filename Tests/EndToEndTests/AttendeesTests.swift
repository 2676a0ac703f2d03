import Foundation
import Testing

/// Braid's "Editable Attendees" sample, as the README tells it, from the socket to the disk and back.
@Suite(.serialized) struct AttendeesTests {
    static let fixtures = ["--fixtures", ServerProcess.package.appendingPathComponent("Examples/attendees").path]

    @Test func theSampleRunsAsTheReadmeTellsItAndSurvivesARestart() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        var before = ""
        var journal = ""
        do {
            let server = try ServerProcess(database: database, Self.fixtures)
            let client = try server.client()
            let opened = try client.get("/v1/sessions/party/snapshot")
            #expect(opened.status == 200)
            let epoch = try #require(opened.object["epoch"] as? String)
            #expect(opened.header("etag") == "\"\(epoch).0\"")
            #expect(opened.text == #"{"session":"party","table":"attendees","epoch":"\#(epoch)","revision":0,"totalRowCount":6,"sections":["#
                + #"{"id":"description","header":null,"footer":null,"rowCount":1,"rows":[{"id":"1","cell":"TitleDetailCell","viewModel":{"id":"1","title":"Christa's Party","subtitle":"We start at 7."}}]},"#
                + #"{"id":"attending","header":{"title":"ATTENDING"},"footer":null,"rowCount":3,"movesTo":["attending","invited"],"rows":["#
                + ["Jonathan", "Omar", "Sara"].map { #"{"id":"\#($0)","cell":"TitleDetailCell","model":{"name":"\#($0)"},"viewModel":{"title":"\#($0)"},"editing":"delete","movable":true}"# }.joined(separator: ",") + "]},"
                + #"{"id":"invited","header":{"title":"INVITED"},"footer":null,"rowCount":2,"movesTo":["attending","invited"],"rows":["#
                + ["Yvonne", "Kalinda"].map { #"{"id":"\#($0)","cell":"TitleDetailCell","model":{"name":"\#($0)"},"viewModel":{"title":"\#($0)"},"movable":true}"# }.joined(separator: ",") + "]}"
                + #"],"state":{}}"#)

            // Deleting someone who attends puts them on top of the invited: the row moves, and shows no delete there.
            let deleted = try client.request("POST", "/v1/sessions/party/edits", #"{"delete": {"section": "attending", "row": 1}}"#)
            #expect(deleted.status == 200)
            #expect(deleted.header("etag") == "\"\(epoch).1\"")
            #expect(deleted.text == #"{"revision":1,"outcome":"applied","update":{"from":0,"to":1,"stages":[{"moveRows":[{"from":[1,1],"to":[2,0],"#
                + #""row":{"id":"Omar","cell":"TitleDetailCell","model":{"name":"Omar"},"viewModel":{"title":"Omar"},"movable":true}}]}],"totalRowCount":6}}"#)

            let moved = try client.request("POST", "/v1/sessions/party/moves", #"{"from": {"id": "Yvonne"}, "to": {"section": "attending", "row": 0}}"#)
            #expect(moved.status == 200)
            #expect((moved.object["update"] as? [String: Any])?["totalRowCount"] as? Int == 6)

            // What the table does not allow.
            #expect(try client.request("POST", "/v1/sessions/party/edits", #"{"delete": {"section": "invited", "row": 0}}"#).object["type"] as? String == "/problems/editing-not-allowed")
            #expect(try client.request("POST", "/v1/sessions/party/moves", #"{"from": {"id": "Omar"}, "to": {"section": "description", "row": 0}}"#).object["type"] as? String == "/problems/move-not-allowed")

            // The section that loses its last row keeps its header, and with it its place.
            for _ in 0..<3 { #expect(try client.request("POST", "/v1/sessions/party/edits", #"{"delete": {"section": "attending", "row": 0}}"#).status == 200) }
            before = try client.get("/v1/sessions/party/snapshot").text
            journal = try client.get("/v1/sessions/party/journal").text
            server.kill()
        }
        let server = try ServerProcess(database: database, Self.fixtures)
        let client = try server.client()
        #expect(try client.get("/v1/sessions/party/snapshot").text == before)
        #expect(try client.get("/v1/sessions/party/journal").text == journal)
        let next = try client.request("POST", "/v1/sessions/party/moves", #"{"from": {"section": "invited", "row": 0}, "to": {"section": "attending", "row": 0}}"#)
        #expect(next.object["revision"] as? Int == 6)
        #expect(server.stop() == 0)
    }
}
