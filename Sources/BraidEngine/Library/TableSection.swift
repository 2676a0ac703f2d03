/// A table's sections: an enum, or a struct for sections that come with the data. Source: Braid's `TableViewSection`.
public protocol TableSection: Hashable, Sendable {
    /// Unique. By default a string raw value, else the `collectionId`, else `String(describing:)`; with other raw
    /// values, the case's name.
    var sectionID: SectionID { get }
}

extension TableSection {
    /// `String(describing:)`.
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: RawRepresentable, RawValue == String {
    /// The raw value.
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension TableSection where Self: CollectionIdentifiable {
    /// The `collectionId`.
    public var sectionID: SectionID { SectionID(collectionId) }
}

// The case's name: by default `collectionId` describes the raw value, an integer for example.
extension TableSection where Self: CollectionIdentifiable & RawRepresentable {
    /// The case's name.
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: CollectionIdentifiable & RawRepresentable, RawValue == String {
    /// The raw value.
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension SectionID: TableSection {
    /// Itself.
    public var sectionID: SectionID { self }
}

extension TableSection where Self: RawRepresentable & Comparable, RawValue: Comparable {
    /// By raw value, Braid's default order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Says which row a model is; equality says whether it changed. Source: Braid's `CollectionIdentifiable`.
public protocol CollectionIdentifiable {
    /// Unique within a section, constant for the same thing.
    var collectionId: String { get }
}

extension CollectionIdentifiable where Self: RawRepresentable {
    /// Describes the raw value.
    public var collectionId: String { String(describing: rawValue) }
}
