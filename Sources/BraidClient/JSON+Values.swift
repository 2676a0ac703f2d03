import Foundation

extension JSON {
    /// Encodes a value of the program as JSON: `JSON(encoding: person)`.
    public init(encoding value: some Encodable) throws {
        // Some versions of Foundation reject a top-level scalar, so the value is encoded as the element of an array.
        self = try JSONDecoder().decode([JSON].self, from: JSONEncoder().encode([value])).first ?? .null
    }

    /// Decodes the value as a type of the program: `row.model?.decoded(as: Person.self)`.
    ///
    /// - Throws: `DecodingError` if the value does not match the type, and `EncodingError` if the value contains an
    ///   infinite number.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        let values = try JSONDecoder().decode([Value].self, from: JSONEncoder().encode([self]))
        guard let value = values.first else {
            throw DecodingError.valueNotFound(
                type, DecodingError.Context(codingPath: [], debugDescription: "There is no value."))
        }
        return value
    }
}
