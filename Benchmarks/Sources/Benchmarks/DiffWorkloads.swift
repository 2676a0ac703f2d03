import BraidEngine
import TestSupport

/// Two tables to compare. The tables are lists of numbers, from which each algorithm under test makes its own elements.
struct DiffWorkload {
    struct Row {
        var id: Int
        /// The version of the content. Two rows with the same id and the same version are equal.
        var version = 0
    }
    struct Section {
        var id: Int
        var rows: [Row]
    }

    let name: String
    /// The goals for the diff: the largest ratios of its time to DifferenceKit's time, for String ids and for Int ids.
    let goals: (string: Double, int: Double)
    /// The goal for the diff: the largest ratio of its time to the time of hashing all ids once. `nil` for no goal.
    var hashGoal: Double?
    var old: [Section]
    var new: [Section]

    /// Creates a workload with one section.
    init(_ name: String, _ goals: (Double, Double), hashGoal: Double? = nil, _ old: [Row], _ new: [Row]) {
        self.init(name, goals, hashGoal: hashGoal, old: [Section(id: 0, rows: old)], new: [Section(id: 0, rows: new)])
    }

    init(_ name: String, _ goals: (Double, Double), hashGoal: Double? = nil, old: [Section], new: [Section]) {
        self.name = name
        self.goals = goals
        self.hashGoal = hashGoal
        self.old = old
        self.new = new
    }

    /// Returns the id for a number. Its length of 10 bytes is usual for ids. The contents of rows are JSON objects of a
    /// little more than 100 bytes.
    static func id(_ number: Int) -> String {
        let digits = String(number)
        return "r-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    static func content(_ row: Row) -> String {
        #"{"id":"\#(id(row.id))","cell":"PersonCell","viewModel":{"title":"Name of \#(row.id)","detail":"Version \#(row.version) of this row"}}"#
    }

