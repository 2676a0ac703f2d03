import BraidEngine

/// Fuzzes the diff of two snapshots. The input is `{"from": …, "to": …}`, as for `POST /v1/diff`, or bytes from which
/// two snapshots are made.
///
/// The update must obey a table view's rules and lead from the first snapshot to the second, both in stages and one
/// operation at a time. The same must hold for the update in the other direction. Both updates combined into one must
/// lead back to the first snapshot in stages.
func fuzzDiff(_ input: [UInt8]) {
    let old: Snapshot, new: Snapshot
    if input.first == UInt8(ascii: "{") {
        guard let json = try? JSONText(parsing: input) else { return }
        do throws(Refusal) {
            old = try Snapshot(json: json["from"] ?? .null)
            new = try Snapshot(json: json["to"] ?? .null)
        } catch {
            return claim(!error.detail.isEmpty || !error.faults.isEmpty, "a refusal says nothing")
        }
    } else {
        var choices = Choices(input)
        guard let first = try? Snapshot(json: table(&choices)), let second = try? Snapshot(json: table(&choices)) else {
            return claim(false, "the tables that are made are snapshots")
        }
        (old, new) = (first, second)
    }
    guard let forth = checkedUpdate(from: old, to: new) else { return }
    var back = old
    back.revision = new.revision + 1
    guard new.revision < .max - 1, let home = checkedUpdate(from: new, to: back) else { return }
    do {
        let folded = try BatchUpdate.composing([forth, home])
        try claim(folded.applied(to: old).content == back.content, "folded, the update does not lead home")
    } catch {
        claim(false, "folded: \(error)")
    }
}

/// Returns the update from one snapshot to the other after checking it. The result is `nil` if the engine refuses the
/// snapshots.
func checkedUpdate(from old: Snapshot, to new: Snapshot) -> BatchUpdate? {
    let update: BatchUpdate
    do throws(Refusal) {
        update = try BatchUpdate(from: old, to: new)
    } catch {
        claim(!error.detail.isEmpty, "a refusal says nothing")
        return nil
    }
    check(update, from: old, to: new)
    claim(update.stages.count <= 3, "\(update.stages.count) stages")
    return update
}

func check(_ update: BatchUpdate, from old: Snapshot, to new: Snapshot) {
    do {
        try claim(update.applied(to: old).content == new.content, "the update does not lead to the new snapshot")
        try claim(
            BatchUpdate(json: update.json).applied(to: old).content == new.content,
            "written and read, it leads elsewhere")
    } catch {
        claim(false, "\(error)")
    }
    claim(update.playedOneByOne(on: old).content == new.content, "one operation after another, it leads elsewhere")
}

extension Snapshot {
    var content: String { String(decoding: encoded(session: nil, table: nil, epoch: nil), as: UTF8.self) }
}

extension BatchUpdate {
    /// Applies the operations one at a time, as a client that cannot apply batches does.
    func playedOneByOne(on snapshot: Snapshot) -> Snapshot {
        var result = snapshot
        for operation in sequential() {
            switch operation {
            case .deleteSection(let at): result.sections.remove(at: at)
            case .insertSection(let at, let section): result.sections.insert(section, at: at)
            case .moveSection(let from, let to): result.sections.insert(result.sections.remove(at: from), at: to)
            case .reloadSection(let at, let section): result.sections[at] = section
            case .updateSection(let update):
                if let header = update.header { result.sections[update.at].header = header }
                if let footer = update.footer { result.sections[update.at].footer = footer }
                if let movesTo = update.movesTo { result.sections[update.at].movesTo = movesTo.isNull ? nil : movesTo }
            case .deleteRow(let path): result.sections[path.section].rows.remove(at: path.row)
            case .insertRow(let at, let row): result.sections[at.section].rows.insert(row, at: at.row)
            case .moveRow(let from, let to, let row):
                let moved = result.sections[from.section].rows.remove(at: from.row)
                result.sections[to.section].rows.insert(row ?? moved, at: to.row)
            case .reloadRow(let at, let row), .updateRow(let at, let row):
                result.sections[at.section].rows[at.row] = row
            }
        }
        result.revision = to
        result.totalRowCount = totalRowCount
        if let state { result.state = state }
        if let empty { result.empty = empty.isNull ? nil : empty }
        return result
    }
}

/// Makes a table of up to six sections with up to seven rows each. A row's id can occur in several sections.
private func table(_ choices: inout Choices) -> JSONText {
    var writer = JSONWriter(), used: Set<Int> = []
    writer.beginObject()
    writer.name("sections")
    writer.beginArray()
    for _ in 0..<choices.below(7) {
        let id = choices.below(8), kind = choices.below(16)
        guard used.insert(id).inserted else { continue }
        writer.beginObject()
        writer.name("id")
        writer.value("S\(id)")
        let isDiffable = kind != 0
        if !isDiffable {
            writer.name("diffable")
            writer.value(false)
        }
        if kind & 3 == 1 {
            writer.name("header")
            writer.value(JSONValue.object(JSONObject([("title", .string("h\(kind >> 2)"))])))
        }
        if kind & 3 == 2 {
            writer.name("movesTo")
            writer.value("anySection")
        }
        writer.name("rows")
        writer.beginArray()
        var ids: Set<Int> = []
        for _ in 0..<choices.below(8) {
            let row = choices.below(12), look = choices.below(8)
            guard ids.insert(row).inserted else { continue }
            writer.beginObject()
            if isDiffable {
                writer.name("id")
                writer.value("r\(row)")
            }
            writer.name("cell")
            writer.value("C")
            writer.name("model")
            writer.value(look & 3)
            if look > 3 {
                writer.name("height")
                writer.value(look)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.text
}
