@testable import BraidEngine

protocol PartySection: TableSection {
    static var attending: Self { get }
    static var invited: Self { get }
    static var bin: Self { get }
}

enum Place: String, PartySection, CaseIterable { case attending, invited, bin }

/// As `Place`, but not `CaseIterable`.
enum OpenPlace: String, PartySection { case attending, invited, bin }

struct Person: Equatable, CollectionIdentifiable, Sendable {
    var id: String
    var name: String
    var going = false
    var taps = 0
    var collectionId: String { id }

    var json: JSONText {
        JSONText(
            .object(
                JSONObject([
                    ("id", .string(id)), ("name", .string(name)), ("going", .bool(going)),
                    ("taps", .number(JSONNumber(taps))),
                ])))
    }
}

struct PersonCell: ViewModelBindable, ViewEventEmitting {
    struct ViewModel: Equatable, Sendable { var title: String }
    enum ViewEvent: Sendable { case rsvp(going: Bool) }
    var viewModel: ViewModel?
    var detail = ""
}

struct PlainCell: ReuseIdentifiable { var title = "" }
struct OtherCell: ReuseIdentifiable { var title = "" }
struct TextCell: ViewEventEmitting {
    enum ViewEvent: Sendable { case textEntered(String) }
    var text = ""
}
struct Banner: ViewModelBindable {
    struct ViewModel: Equatable, Sendable { var text: String }
    var viewModel: ViewModel?
}

func people(_ ids: String...) -> [Person] { ids.map { Person(id: $0, name: $0.uppercased()) } }

extension Snapshot {
    /// By section.
    var ids: [[String]] { sections.map { $0.rows.map { $0.id?.text ?? "-" } } }
    var sectionIDs: [String] { sections.map(\.id.text) }
}

func path(_ section: Int, _ row: Int) -> RowPath { RowPath(section: section, row: row) }
