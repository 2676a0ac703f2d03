import Testing

@testable import BraidEngine

extension JTDSchema {
    /// Must be correct.
    static func make(_ json: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> JTDSchema {
        let (schema, faults) = try compile(JSONValue(parsing: json))
        return try #require(schema, "\(faults)", sourceLocation: sourceLocation)
    }

    /// Sorted, each as `instancePath schemaPath`.
    func indicators(_ json: String) throws -> [String] {
        errorIndicators(of: try JSONValue(parsing: json), limit: .max).map(\.indicator).inByteOrder
    }

    func accepts(_ json: String) throws -> Bool { try indicators(json).isEmpty }
}

extension [String] {
    /// Swift's `sorted()` treats encodings of "é" as equal, so their order would be random.
    var inByteOrder: [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    func hasSameBytes(as other: [String]) -> Bool { elementsEqual(other) { $0.hasSameBytes(as: $1) } }
}

extension JTDSchema.ErrorIndicator {
    var indicator: String { "\(instancePath) \(schemaPath)" }
}

struct SchemaCase: CustomTestStringConvertible, Sendable {
    let schema: String
    let value: String
    let indicators: [String]

    init(_ schema: String, _ value: String, _ indicators: String...) {
        self.schema = schema
        self.value = value
        self.indicators = indicators
    }

    var testDescription: String { "\(schema) of \(value)" }
}
