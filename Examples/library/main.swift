// The sample "Editable attendees" of the iOS library Braid, as a program that prints what a table view would do.
import BraidEngine

enum Section: String, TableSection, CaseIterable { case description, attending, invited }

struct Person: Equatable, CollectionIdentifiable {
    var name: String
    var collectionId: String { name }
}

struct PersonCell: ViewModelBindable, ViewEventEmitting {
    struct ViewModel: Equatable { var title: String }
    enum ViewEvent { case rsvp(going: Bool) }
    var viewModel: ViewModel?
}

/// Takes the place of a view controller: this class owns the models, and a binder that displays and changes them.
final class Party {
    private var people: [Section: [Person]] = [
        .attending: ["Jonathan", "Omar", "Sara"].map { Person(name: $0) },
        .invited: ["Yvonne", "Kalinda"].map { Person(name: $0) },
    ]
    let binder = SectionedTableBinder(sectionedBy: Section.self)

    init() throws {
        binder.sectionDisplayBehavior = .hidesSectionsWithNoData
        binder.onSection(.description)
            .bind(cellType: PersonCell.self, viewModels: { [.init(title: "Christa's Party")] })
        binder.onSections(.attending, .invited)
            .bind(
                cellType: PersonCell.self, models: { [unowned self] in people },
                mapToViewModels: { .init(title: $0.name) }
            )
            .bind(headerTitles: [.attending: "ATTENDING", .invited: "INVITED"])
            .allowMoving(.toSectionsIn([.attending, .invited]))
            .onDelete { [unowned self] section, row, reason, person in
                people[section]?.remove(at: row)
                // A guest whose row was deleted (and not dragged to another section) is invited again.
                if case .editing = reason { people[.invited]?.insert(person, at: 0) }
            }
            .onInsert { [unowned self] section, row, reason, person in
                if let person { people[section]?.insert(person, at: row) }
            }
            .onEvent(from: PersonCell.self) { [unowned self] section, row, event, person in
                guard case .rsvp(let going) = event else { return }
                people[section]?.remove(at: row)
                people[going ? .attending : .invited]?.append(person)
            }
        binder.onSection(.attending).allowEditing(style: .delete)
        try binder.finish()
    }

    func printTable() throws {
        for (index, section) in binder.snapshot.sections.enumerated() {
            print("  \(section.header["title"]?.stringValue ?? "-")")
            for row in section.rows.indices {
                let path = RowPath(section: index, row: row)
                let cell = try binder.cell(at: path) as? PersonCell
                print("    \(path) \(cell?.viewModel?.title ?? "")")
            }
        }
    }

    /// Applies a command, and checks that its update leads to the table that is displayed after the command.
    func perform(_ name: String, _ command: (SectionedTableBinder<Section>) throws -> BatchUpdate) throws {
        let before = binder.snapshot, update = try command(binder)
        print("\n\(name)")
        for operation in update.sequential() {
            switch operation {
            case .deleteRow(let path): print("  delete \(path)")
            case .insertRow(let path, _): print("  insert \(path)")
            case .moveRow(let from, let to, _): print("  move \(from) to \(to)")
            default: print("  \(operation)")
            }
        }
        try printTable()
        guard try update.applied(to: before).encoded() == binder.snapshot.encoded() else {
            fatalError("the update is wrong")
        }
    }
}

let party = try Party()
print("The party")
try party.printTable()
try party.perform("Omar is deleted") { try $0.commit(.delete, at: RowPath(section: 1, row: 1)) }
try party.perform("Kalinda is dragged to the top") {
    try $0.move(from: RowPath(section: 2, row: 2), to: RowPath(section: 1, row: 0))
}
try party.perform("Yvonne says that she will come") {
    try $0.emit(PersonCell.ViewEvent.rsvp(going: true), at: RowPath(section: 2, row: 1))
}
print("\nEvery update led to the table that was displayed after it.")
