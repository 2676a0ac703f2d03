// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct HowItWorksTests {
    struct Person: Equatable, CollectionIdentifiable {
        var name: String
        var isGoing = false
        var collectionId: String { name }
    }
    struct PersonCell: ReuseIdentifiable { var title = "" }

    @Test("In the snapshots of a Swift program, numbers represent the models")
    func modelsAsNumbers() throws {
        var people = [Person(name: "Jonathan"), Person(name: "Omar")]
        let binder = TableBinder()
        binder.onTable().bind(cellType: PersonCell.self, models: { people })
        try binder.finish()
        let first = binder.snapshot.sections[0].rows[1].json.text
        // snippet: numbers
        people[1].isGoing = true
        let update = try binder.refresh()
        let row = update.stages[0].reloadRows[0].row
        let json = row.json.text                        // {"id":"Omar","cell":"PersonCell","model":3}
        let omar = try binder.model(at: 1, as: Person.self)
        // end
        #expect(first == #"{"id":"Omar","cell":"PersonCell","model":2}"#)
        #expect(json == #"{"id":"Omar","cell":"PersonCell","model":3}"# && omar.isGoing)
    }
}
