import Foundation

/// A row's index path: the section's index and the row's index in it, both from 0. An index path in the snapshot or
/// update of a window counts only what the window contains. On the wire, an index path is `[section, row]`.
public struct RowPath: Codable, Sendable, Hashable, CustomStringConvertible {
    /// The section's index, from 0.
    public var section: Int
    /// The row's index in the section, from 0.
    public var row: Int

    /// Creates an index path.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    public init(from decoder: any Decoder) throws {
        var elements = try decoder.unkeyedContainer()
        section = try elements.decode(Int.self)
        row = try elements.decode(Int.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var elements = encoder.unkeyedContainer()
        try elements.encode(section)
        try elements.encode(row)
    }

    /// The same index path as Foundation's `IndexPath`, for table and collection views.
    public var indexPath: IndexPath { IndexPath(indexes: [section, row]) }
    public var description: String { "[\(section),\(row)]" }
}

extension Snapshot {
    /// A header or footer: a title, or a view with its view model.
    public struct SectionTitle: Codable, Sendable, Hashable {
        /// The title's text. `nil` for a view.
        public var title: String?
        /// The name of the view. `nil` for a title.
        public var view: String?
        /// The view model that the view of a header or footer receives.
        public var viewModel: JSON?
        /// The height of the header or footer. `nil` if the description declares none.
        public var height: Height?
        /// The estimated height of the header or footer. `nil` if the description declares none.
        public var estimatedHeight: Height?

        /// Creates a header or footer.
        public init(
            title: String? = nil, view: String? = nil, viewModel: JSON? = nil, height: Height? = nil,
            estimatedHeight: Height? = nil
        ) {
            self.title = title
            self.view = view
            self.viewModel = viewModel
            self.height = height
            self.estimatedHeight = estimatedHeight
        }
    }

    /// The height of a row, header or footer.
    public enum Height: Codable, Sendable, Hashable {
        /// A height in points.
        case points(Double)
        /// The client measures the height itself.
        case automatic

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let points = try? container.decode(Double.self) {
                self = .points(points)
            } else if try container.decode(String.self) == "automatic" {
                self = .automatic
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "A height is a number or \"automatic\".")
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .points(let points): try container.encode(points)
            case .automatic: try container.encode("automatic")
            }
        }
    }

    /// The sections that a section's rows may move to.
    public enum MovesTo: Codable, Sendable, Hashable {
        /// Every section whose rows are stored and have the same model type as the rows of this section.
        case anySection
        /// The sections with these ids.
        case sections([String])

        /// Returns whether the rows may move to the section whose id is `section`. Ids are compared by their bytes. For
        /// `anySection`, the result is always true, but the server refuses a section with another model type.
        public func allows(_ section: String) -> Bool {
            switch self {
            case .anySection: true
            case .sections(let ids): ids.contains { $0.isSame(as: section) }
            }
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let ids = try? container.decode([String].self) {
                self = .sections(ids)
            } else if try container.decode(String.self) == "anySection" {
                self = .anySection
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "Rows move to \"anySection\", or to a list of sections.")
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .anySection: try container.encode("anySection")
            case .sections(let ids): try container.encode(ids)
            }
        }
    }
}

/// A position in a session's history, written `<epoch>.<revision>` or `<revision>`.
public struct Position: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The session's epoch. `nil` if the position is a revision alone.
    public var epoch: String?
    /// The revision.
    public var revision: Int

    /// Creates a position.
    public init(epoch: String? = nil, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public init(integerLiteral revision: Int) { self.init(revision: revision) }

    public var description: String { epoch.map { "\($0).\(revision)" } ?? String(revision) }
}

extension String {
    /// Returns whether both strings have the same bytes, which is how ids are compared. `==` compares by canonical
    /// equivalence instead.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
