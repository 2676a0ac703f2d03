/// A JSON value, as in models, view models and states.
///
/// A whole number that fits into `Int` is an `Int`, and any other number is a `Double`. Digits that a `Double` cannot
/// represent are rounded. A number that is too large for a `Double` becomes infinite, and cannot be encoded as JSON
/// again. An object's members have no order.
public enum JSON: Sendable, Hashable {
    /// The literal `null`.
    case null
    /// The literal `true` or `false`.
    case bool(Bool)
    /// A whole number that fits into `Int`.
    case integer(Int)
    /// A number as a `Double`. In decoded JSON, the number is not whole or does not fit into `Int`.
    case number(Double)
    /// A string.
    case string(String)
    /// An array's elements, in order.
    case array([JSON])
    /// An object's members by name.
    case object([String: JSON])

    /// The value of an object's member. `nil` if the member is missing or the value is not an object.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The element of an array at an index, from 0. `nil` if the index is out of bounds or the value is not an array.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string. `nil` if the value is not a string.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The Boolean value. `nil` if the value is not `true` or `false`.
    public var bool: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    /// The number of the case ``integer(_:)``. `nil` for any other value, including `.number(3.0)`.
    public var integer: Int? {
        guard case .integer(let integer) = self else { return nil }
        return integer
    }

    /// The number, whole or not. `nil` if the value is not a number.
    public var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    /// Whether the value is `null`.
    public var isNull: Bool { self == .null }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The decoder tries the most frequent kinds of values first, because each failed attempt costs an error.
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
                // The number is too large for a `Double`. Only the text of the error shows whether the number is
                // negative.
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

// `JSON` deliberately cannot be written as the literal `nil`: in Swift, `nil` means that there is no value.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral bool: Bool) { self = .bool(bool) }
    public init(integerLiteral integer: Int) { self = .integer(integer) }
    public init(floatLiteral number: Double) { self = .number(number) }
    public init(stringLiteral text: String) { self = .string(text) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// Creates an object. If a name occurs twice, the last value wins.
    public init(dictionaryLiteral members: (String, JSON)...) { self = .object(Dictionary(members) { $1 }) }
}
