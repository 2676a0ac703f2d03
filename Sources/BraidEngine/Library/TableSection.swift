/// Names the sections of a table: an enum whose cases are the sections, or a struct for sections that come with the
/// data. Source: Braid's `TableViewSection`.
public protocol TableSection: Hashable, Sendable {
    /// Different for each section. By default a string raw value; without raw values, the `collectionId` if there is
    /// one; otherwise `String(describing:)`.
    var sectionID: SectionID { get }
}

extension TableSection {
    /// `String(describing:)` of the section.
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

// The name of the case: the default `collectionId` describes the raw value, for example an integer, which is no better.
extension TableSection where Self: CollectionIdentifiable & RawRepresentable {
    /// The name of the case.
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
    /// By raw values. Source: Braid's default order of sections.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Which row a model or view model is; equality says whether it has changed. Source: Braid's `CollectionIdentifiable`.
public protocol CollectionIdentifiable {
    /// Unique within a section, and unchanged while the model represents the same thing.
    var collectionId: String { get }
}

extension CollectionIdentifiable where Self: RawRepresentable {
    /// The description of the raw value.
    public var collectionId: String { String(describing: rawValue) }
}
