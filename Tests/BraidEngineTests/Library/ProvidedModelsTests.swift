import TestSupport
import Testing
@testable import BraidEngine

/// With and without `Equatable` and `CollectionIdentifiable`.
@Suite struct ProvidedModelsTests {
    struct OnlyEquatable: Equatable, Sendable { var name: String }
    struct OnlyIdentifiable: CollectionIdentifiable, Sendable { var collectionId: String }
    struct Neither: Sendable { var name: String }
    final class Reference: CollectionIdentifiable {
        let collectionId: String
        var name = ""
        init(_ id: String) { collectionId = id }
    }

    func binder<Model>(_ models: @escaping () -> [Model]) throws -> TableBinder {
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: models)
        try binder.finish()
        return binder
    }

    @Test("Models that are identifiable and equatable are compared row by row")
    func identifiableAndEquatable() throws {
        var models = people("a", "b", "c")
        let binder = try binder { models }
        models[2].name = "new"
        models.swapAt(0, 2)
        let update = try binder.refresh()
        #expect(update.stages.flatMap(\.moveRows).count == 2 && update.stages.flatMap(\.reloadRows).count == 1)
        #expect(try binder.refresh().isEmpty)
        #expect(binder.snapshot.revision == 1)
    }

    @Test("For models that are only equatable, a refresh inserts or deletes rows at the end, or reloads the section")
    func onlyEquatable() throws {
        var models = ["a", "b"].map { OnlyEquatable(name: $0) }
        let binder = try binder { models }
        #expect(try binder.refresh().isEmpty)
        models.append(OnlyEquatable(name: "c"))
        #expect(try binder.refresh().stages.flatMap(\.insertRows).map(\.at) == [path(0, 2)])
        models[0].name = "x"
        #expect(try binder.refresh().stages.flatMap(\.reloadSections).map(\.at) == [0])
        #expect(binder.snapshot.sections[0].isDiffable == false)
    }

    @Test("Models that are identifiable but not equatable are reloaded by every refresh")
    func onlyIdentifiable() throws {
        var models = ["a", "b"].map { OnlyIdentifiable(collectionId: $0) }
        let binder = try binder { models }
        models.removeFirst()
        let update = try binder.refresh()
        #expect(update.stages.flatMap(\.deleteRows) == [path(0, 0)] && update.stages.flatMap(\.reloadRows).count == 1)
        let reference = Reference("r"), references = try self.binder { [reference] }
        reference.name = "changed in place"
        #expect(try references.refresh().stages.flatMap(\.reloadRows).map(\.at) == [path(0, 0)])
    }

    @Test("For models that are neither identifiable nor equatable, every refresh reloads the section")
    func neither() throws {
        let binder = try binder { [Neither(name: "a")] }
        #expect(try binder.refresh().stages.flatMap(\.reloadSections).count == 1)
    }

    @Test("A model with a new id is displayed even if `==` says that it equals the old model")
    func equalityWithoutID() throws {
        struct Loose: Equatable, CollectionIdentifiable, Sendable {
            var collectionId: String
            static func == (left: Loose, right: Loose) -> Bool { true }
        }
        var models = [Loose(collectionId: "a")]
        let binder = try binder { models }
        models = [Loose(collectionId: "b")]
        try binder.refresh()
        #expect(binder.snapshot.ids == [["b"]])
    }

    @Test("The binder removes models that are no longer used from memory")
    func unusedModels() throws {
        var models = people("a", "b")
        let table = SectionedTableBinder(sectionedBy: OnlySection.self)
        table.onSection(.table).bind(cellType: PlainCell.self, models: { models })
        try table.finish()
        for count in 0..<100 {
            models = people("a", "x\(count)")
            try table.refresh()
        }
        // A failed refresh must not leave its models in memory.
        for count in 0..<100 {
            models = people("y\(count)", "y\(count)")
            #expect(throws: Refusal.self) { try table.refresh() }
        }
        // Removed models stay until the next command, so that a view can still show them.
        models = people("a", "x99")
        try table.refresh()
        let values = Mirror(reflecting: table.bindings.values).descendant("values") as? [Int: Any]
        #expect(values?.count == 2)
        models = people("z")
        try table.refresh()
        #expect(try table.model(at: path(0, 0), as: Person.self).id == "z")
    }

    /// Two chains with one model type; models move between their sections.
    @Test("Every update leads to the models that the closures return", arguments: 0..<20)
    func updates(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var data: [Place: [Person]] = [:]
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onSection(.attending).bind(cellType: PlainCell.self, models: { data[.attending] ?? [] })
        binder.onSections(.invited, .bin).bind(
            cellType: OtherCell.self, models: { data.filter { $0.key != .attending } })
        if seed % 2 == 0 { binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData }
        try binder.finish()
        for step in 0..<40 {
            let size = seed % 4 == 0 ? 300 : 12
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let place = Place.allCases.randomElement(using: &random) ?? .bin,
                    other = Place.allCases.randomElement(using: &random) ?? .bin
                var models = data[place] ?? []
                let start = Int.random(in: 0...models.count, using: &random),
                    block = start..<Int.random(in: start...models.count, using: &random)
                switch Int.random(in: 0..<9, using: &random) {
                case 0:
                    models = (0..<Int.random(in: 0..<size, using: &random)).map {
                        Person(id: "\($0)", name: "\(place)")
                    }.shuffled(using: &random)
                case 1 where !models.isEmpty: models[Int.random(in: models.indices, using: &random)].name = "\(step)"
                case 2 where !models.isEmpty && place != other:
                    let person = models.remove(at: Int.random(in: models.indices, using: &random))
                    if data[other]?.contains(where: { $0.id == person.id }) != true {
                        data[other, default: []].append(person)
                    }
                case 3: models.shuffle(using: &random)
                case 4: models.removeSubrange(block)
                case 5:
                    let moved = models[block]
                    models.removeSubrange(block)
                    models.insert(contentsOf: moved, at: Int.random(in: 0...models.count, using: &random))
                case 6: for index in block { models[index].name = "\(step)" }
                case 7:
                    let known = Set(models.map(\.id)),
                        new = (0..<size).map { Person(id: "\($0)", name: "\(place)") }.filter { !known.contains($0.id) }
                    models.insert(contentsOf: new, at: start)
                default:
                    if !models.contains(where: { $0.id == "s\(step)" }) {
                        models.insert(
                            Person(id: "s\(step)", name: "N"), at: Int.random(in: 0...models.count, using: &random))
                    }
                }
                data[place] = models
            }
            let before = binder.snapshot, update = try binder.refresh(), after = binder.snapshot
            if before.revision != after.revision { #expect(try update.applied(to: before).json == after.json) }
            for (index, section) in after.sections.enumerated() {
                let place = try #require(Place(rawValue: section.id.text))
                let models: [Person] = try section.rows.indices.map { try binder.model(at: path(index, $0)) }
                #expect(models == data[place] ?? [], "seed \(seed), step \(step)")
            }
            if seed % 2 == 0 {
                #expect(Set(after.sectionIDs) == Set(data.filter { !$0.value.isEmpty }.keys.map(\.rawValue)))
            }
        }
    }
}
