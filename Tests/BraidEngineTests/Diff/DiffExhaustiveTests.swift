import Testing
@testable import BraidEngine

/// All pairs of small tables of one kind.
@Suite struct DiffExhaustiveTests {
    /// Every ordered list with each name at most once.
    static func arrangements(_ names: [String]) -> [[String]] {
        [[]]
            + names.flatMap { first in
                arrangements(names.filter { $0 != first }).map { [first] + $0 }
            }
    }

    /// Every cut into two sections.
    static func divisions(_ rows: [String]) -> [(a: [String], b: [String])] {
        (0...rows.count).map { (Array(rows[..<$0]), Array(rows[$0...])) }
    }

    static func section(_ name: String, _ rows: [String]) -> String { "\(name): \(rows.joined(separator: " "))" }

    @Test("Every update between two tables with one section and up to four rows is correct")
    func fourRows() throws {
        for old in [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]] {
            for new in Self.arrangements(["a", "b", "c", "d", "e"]) where new.count <= 4 {
                try check(.make(Self.section("A", old)), .make(Self.section("A", new)))
            }
        }
    }

    @Test("Every update that permutes five rows and changes one of them is correct")
    func fiveRows() throws {
        for new in Self.arrangements(["a", "b", "c", "d", "e"]) where new.count == 5 {
            for mark in ["", "1", "/h", "1!"] {
                let changed = new.map { $0 == "c" ? $0 + mark : $0 }
                try check(.make("A: a b c d e"), .make(Self.section("A", changed)))
            }
        }
    }

    /// Three rows; two or three of them in both orders of the sections. Sections may come and go, a row or a header may
    /// change.
    @Test("Every update between two small tables with two sections is correct")
    func twoSections() throws {
        for old in Self.divisions(["a", "b", "c"]) {
            for rows in Self.arrangements(["a", "b", "c"]) where rows.count >= 2 {
                for new in Self.divisions(rows) {
                    for mark in ["", "1", "/h"] {
                        let a = Self.section("A", new.a.map { $0 == "b" ? $0 + mark : $0 })
                        let b = Self.section("B", new.b.map { $0 == "b" ? $0 + mark : $0 })
                        let before = Snapshot.make(Self.section("A", old.a), Self.section("B", old.b))
                        for after in [
                            Snapshot.make(a, b), .make(b, a), .make(a), .make(b), .make(a, "C: d", b),
                            .make("A=t" + a.dropFirst(), b), .make(b, "A=t" + a.dropFirst()),
                        ] {
                            try check(before, after)
                            try check(after, before)
                        }
                    }
                }
            }
        }
    }

    /// Two rows in three sections; two or three of these in every order. Rows may change their section, and one its
    /// content.
    @Test("Every update between two small tables with three sections is correct")
    func threeSections() throws {
        let names = ["A", "B", "C"]
        for old in 0..<9 {
            for order in Self.arrangements(names) where order.count >= 2 {
                for new in 0..<9 {
                    for mark in ["", "1", "/h"] {
                        func rows(_ section: String, _ places: Int, _ mark: String) -> [String] {
                            (names[places % 3] == section ? ["a" + mark] : [])
                                + (names[places / 3] == section ? ["b"] : [])
                        }
                        let before = Snapshot(sections: names.map { .make(Self.section($0, rows($0, old, ""))) })
                        let after = Snapshot(sections: order.map { .make(Self.section($0, rows($0, new, mark))) })
                        try check(before, after)
                    }
                }
            }
        }
    }

    @Test("Every update between two small sections without row ids is correct")
    func sectionsWithoutIdentity() throws {
        let tables = [
            "A~:", "A~: -1", "A~: -1 -2", "A~: -2", "A~: -1 -2 -3", "A~: -1/h", "A~: -1! -2!", "A: a", "A=t~: -1",
        ]
        for old in tables {
            for new in tables {
                try check(.make(old), .make(new))
                try check(.make(old, "B: b c"), .make("B: c b", new))
                try check(.make(old, "B: b c", "C~: -1"), .make("B: b1 c", "C~: -2", new))
            }
        }
    }
}
