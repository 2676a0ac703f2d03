import Testing

@testable import BraidEngine

extension JTDSchema {
    /// Creates a correct schema that the test itself contains.
    static func make(_ json: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> JTDSchema {
        let (schema, faults) = try compile(JSONValue(parsing: json))
        return try #require(schema, "\(faults)", sourceLocation: sourceLocation)
    }

    /// Returns the error indicators, sorted, each as `instancePath schemaPath`.
    func indicators(_ json: String) throws -> [String] {
        mismatches(of: try JSONValue(parsing: json), limit: .max).map(\.indicator).inByteOrder
    }

    func accepts(_ json: String) throws -> Bool { try indicators(json).isEmpty }
}

extension [String] {
    /// The strings sorted by UTF-8 bytes. `sorted` does not order different spellings of "é".
    var inByteOrder: [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    func hasSameBytes(as other: [String]) -> Bool { elementsEqual(other) { $0.hasSameBytes(as: $1) } }
}

extension JTDSchema.Mismatch {
    var indicator: String { "\(instancePath) \(schemaPath)" }
}

/// A schema, a value, and the expected error indicators.
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
