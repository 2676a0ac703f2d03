import BraidEngine
import Foundation
import Testing

/// `Flows/NAME.json` has requests to each example with a description, and the answers.
@Suite(.serialized) struct ExampleTests {
    static let flows = ServerProcess.package.appendingPathComponent("Tests/EndToEndTests/Flows")

    static let names = ((try? FileManager.default.contentsOfDirectory(atPath: flows.path)) ?? [])
        .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()

    @Test("Each example with a table description has a flow, and each flow belongs to such an example")
    func completeness() throws {
        let examples = try FileManager.default.contentsOfDirectory(
            atPath: ServerProcess.package.appendingPathComponent("Examples").path)
        let tables = examples.filter {
            FileManager.default.fileExists(
                atPath: ServerProcess.package.appendingPathComponent("Examples/\($0)/\($0).table.json").path)
        }
        #expect(Set(tables) == Set(Self.names))
    }

    @Test("The server answers each request of an example's flow as the flow expects", arguments: names)
    func expectedAnswers(name: String) throws {
        // All examples, as `./run` does.
        let client = try ServerProcess(["--fixtures", ServerProcess.package.appendingPathComponent("Examples").path])
            .keptClient()
        let flow = try JSONText(parsing: [UInt8](Data(contentsOf: Self.flows.appendingPathComponent("\(name).json"))))
        let steps = try #require(flow.elements())
        #expect(steps.count >= 3)
        for step in steps {
            let label = "\(name): \(step["name"]?.stringValue ?? "")"
            let method = try #require(step["method"]?.stringValue), path = try #require(step["path"]?.stringValue)
            let response = try client.request(method, path, step["body"].flatMap { $0.isNull ? nil : $0.text })
            #expect(response.status == step["status"]?.intValue, "\(label): \(response.text)")
            let body = try JSONText(
                parsing: response.body.isEmpty ? Array("null".utf8) : response.body, depthLimit: 200)
            for (pointer, expected) in step["expect"]?.members() ?? [] {
                let found = try body[#require(JSONPointer(pointer))]
                #expect(found?.value() == expected.value(), "\(label): \(pointer) in \(response.text)")
            }
            for pointer in step["absent"]?.elements() ?? [] {
                #expect(
                    try body[#require(pointer.stringValue.flatMap { JSONPointer($0) })] == nil,
                    "\(label): \(pointer.text) in \(response.text)")
            }
        }
    }
}
