import Foundation

/// A JSON value: `["name": "Kim", "tags": [1, 2]]`.
///
/// Numbers are `Int` if whole and in range, else `Double`, rounded; too large ones become infinite and cannot be
/// encoded. Members have no order.
public enum JSON: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// Whole.
    case integer(Int)
    /// Not whole, or out of `Int`'s range.
    case number(Double)
    /// A string.
    case string(String)
    /// In order.
    case array([JSON])
    /// By name.
    case object([String: JSON])

    /// `nil` if missing, or no object.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// `nil` out of bounds, or for no array.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// `nil` if this is no string.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// `nil` if this is no Boolean.
    public var bool: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    /// `nil` if this is no `.integer`; for `.number(3.0)`, too.
    public var integer: Int? {
        guard case .integer(let integer) = self else { return nil }
        return integer
    }

    /// Any number as `Double`; `nil` if this is none.
    public var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Frequent kinds first: a failed attempt costs an error.
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let members = try? container.decode([String: JSON].self) {
            self = .object(members)
        } else if let elements = try? container.decode([JSON].self) {
            self = .array(elements)
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? container.decode(Int.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if container.decodeNil() {
            self = .null
        } else {
            do {
                self = .number(try container.decode(Double.self))
            } catch DecodingError.typeMismatch {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not a JSON value.")
            } catch {
                // Too large for `Double`; only the error's text has the sign.
                let text =
                    if case DecodingError.dataCorrupted(let context) = error { context.debugDescription } else {
                        "\(error)"
                    }
                self = .number(text.first { $0 == "-" || $0.isNumber } == "-" ? -.infinity : .infinity)
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

// Not `ExpressibleByNilLiteral`: `nil` means no value.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral bool: Bool) { self = .bool(bool) }
    public init(integerLiteral integer: Int) { self = .integer(integer) }
    public init(floatLiteral number: Double) { self = .number(number) }
    public init(stringLiteral text: String) { self = .string(text) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// The last of equal names wins.
    public init(dictionaryLiteral members: (String, JSON)...) { self = .object(Dictionary(members) { $1 }) }
}

extension JSON {
    /// From any value: `JSON(encoding: person)`.
    public init(encoding value: some Encodable) throws {
        // Some Foundations reject a top-level scalar.
        self = try JSONDecoder().decode([JSON].self, from: JSONEncoder().encode([value])).first ?? .null
    }

    /// To any type: `row.model?.decoded(as: Person.self)`. Throws `DecodingError`, or `EncodingError` for infinite
    /// numbers.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        let values = try JSONDecoder().decode([Value].self, from: JSONEncoder().encode([self]))
        guard let value = values.first else {
            throw DecodingError.valueNotFound(
                type, DecodingError.Context(codingPath: [], debugDescription: "There is no value."))
        }
        return value
    }
}