    static func snapshot(_ sections: [Section]) throws -> Snapshot {
        let json = sections.map { section in
            #"{"id":"s\#(section.id)","header":null,"footer":null,"rowCount":\#(section.rows.count),"rows":[\#(section.rows.map(content).joined(separator: ","))]}"#
        }
        return try Snapshot(
            json: JSONText(
                parsing: Array(#"{"revision":0,"sections":[\#(json.joined(separator: ","))],"state":{}}"#.utf8)))
    }

    /// The smallest number of row deletes, inserts and moves from old to new, if no section is inserted, deleted or
    /// moved.
    ///
    /// A row needs no operation if it stays in its section and is in the section's longest increasing subsequence.
    var fewestOperations: Int {
        var places: [Int: (section: Int, index: Int)] = [:]
        for section in old { for (index, row) in section.rows.enumerated() { places[row.id] = (section.id, index) } }
        let newCount = new.reduce(0) { $0 + $1.rows.count }
        var stay = 0, common = 0
        for section in new {
            var ends: [Int] = []
            for row in section.rows {
                guard let place = places[row.id] else { continue }
                common += 1
                guard place.section == section.id else { continue }
                var low = 0, high = ends.count
                while low < high {
                    let middle = (low + high) / 2
                    if ends[middle] < place.index { low = middle + 1 } else { high = middle }
                }
                if low == ends.count { ends.append(place.index) } else { ends[low] = place.index }
            }
            stay += ends.count
        }
        return (places.count - common) + (newCount - common) + (common - stay)
    }
}

extension DiffWorkload {
    /// The workloads to measure. A check leaves out the workloads with one section of more than 10,000 rows.
    static var measured: [DiffWorkload] {
        all.filter { !Size.isSmall || $0.old.count > 1 || $0.old[0].rows.count <= 10_000 }
    }

    static var all: [DiffWorkload] {
        var random = SeededGenerator(seed: 20)
        func rows(_ range: Range<Int>) -> [Row] { range.map { Row(id: $0) } }
        func edited(_ rows: [Row], _ edit: (inout [Row]) -> Void) -> [Row] {
            var rows = rows
            edit(&rows)
            return rows
        }
        func change(_ rows: inout [Row], _ share: Int) {
            for index in rows.indices where Int.random(in: 0..<share, using: &random) == 0 { rows[index].version += 1 }
        }
        /// Deletes some rows, inserts the same number of new rows, and moves and changes others.
        func mixed(_ old: [Row], newIDs: Int, deleted: Int, moved: Int, changed: Int) -> [Row] {
            var rows = old
            for _ in 0..<deleted { rows.remove(at: Int.random(in: rows.indices, using: &random)) }
            for number in 0..<deleted {
                rows.insert(Row(id: newIDs + number), at: Int.random(in: 0...rows.count, using: &random))
            }
            for _ in 0..<moved {
                let row = rows.remove(at: Int.random(in: rows.indices, using: &random))
                rows.insert(row, at: Int.random(in: 0...rows.count, using: &random))
            }
            for _ in 0..<changed { rows[Int.random(in: rows.indices, using: &random)].version += 1 }
            return rows
        }
        /// The workload of DifferenceKit's own benchmark.
        func own(_ count: Int) -> (old: [Row], new: [Row]) {
            let old = rows(0..<count)
            let new = edited(old) { rows in
                rows.removeSubrange(count * 2 / 5..<count * 3 / 5)
                rows.insert(contentsOf: (0..<count / 5).map { Row(id: count + $0) }, at: count * 3 / 5)
                rows[0..<count / 25].shuffle(using: &random)
            }
            return (old, new)
        }
        func ownHundredThousand() -> (old: [Row], new: [Row]) {
            let old = rows(0..<100_000)
            let new = edited(old) { rows in
                rows.removeSubrange(20_000..<30_000)
                rows.insert(contentsOf: (0..<10_000).map { Row(id: 100_000 + $0) }, at: 30_000)
                rows[0..<2_000].shuffle(using: &random)
            }
            return (old, new)
        }
        func sections(_ rows: (Int) -> [Row]) -> [Section] { (0..<100).map { Section(id: $0, rows: rows($0)) } }
        let hundred = rows(0..<100_000), ten = rows(0..<10_000)
        let small = own(5_000), large = ownHundredThousand()
        let sectioned = sections { rows($0 * 1_000..<($0 + 1) * 1_000) }
        let light = sections { section in
            edited(sectioned[section].rows) { rows in
                if section % 10 == 0 {
                    rows.remove(at: 500)
                    rows[20].version += 1
                    rows.insert(Row(id: 100_000 + section), at: 700)
                }
            }
        }
        // In every section, rows are deleted, inserted, moved and changed. Also, up to 500 rows move to another
        // section.
        var heavy = sections { section in
            mixed(sectioned[section].rows, newIDs: 200_000 + section * 1_000, deleted: 5, moved: 7, changed: 50)
        }
        for _ in 0..<500 {
            let from = Int.random(in: 0..<100, using: &random), to = Int.random(in: 0..<100, using: &random)
            let row = heavy[from].rows.remove(at: Int.random(in: heavy[from].rows.indices, using: &random))
            heavy[to].rows.insert(row, at: Int.random(in: 0...heavy[to].rows.count, using: &random))
        }
        let page = rows(0..<20)
        return [
            DiffWorkload("nothing changed, 100,000", (0.05, 0.02), hashGoal: 0.5, hundred, hundred),
            DiffWorkload("one appended, 100,000", (0.05, 0.02), hundred, rows(0..<100_001)),
            DiffWorkload(
                "one inserted, 100,000", (0.05, 0.02), hundred,
                edited(hundred) { $0.insert(Row(id: 100_000), at: 50_000) }),
            DiffWorkload("every tenth changed, 10,000", (0.06, 0.02), ten, edited(ten) { change(&$0, 10) }),
            DiffWorkload("all changed, 10,000", (0.06, 0.02), ten, edited(ten) { change(&$0, 1) }),
            DiffWorkload("DifferenceKit's own, 100,000", (0.12, 0.05), hashGoal: 1.0, large.old, large.new),
            DiffWorkload("DifferenceKit's own, 5,000", (0.20, 0.15), hashGoal: 1.3, small.old, small.new),
            DiffWorkload(
                "1% deleted, inserted, 0.5% moved, 5% changed, 100,000", (0.20, 0.15), hundred,
                mixed(hundred, newIDs: 200_000, deleted: 1_000, moved: 500, changed: 5_000)),
            DiffWorkload("100 sections x 1,000, heavy", (0.15, 0.10), old: sectioned, new: heavy),
            DiffWorkload("100 sections x 1,000, light", (0.05, 0.03), old: sectioned, new: light),
            DiffWorkload("reversed, 10,000", (0.45, 0.30), ten, ten.reversed()),
            DiffWorkload("replaced, 10,000", (0.45, 0.30), ten, rows(20_000..<30_000)),
            DiffWorkload("shuffled, 10,000", (0.45, 0.30), ten, ten.shuffled(using: &random)),
            DiffWorkload("first to last, 10,000", (0.45, 0.30), ten, edited(ten) { $0.append($0.removeFirst()) }),
            DiffWorkload("a page of 20", (0.35, 0.25), page, mixed(page, newIDs: 20, deleted: 1, moved: 1, changed: 2)),
        ]
    }
}
