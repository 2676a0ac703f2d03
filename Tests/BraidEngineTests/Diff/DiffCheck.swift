import Testing
@testable import BraidEngine

/// Checks one update against everything that can be said of it without knowing it.
func check(_ old: Snapshot, _ new: Snapshot, touched: TouchedRows? = nil, stages: Bool = true) throws {
    let update = try BatchUpdate(from: old, to: new)
    try check(update, old, new)
    let reference = DiffReference(old: old, new: new)
    let about: Comment = "\(old.text)\n\(new.text)\n\(update.json.text)"
    #expect(update.rowOperationCount == reference.rowOperations, about)
    #expect(update.sectionOperationCount == reference.sectionOperations, about)
    if stages { #expect(update.stages.count == reference.stages, about) }
    #expect(try BatchUpdate(from: old, to: new).json.text == update.json.text, about)
    if let touched {
        let cheap = try BatchUpdate(from: old, to: new, touched: touched)
        try check(cheap, old, new)
        #expect(cheap.rowOperationCount == update.rowOperationCount, "\(cheap.json.text)\n\(about)")
        #expect(cheap.stages.count == update.stages.count, "\(cheap.json.text)\n\(about)")
    }
}

/// The update leads to the new snapshot, every member included, as stages and one by one.
func check(_ update: BatchUpdate, _ old: Snapshot, _ new: Snapshot) throws {
    let target = new.text
    do {
        let result = try update.applied(to: old).text
        if result != target { Issue.record("\(old.text)\n\(target)\n\(result)\n\(update.json.text)") }
        var one = new
        one.sections = try applying(update.sequential(), to: old)
        if one.text != target { Issue.record("sequential\n\(old.text)\n\(target)\n\(one.text)\n\(update.sequentialJSON.text)") }
    } catch {
        Issue.record("\(error)\n\(old.text)\n\(target)\n\(update.json.text)")
    }
}
