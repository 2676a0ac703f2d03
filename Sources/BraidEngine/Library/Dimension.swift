/// A height in points, or a height that the client measures itself.
public enum Dimension: Sendable, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// The client measures the height itself (UIKit's `automaticDimension`).
    case automatic
    /// A height in points: finite, and at least 0.
    case points(Double)

    public init(integerLiteral value: Int) { self = .points(Double(value)) }
    public init(floatLiteral value: Double) { self = .points(value) }

    /// - Throws: ``Refusal`` with `templateFailed` if the height is negative or not finite.
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
