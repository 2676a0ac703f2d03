import Foundation

/// A client's copy, kept by updates in stages or sequential form. Written by the documentation alone, on Foundation's
/// JSON.
struct TableReplica {
    private final class Section {
        var facts: [String: Any]
        var rows: [Any]

        init(_ json: Any) {
            facts = json as? [String: Any] ?? [:]
            rows = facts["rows"] as? [Any] ?? []
        }
    }

    private var sections: [Section]
    private var facts: [String: Any]
    var revision: Int { facts["revision"] as? Int ?? -1 }
    private var isWindow: Bool { facts["window"] != nil }
    /// Section and id; `nil` without a window or an anchor.
    var anchor: (section: String, id: String)? {
        let anchor = (facts["window"] as? [String: Any])?["anchor"] as? [String: String]
        return anchor.map { ($0["section"] ?? "", $0["id"] ?? "") }
    }
    var rowCount: Int { sections.reduce(0) { $0 + $1.rows.count } }

    struct Unfit: Error { var why: String }

    init(snapshot: [String: Any]) {
        facts = snapshot
        sections = (snapshot["sections"] as? [Any] ?? []).map { Section($0) }
    }

    /// With sorted members: equal tables have equal texts.
    var text: String {
        var facts = facts
        facts["sections"] = sections.map { section in
            // The section may have more rows than its window.
            let counts = isWindow ? ["rows": section.rows] : ["rows": section.rows, "rowCount": section.rows.count]
            return section.facts.merging(counts) { $1 }
        }
        return Self.text(facts)
    }

    static func text(_ json: [String: Any]) -> String {
        String(
            decoding: (try? JSONSerialization.data(withJSONObject: json, options: [.sortedKeys])) ?? Data(),
            as: UTF8.self)
    }

    mutating func apply(_ update: [String: Any]) throws {
        // May start later than the copy: streams skip revisions without visible changes.
        guard let from = update["from"] as? Int, from >= revision, let to = update["to"] as? Int,
            to > from || isWindow && to == from
        else {
            throw Unfit(why: "an update \(update["from"] ?? "-")-\(update["to"] ?? "-") of a table at \(revision)")
        }
        for stage in update["stages"] as? [[String: Any]] ?? [] { try apply(stage: stage) }
        for operation in update["operations"] as? [[String: Any]] ?? [] { try apply(operation: operation) }
        facts["revision"] = to
        facts["totalRowCount"] = update["totalRowCount"]
        if let state = update["state"] { facts["state"] = state }
        for extent in update["extents"] as? [[String: Any]] ?? [] {
            sections[int(extent["section"])].facts.merge(extent.filter { $0.key != "section" }) { $1 }
        }
        if let window = update["window"] { facts["window"] = window }
        if let empty = update["empty"] { facts["empty"] = empty is NSNull ? nil : empty }
    }

    /// The skipped revisions changed nothing visible.
    mutating func pass(to revision: Int) { facts["revision"] = revision }

    // MARK: One operation after another

    private mutating func apply(operation: [String: Any]) throws {
        guard let (name, value) = operation.first, operation.count == 1 else { throw Unfit(why: "\(operation)") }
        let object = value as? [String: Any] ?? [:]
        switch name {
        case "deleteSection": sections.remove(at: value as? Int ?? -1)
        case "insertSection": sections.insert(Section(object["section"] ?? [:]), at: int(object["at"]))
        case "moveSection": sections.insert(sections.remove(at: int(object["from"])), at: int(object["to"]))
        case "reloadSection": sections[int(object["at"])] = Section(object["section"] ?? [:])
        case "updateSection": update(object)
        case "deleteRow":
            let (section, row) = path(value)
            sections[section].rows.remove(at: row)
        case "insertRow":
            let (section, row) = path(object["at"])
            sections[section].rows.insert(object["row"] ?? 0, at: row)
        case "moveRow":
            let (from, to) = (path(object["from"]), path(object["to"]))
            let row = sections[from.0].rows.remove(at: from.1)
            sections[to.0].rows.insert(object["row"] ?? row, at: to.1)
        case "reloadRow", "updateRow":
            let (section, row) = path(object["at"])
            sections[section].rows[row] = object["row"] ?? 0
        default: throw Unfit(why: name)
        }
    }

    private func update(_ object: [String: Any]) {
        let section = sections[int(object["at"])]
        for name in ["header", "footer"] { if let value = object[name] { section.facts[name] = value } }
        if let movesTo = object["movesTo"] { section.facts["movesTo"] = movesTo is NSNull ? nil : movesTo }
    }

    // MARK: Stages

    /// As `performBatchUpdates`: reloads, deletes and moves' origins refer to the table before, inserts and moves'
    /// targets to the one after.
    private mutating func apply(stage: [String: Any]) throws {
        func list(_ name: String) -> [[String: Any]] { stage[name] as? [[String: Any]] ?? [] }
        for entry in list("updateSections") { update(entry) }
        for entry in list("reloadSections") { sections[int(entry["at"])] = Section(entry["section"] ?? [:]) }
        for entry in list("reloadRows") + list("updateRows") {
            let (section, row) = path(entry["at"])
            sections[section].rows[row] = entry["row"] ?? 0
        }
        var arriving = list("insertRows").map { (path($0["at"]), $0["row"] ?? 0) }
        var leaving = (stage["deleteRows"] as? [Any] ?? []).map { path($0) }
        for move in list("moveRows") {
            let from = path(move["from"])
            arriving.append((path(move["to"]), move["row"] ?? sections[from.0].rows[from.1]))
            leaving.append(from)
        }
        for (section, row) in leaving.sorted(by: >) { sections[section].rows.remove(at: row) }
        var arrivingSections = list("insertSections").map { (int($0["at"]), Section($0["section"] ?? [:])) }
        var leavingSections = stage["deleteSections"] as? [Int] ?? []
        for move in list("moveSections") {
            arrivingSections.append((int(move["to"]), sections[int(move["from"])]))
            leavingSections.append(int(move["from"]))
        }
        for section in leavingSections.sorted(by: >) { sections.remove(at: section) }
        for (at, section) in arrivingSections.sorted(by: { $0.0 < $1.0 }) { sections.insert(section, at: at) }
        for (at, row) in arriving.sorted(by: { $0.0 < $1.0 }) { sections[at.0].rows.insert(row, at: at.1) }
    }

    private func int(_ value: Any?) -> Int { value as? Int ?? -1 }

    private func path(_ value: Any?) -> (Int, Int) {
        let path = value as? [Int] ?? []
        return path.count == 2 ? (path[0], path[1]) : (-1, -1)
    }
}
