import Testing

@Suite(.serialized) struct InspectorPageTests {
    @Test("The inspector's page ignores unknown query parameters, and the API refuses them")
    func unknownQuery() throws {
        let server = try ServerProcess()
        for target in ["/?utm_source=x", "/?utm_source=x&utm_source=y&fbclid"] {
            let page = try server.client().get(target)
            #expect(page.status == 200 && page.header("content-type")?.hasPrefix("text/html") == true, "\(target)")
        }
        for target in ["/v1/tables?utm_source=x", "/inspector.css?utm_source=x"] {
            #expect(try server.client().get(target).status == 400, "\(target)")
        }
    }
}
