/// A JSON value: what models, view models and states are made of.
///
/// Numbers are `Int` where they fit, else `Double`: digits that neither holds are rounded, and what is beyond both is infinite
/// (and cannot be sent). An object's members have no order.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// An object's member; nil where there is none.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// An array's element; nil where there is none.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    public var bool: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    public var integer: Int? {
        guard case .integer(let integer) = self else { return nil }
        return integer
    }

    /// A number of either kind.
    public var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    public var isNull: Bool { self == .null }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // In the order of how often they come: each that it is not costs an error.
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
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no JSON value.")
            } catch {
                // A number, but beyond what fits: its sign stands in the error's text, and nowhere else.
                let text = if case DecodingError.dataCorrupted(let context) = error { context.debugDescription } else { "\(error)" }
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

// Not by `nil`, which stays the absence of a value.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral bool: Bool) { self = .bool(bool) }
    public init(integerLiteral integer: Int) { self = .integer(integer) }
    public init(floatLiteral number: Double) { self = .number(number) }
    public init(stringLiteral text: String) { self = .string(text) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// Of a name that stands there twice, the last counts.
    public init(dictionaryLiteral members: (String, JSON)...) { self = .object(Dictionary(members) { $1 }) }
}
