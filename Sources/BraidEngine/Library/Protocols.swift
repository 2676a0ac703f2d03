/// Names the sections of a table: an enum whose cases are the sections, or a struct for sections that come with the data.
///
/// Source: Braid's `TableViewSection`.
public protocol TableSection: Hashable, Sendable {
    /// The section's id in snapshots and updates. Different sections must have different ids.
    ///
    /// Default: the raw value of an enum with string raw values; the `collectionId` of a struct or class that is
    /// `CollectionIdentifiable`; else what the section is described as.
    var sectionID: SectionID { get }
}

extension TableSection {
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: RawRepresentable, RawValue == String {
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension TableSection where Self: CollectionIdentifiable {
    public var sectionID: SectionID { SectionID(collectionId) }
}

// The cases of an enum have names, and their `collectionId` by default is no better one.
extension TableSection where Self: CollectionIdentifiable & RawRepresentable {
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: CollectionIdentifiable & RawRepresentable, RawValue == String {
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension SectionID: TableSection {
    public var sectionID: SectionID { self }
}

// Braid's default: a `Comparable` section enum with comparable raw values is ordered by them.
extension TableSection where Self: RawRepresentable & Comparable, RawValue: Comparable {
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A model, or view model, that says *which* row it is, apart from what it says. Equality says whether it changed.
///
/// Source: Braid's `CollectionIdentifiable`.
public protocol CollectionIdentifiable {
    /// Unique within a section, and the same for as long as the model stands for the same thing.
    var collectionId: String { get }
}

extension CollectionIdentifiable where Self: RawRepresentable {
    public var collectionId: String { String(describing: rawValue) }
}

/// A type of cell, header or footer: a value that holds what is shown.
public protocol ReuseIdentifiable: Sendable {
    /// What the type is called in snapshots: default, its Swift name.
    static var reuseIdentifier: String { get }
    init()
}

extension ReuseIdentifiable {
    public static var reuseIdentifier: String { String(describing: Self.self) }
}

/// A cell, header or footer that is given all it shows at once, as a view model.
public protocol ViewModelBindable: ReuseIdentifiable {
    associatedtype ViewModel: Sendable
    var viewModel: ViewModel? { get set }
}

/// A cell that has something to say: its `ViewEvent`s reach the handlers of `onEvent(from:)`.
public protocol ViewEventEmitting: ReuseIdentifiable {
    associatedtype ViewEvent: Sendable
}

/// Why a row's model is to be taken out.
public enum DeletionReason<Section: TableSection>: Sendable {
    case editing
    /// `row` counts in the other section once the model has been taken out here.
    case moved(toSection: Section, row: Int)
}

/// Why a model is to be put in.
public enum InsertionReason<Section: TableSection>: Sendable {
    case editing
    case moved(fromSection: Section, row: Int)
}

/// A height in points, or one that the client finds by itself.
public enum Dimension: Sendable, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    case automatic
    /// At least 0, and finite.
    case points(Double)

    public init(integerLiteral value: Int) { self = .points(Double(value)) }
    public init(floatLiteral value: Double) { self = .points(value) }

    /// As a snapshot has it. Throws `templateFailed` for what is no height.
    var json: JSONText {
        get throws(Refusal) {
            switch self {
            case .automatic: return .string("automatic")
            case .points(let points):
                guard points >= 0, points.isFinite else { throw Refusal(.templateFailed, "A dimension cannot be \(points): it must be a number from 0.") }
                if let whole = Int(exactly: points) { return .number(whole) }
                return JSONText(valid: Array("\(points)".utf8))
            }
        }
    }
}
