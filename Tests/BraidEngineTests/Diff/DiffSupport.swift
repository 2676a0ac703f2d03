@testable import BraidEngine

extension Row {
    /// `"a"` has the id a; `"a1"` also the model 1, so it shows something else; `"a/h"` is movable, `"a1!"` has
    /// `updates: manually`, `"-1"` no id.
    static func make(_ text: String) -> Row {
        let manual = text.hasSuffix("!")
        let plain = manual ? String(text.dropLast()) : text
        let parts = plain.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let id = name.hasPrefix("-") ? nil : RowID(String(name.prefix { !$0.isNumber }))
        let model = name.drop { !$0.isNumber }
        return Row(
            parts: RowParts(
                id: id, cell: "Cell", model: model.isEmpty ? nil : .number(Int(model)!), movable: parts.count > 1,
                updatesManually: manual))
    }
}

extension Section {
    /// `"A: a b c"` has three rows, `"A=title: a"` a header; `"A~: -1 -2"` is not diffable.
    static func make(_ text: String) -> Section {
        let parts = text.split(separator: ":", maxSplits: 1)
        var head = String(parts[0])
        let isDiffable = !head.hasSuffix("~")
        if !isDiffable { head.removeLast() }
        let names = head.split(separator: "=")
        let rows = parts.count > 1 ? parts[1].split(separator: " ").map { Row.make(String($0)) } : []
        return Section(
            id: SectionID(String(names[0])), header: names.count > 1 ? .string(String(names[1])) : .null,
            isDiffable: isDiffable, rows: PersistentList(rows))
    }
}

extension Snapshot {
    static func make(_ sections: String..., revision: Int = 0) -> Snapshot {
        Snapshot(revision: revision, sections: sections.map(Section.make))
    }

    func at(_ revision: Int) -> Snapshot {
        var copy = self
        copy.revision = revision
        return copy
    }
}

extension BatchUpdate {
    var sectionOperationCount: Int {
        stages.reduce(0) { $0 + $1.deleteSections.count + $1.insertSections.count + $1.moveSections.count }
    }
}

/// Each must fit the table after the ones before.
func applying(_ operations: [TableOperation], to snapshot: Snapshot) throws -> [Section] {
    struct Wrong: Error, CustomStringConvertible { var description: String }
    var sections: [(facts: Section, rows: [Row])] = snapshot.sections.map { ($0, Array($0.rows)) }
    func check(_ index: Int, _ count: Int, _ what: String) throws {
        guard index >= 0, index < count else { throw Wrong(description: "\(what): \(index) of \(count)") }
    }
    func take(_ at: RowPath) throws -> Row {
        try check(at.section, sections.count, "take section")
        try check(at.row, sections[at.section].rows.count, "take row")
        return sections[at.section].rows.remove(at: at.row)
    }
    func put(_ row: Row, _ at: RowPath) throws {
        try check(at.section, sections.count, "put section")
        try check(at.row, sections[at.section].rows.count + 1, "put row")
        sections[at.section].rows.insert(row, at: at.row)
    }
    for operation in operations {
        switch operation {
        case .deleteSection(let at):
            try check(at, sections.count, "deleteSection")
            sections.remove(at: at)
        case .insertSection(let at, let section):
            try check(at, sections.count + 1, "insertSection")
            sections.insert((section, Array(section.rows)), at: at)
        case .moveSection(let from, let to):
            try check(from, sections.count, "moveSection from")
            try check(to, sections.count, "moveSection to")
            sections.insert(sections.remove(at: from), at: to)
        case .reloadSection(let at, let section):
            try check(at, sections.count, "reloadSection")
            sections[at] = (section, Array(section.rows))
        case .updateSection(let update):
            try check(update.at, sections.count, "updateSection")
            var facts = sections[update.at].facts
            facts.header = update.header ?? facts.header
            facts.footer = update.footer ?? facts.footer
            if let movesTo = update.movesTo { facts.movesTo = movesTo.isNull ? nil : movesTo }
            sections[update.at].facts = facts
        case .deleteRow(let at): _ = try take(at)
        case .insertRow(let at, let row): try put(row, at)
        case .moveRow(let from, let to, let row):
            let taken = try take(from)
            try put(row ?? taken, to)
        case .reloadRow(let at, let row), .updateRow(let at, let row):
            let old = try take(at)
            guard old.id == row.id else { throw Wrong(description: "another row") }
            try put(row, at)
        }
    }
    return sections.map { section in
        var facts = section.facts
        facts.rows = PersistentList(section.rows)
        return facts
    }
}
