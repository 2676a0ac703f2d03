/// A type whose values name the sections of a table: an enum whose cases are the sections, or a struct for sections that come
/// with the data.
///
/// Source: Braid's `TableViewSection`.
public protocol TableSection: Hashable, Sendable {
    /// The section's id in snapshots and updates. Different sections must have different ids.
    ///
    /// The default depends on the type:
    /// - an enum with string raw values: the raw value,
    /// - a struct or class that is ``CollectionIdentifiable``: its `collectionId`,
    /// - any other type: `String(describing:)` of the value.
    var sectionID: SectionID { get }
}

extension TableSection {
    /// The section's description.
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: RawRepresentable, RawValue == String {
    /// The section's raw value.
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension TableSection where Self: CollectionIdentifiable {
    /// The section's `collectionId`.
    public var sectionID: SectionID { SectionID(collectionId) }
}

// The cases of an enum have names, and their `collectionId` by default is no better one.
extension TableSection where Self: CollectionIdentifiable & RawRepresentable {
    /// The name of the enum's case.
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: CollectionIdentifiable & RawRepresentable, RawValue == String {
    /// The section's raw value.
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension SectionID: TableSection {
    /// The id itself.
    public var sectionID: SectionID { self }
}

// Braid's default: a `Comparable` section enum with comparable raw values is ordered by them.
extension TableSection where Self: RawRepresentable & Comparable, RawValue: Comparable {
    /// Orders sections by their raw values. Source: Braid's default order of sections.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A model or view model with an identity, which says *which* row it is. Equality says whether the row has changed.
///
/// Source: Braid's `CollectionIdentifiable`.
public protocol CollectionIdentifiable {
    /// The identity: unique within a section, and the same as long as the model stands for the same thing.
    var collectionId: String { get }
}

extension CollectionIdentifiable where Self: RawRepresentable {
    /// The description of the raw value.
    public var collectionId: String { String(describing: rawValue) }
}

/// A type of cell, header or footer: a value that contains what is shown.
public protocol ReuseIdentifiable: Sendable {
    /// The name of the type in snapshots. The default is its Swift name.
    static var reuseIdentifier: String { get }
    /// Creates an empty cell, header or footer, which is filled afterwards.
    init()
}

extension ReuseIdentifiable {
    /// The Swift name of the type.
    public static var reuseIdentifier: String { String(describing: Self.self) }
}

/// A cell, header or footer that receives everything it shows at once, as a view model.
public protocol ViewModelBindable: ReuseIdentifiable {
    /// The type of the view model.
    associatedtype ViewModel: Sendable
    /// The view model. `nil` until it is set.
    var viewModel: ViewModel? { get set }
}

/// A cell that emits events. The handlers of `onEvent(from:)` receive them.
public protocol ViewEventEmitting: ReuseIdentifiable {
    /// The type of the cell's events.
    associatedtype ViewEvent: Sendable
}

/// The reason why a row's model is deleted from a section.
public enum DeletionReason<Section: TableSection>: Sendable {
    /// The person deleted the row.
    case editing
    /// The row moved to another place. `row` is its index in the target section, after the model has been taken out.
    case moved(toSection: Section, row: Int)
}

/// The reason why a model is inserted into a section.
public enum InsertionReason<Section: TableSection>: Sendable {
    /// The person inserted a row.
    case editing
    /// The row moved from another place. `row` was its index in the source section, before the move.
    case moved(fromSection: Section, row: Int)
}

/// A height in points, or one that the client measures itself.
public enum Dimension: Sendable, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// The client measures the height itself (UIKit's `automaticDimension`).
    case automatic
    /// A height in points: finite, and at least 0.
    case points(Double)

    public init(integerLiteral value: Int) { self = .points(Double(value)) }
    public init(floatLiteral value: Double) { self = .points(value) }

    /// As a snapshot has it. Throws `templateFailed` for what is no height.
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
