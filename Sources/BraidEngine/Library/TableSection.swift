/// A type whose values name the sections of a table: an enum whose cases are the sections, or a struct for sections
/// that come with the data.
///
/// Source: Braid's `TableViewSection`.
public protocol TableSection: Hashable, Sendable {
    /// The section's id in snapshots and updates, different for each section.
    ///
    /// The default: a string raw value; without raw values, the `collectionId` if there is one; otherwise
    /// `String(describing:)`.
    var sectionID: SectionID { get }
}

extension TableSection {
    /// The default id of a section that has neither a string raw value nor a `collectionId`: `String(describing:)` of
    /// the section.
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: RawRepresentable, RawValue == String {
    /// The default id of a section with a string raw value: the raw value.
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension TableSection where Self: CollectionIdentifiable {
    /// The default id of a section that is ``CollectionIdentifiable``: its `collectionId`.
    public var sectionID: SectionID { SectionID(collectionId) }
}

// The name of the case: the default `collectionId` describes the raw value, for example an integer, which is no better.
extension TableSection where Self: CollectionIdentifiable & RawRepresentable {
    /// The default id of an identifiable section enum with raw values that are not strings: the name of the case.
    public var sectionID: SectionID { SectionID(String(describing: self)) }
}

extension TableSection where Self: CollectionIdentifiable & RawRepresentable, RawValue == String {
    /// The default id of an identifiable section with a string raw value: the raw value.
    public var sectionID: SectionID { SectionID(rawValue) }
}

extension SectionID: TableSection {
    /// The section id itself: a `SectionID` can be used as a section.
    public var sectionID: SectionID { self }
}

// Braid's default order.
extension TableSection where Self: RawRepresentable & Comparable, RawValue: Comparable {
    /// Orders sections by their raw values. Source: Braid's default order of sections.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A model or view model with an identity, which says *which* row it is. Equality says whether the row has changed.
///
/// Source: Braid's `CollectionIdentifiable`.
public protocol CollectionIdentifiable {
    /// The model's identity: unique within a section, and unchanged while the model represents the same thing.
    var collectionId: String { get }
}

extension CollectionIdentifiable where Self: RawRepresentable {
    /// The default identity of a value with a raw value: the description of the raw value.
    public var collectionId: String { String(describing: rawValue) }
}
