import Testing
@testable import BraidEngine

/// Also compares the number of operations and stages with `DiffReference`.
func check(_ old: Snapshot, _ new: Snapshot, touched: TouchedRows? = nil, stages: Bool = true) throws {
    let update = try BatchUpdate(from: old, to: new)
    try check(update, old, new)
    let reference = DiffReference(old: old, new: new)
    func about() -> Comment { "\(old.json)\n\(new.json)\n\(update.json)" }
    #expect(update.rowOperationCount == reference.rowOperations, about())
    #expect(update.sectionOperationCount == reference.sectionOperations, about())
    if stages { #expect(update.stages.count == reference.stages, about()) }
    if let touched {
        let cheap = try BatchUpdate(from: old, to: new, touched: touched)
        try check(cheap, old, new)
        #expect(cheap.rowOperationCount == update.rowOperationCount, "\(cheap.json)\n\(about())")
        #expect(cheap.stages.count == update.stages.count, "\(cheap.json)\n\(about())")
    }
}

/// In stages and one operation at a time.
func check(_ update: BatchUpdate, _ old: Snapshot, _ new: Snapshot) throws {
    let target = new.json
    do {
        let result = try update.applied(to: old).json
        if result != target { Issue.record("\(old.json)\n\(target)\n\(result)\n\(update.json)") }
        var one = new
        one.sections = PersistentList(try applying(update.sequential(), to: old))
        if one.json != target {
            Issue.record("sequential\n\(old.json)\n\(target)\n\(one.json)\n\(update.sequentialJSON)")
        }
    } catch {
        Issue.record("\(error)\n\(old.json)\n\(target)\n\(update.json)")
    }
}
