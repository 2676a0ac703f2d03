/// A height.
public enum Dimension: Sendable, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// The client measures it, as with UIKit's `automaticDimension`.
    case automatic
    /// In points: finite, at least 0.
    case points(Double)

    public init(integerLiteral value: Int) { self = .points(Double(value)) }
    public init(floatLiteral value: Double) { self = .points(value) }

    /// Throws ``Refusal`` `templateFailed` for a negative or infinite height.
    var json: JSONText {
        get throws(Refusal) {
            switch self {
            case .automatic: return .string("automatic")
            case .points(let points):
                guard points >= 0, points.isFinite else {
                    throw Refusal(.templateFailed, "A dimension cannot be \(points): it must be a number from 0.")
                }
                if let whole = Int(exactly: points) { return .number(whole) }
                return JSONText(valid: Array("\(points)".utf8))
            }
        }
    }
}
