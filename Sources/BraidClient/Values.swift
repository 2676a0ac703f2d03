import Foundation

/// A row's place: section and row count from 0, among those displayed. On the wire `[section, row]`.
public struct RowPath: Codable, Sendable, Hashable, CustomStringConvertible {
    public var section: Int
    public var row: Int

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

    /// As table and collection views take it.
    public var indexPath: IndexPath { IndexPath(indexes: [section, row]) }
    public var description: String { "[\(section),\(row)]" }
}

extension Snapshot {
    /// A header or footer: a title, or a view with its view model.
    public struct SectionTitle: Codable, Sendable, Hashable {
        public var title: String?
        public var view: String?
        public var viewModel: JSON?
        public var height: Height?
        public var estimatedHeight: Height?

        public init(title: String? = nil, view: String? = nil, viewModel: JSON? = nil, height: Height? = nil, estimatedHeight: Height? = nil) {
            self.title = title
            self.view = view
            self.viewModel = viewModel
            self.height = height
            self.estimatedHeight = estimatedHeight
        }
    }

    public enum Height: Codable, Sendable, Hashable {
        case points(Double)
        case automatic

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let points = try? container.decode(Double.self) {
                self = .points(points)
            } else if try container.decode(String.self) == "automatic" {
                self = .automatic
            } else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "A height is a number or \"automatic\".")
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

    /// Where a section's rows may be moved to.
    public enum MovesTo: Codable, Sendable, Hashable {
        case anySection
        case sections([String])

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
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "Rows move to \"anySection\", or to a list of sections.")
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

/// A place in a session's history: `<epoch>.<revision>`, or a revision alone.
public struct Position: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    public var epoch: String?
    public var revision: Int

    public init(epoch: String? = nil, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public init(integerLiteral revision: Int) { self.init(revision: revision) }

    public var description: String { epoch.map { "\($0).\(revision)" } ?? String(revision) }
}

extension String {
    /// Whether it has the same bytes: ids are compared so, while `==` takes two spellings of a character for the same.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
