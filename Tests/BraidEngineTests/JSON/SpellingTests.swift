import Testing

@testable import BraidEngine

@Suite struct SpellingTests {
    @Test("The nearest name is found across one mistake, and across swapped letters")
    func oneMistake() {
        for name in ["tabel", "tble", "tables", "tagle", "TABLE", "atble"] {
            #expect(Spelling.nearest(to: name, among: ["cells", "table"]) == "table", "\(name)")
        }
        for name in ["tbael", "tabl e s", "", "taxxe"] {
            #expect(Spelling.nearest(to: name, among: ["cells", "table"]) == nil, "\(name)")
        }
        #expect(Spelling.nearest(to: "is", among: ["id", "ID"]) == nil, "short names are often similar")
        #expect(
            Spelling.nearest(to: "rowss", among: ["rowsxy", "rows"], mistakes: 2) == "rows",
            "the nearest, not the first")
    }

    @Test("A name is near if and only if one mistake leads from it to the known name")
    func everyShortName() {
        let letters = ["a", "b"], known = "abba"
        var near: Set = [known]
        let bytes = known.map(String.init)
        for place in 0...bytes.count {
            for letter in letters { near.insert((bytes[..<place] + [letter] + bytes[place...]).joined()) }
            guard place < bytes.count else { continue }
            near.insert((bytes[..<place] + bytes[(place + 1)...]).joined())
            for letter in letters { near.insert((bytes[..<place] + [letter] + bytes[(place + 1)...]).joined()) }
            guard place + 1 < bytes.count else { continue }
            near.insert((bytes[..<place] + [bytes[place + 1], bytes[place]] + bytes[(place + 2)...]).joined())
        }
        var names = [""]
        for _ in 0..<6 {
            for name in names {
                #expect((Spelling.nearest(to: name, among: [known]) == known) == near.contains(name), "\(name)")
            }
            names = names.flatMap { name in letters.map { name + $0 } }
        }
    }

    @Test("A name of a million bytes costs no quadratic time")
    func longNames() {
        let long = String(repeating: "a", count: 1_000_000)
        #expect(Spelling.nearest(to: "b" + long, among: [long + "b"]) == nil)
        #expect(Spelling.nearest(to: long + "b", among: [long]) == long)
    }
}
