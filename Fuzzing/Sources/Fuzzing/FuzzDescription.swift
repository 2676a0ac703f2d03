import BraidEngine

/// Fuzzes table descriptions and commands. The first line of the input is a table description. Each further line is a
/// command as JSON, or bytes that choose a command.
///
/// An accepted description must open a table or be refused with a reason, and must answer or refuse every command. The
/// update of a command must lead to the snapshot after the command. If nothing is unpublished, this snapshot must be
/// the same as one that is computed from the whole table. A refused description must have faults.
func fuzzDescription(_ input: [UInt8]) {
    var lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 24, omittingEmptySubsequences: false)[...]
    guard let first = lines.popFirst(), let text = try? JSONText(parsing: Array(first)) else { return }
    let description: TableDescription
    do throws(Refusal) {
        description = try TableDescription(text)
    } catch {
        return claim(!error.faults.isEmpty && error.faults.allSatisfy { !$0.detail.isEmpty }, "a refusal says nothing")
    }
    do throws(Refusal) {
        try answer(lines, binder: description.binder, opening: description.openingTable())
    } catch {
        claim(!error.detail.isEmpty, "a refusal says nothing")
    }
}

private let now = "2000-01-01T00:00:00.000Z"

private func answer(_ lines: some Sequence<ArraySlice<UInt8>>, binder: Binder, opening: TableModel) throws(Refusal) {
    var table = opening, unpublished: Unpublished?
    guard var snapshot = snapshot(of: table, revision: 0, binder) else { return }
    for line in lines {
        let command: Command
        if let json = try? JSONText(parsing: Array(line)), let named = try? Command(json: json) {
            command = named
        } else {
            var choices = Choices(line)
            command = chosen(for: snapshot, opening, &choices)
        }
        guard let outcome = outcome(of: command, binder, table, snapshot, unpublished) else { continue }
        check(outcome.update, from: snapshot, to: outcome.snapshot)
        // While the table contains unpublished changes, the snapshot for clients differs from the stored table, so the
        // two are not compared.
        if outcome.unpublished == nil {
            let anew = Fuzzing.snapshot(of: outcome.table, revision: outcome.snapshot.revision, binder)?.content
            claim(
                anew == outcome.snapshot.content,
                "the snapshot that is kept up is not the one made anew:\n\(outcome.snapshot.content)\n\(anew ?? "none")"
            )
        }
        (table, snapshot, unpublished) = (outcome.table, outcome.snapshot, outcome.unpublished)
    }
}

private func snapshot(of table: TableModel, revision: Int, _ binder: Binder) -> Snapshot? {
    do {
        return try binder.snapshot(of: table, revision: revision, now: now)
    } catch {
        claim(error is Refusal, "another error than a refusal: \(error)")
        return nil
    }
}

private func outcome(
    of command: Command, _ binder: Binder, _ table: TableModel, _ shown: Snapshot, _ unpublished: Unpublished?
) -> Outcome? {
    do {
        return try binder.applying(command, to: table, shown: shown, unpublished: unpublished, now: now)
    } catch {
        claim(error is Refusal, "another error than a refusal: \(error)")
        return nil
    }
}

private func chosen(for snapshot: Snapshot, _ opening: TableModel, _ choices: inout Choices) -> Command {
    let section = choices.below(snapshot.sections.count),
        id = snapshot.sections.isEmpty ? SectionID("none") : snapshot.sections[section].id
    let rows = snapshot.sections.isEmpty ? 0 : snapshot.sections[section].rows.count
    // Returns a random index. Sometimes the index is larger than any table allows.
    func index(_ limit: Int) -> Int {
        let index = choices.below(limit + 1)
        return index < limit ? index : [1 << 31, .max - 1, .max][choices.below(3)]
    }
    let row = RowReference.at(.displayed(section), row: index(rows + 1))
    let models =
        snapshot.sections.flatMap { $0.rows.prefix(4).compactMap(\.model) } + [
            .emptyObject, .number(choices.below(256)),
        ]
    let model = models[choices.below(models.count)]
    switch choices.below(13) {
    case 0, 1: return .delete(row)
    case 2: return .insert(row, model: choices.below(2) == 0 ? nil : model)
    case 3, 4: return .move(row, to: .at(.displayed(choices.below(snapshot.sections.count)), row: index(6)))
    case 5: return .setModels([(id, Array(models.prefix(choices.below(5))))], merging: choices.below(2) == 0)
    case 6: return .setHeaders([(id, choices.below(2) == 0 ? .null : .string("H"))], merging: true)
    case 7: return .setDisplayedSections(snapshot.sections.map(\.id).reversed().dropLast(choices.below(2)))
    case 8: return .tap(row)
    case 9: return .displayedRows([row])
    case 10:
        return .dataSource(
            .addRow(model, at: RowReference(section: section, row: index(4))), notify: choices.below(2) == 0)
    case 11: return .reset(to: opening)
    default: return .transaction([.tap(row), .delete(row), .setState(.emptyObject, merging: true)])
    }
}
