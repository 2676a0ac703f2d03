/// Takes back what one revision did. That of an undo is a redo.
public struct Undo: Sendable {
    /// Which revision.
    public enum Target: Sendable, Equatable {
        /// By number.
        case revision(Int)
        /// The requester's last command that is not taken back; for a redo, the requester's last undo, if no other
        /// command followed.
        case lastOfRequester
    }

    /// Which revision.
    public var target: Target
    /// Whether an undo is wanted back.
    public let isRedo: Bool
    /// `nil` until the session has found it, or there is nothing to take back.
    public var change: UndoChange?

    /// Not resolved yet.
    public init(_ target: Target, isRedo: Bool = false) {
        self.target = target
        self.isRedo = isRedo
    }

    /// As in the journal: `{"revision", "change"}`, so that a reader needs no other record.
    public var json: JSONText {
        .object {
            if case .revision(let revision) = target { $0.member("revision", revision) }
            $0.member("change", change)
        }
    }

    /// From ``json``. Throws `badRequest`.
    public init(json: JSONText) throws(Refusal) {
        guard let revision = json["revision"]?.intValue, let change = json["change"] else {
            throw Refusal.bad(.root, .missingMember, "the journal's undo has no `revision` or no `change`")
        }
        self.init(.revision(revision))
        self.change = try UndoChange(json: change)
    }

    /// `{"revision": 17}` or `{"last": "mine"}`; a redo's body may be empty. Throws `badRequest`.
    init(_ body: JSONText, isRedo: Bool, at pointer: JSONPointer) throws(Refusal) {
        let object = try BodyReader(body, at: pointer, members: ["revision", "last"])
        switch (object["revision"], object["last"]) {
        case (let revision?, nil):
            guard let number = revision.intValue, number > 0 else {
                throw object.fault(
                    "revision", .rejecting(revision.kind, accepting: .number), "must be a revision, from 1")
            }
            self.init(.revision(number), isRedo: isRedo)
        case (nil, let last?):
            guard last.stringValue == "mine" else {
                throw object.fault("last", .rejecting(last.kind, accepting: .string), "must be \"mine\"")
            }
            self.init(.lastOfRequester, isRedo: isRedo)
        case (nil, nil) where isRedo: self.init(.lastOfRequester, isRedo: true)
        case (let revision, _):
            throw Refusal.bad(
                pointer, revision == nil ? .missingMember : .conflict,
                "the body has either `revision`, a revision of the session, or `last`, which is \"mine\"")
        }
    }
}

extension CommandInProgress {
    /// Returns why there was nothing to do, if so. Throws `modelsDoNotFit` if the description has changed since.
    mutating func takeBack(_ undo: Undo) throws -> String? {
        guard let change = undo.change else {
            return undo.isRedo
                ? "There is no undo of yours to take back." : "There is no command of yours to take back."
        }
        if change.isEmpty { return nil }
        try checkFit(of: change)
        try editor.takeBack(change)
        return nil
    }

    private func checkFit(of change: UndoChange) throws(Refusal) {
        var faults: [Refusal.Fault] = [], budget = FaultBudget()
        func add(_ fault: Refusal.Fault) {
            if faults.count < DescriptionReader.faultLimit, budget.admit(fault.pointer) { faults.append(fault) }
        }
        let declared = binder.declaredSections.map { Set($0) }
        for section in change.sections where declared?.contains(section.id) == false {
            add(
                .init(
                    pointer: .root.appending(section.id.text), code: .unknownName,
                    detail: "the table has no such section any more"))
        }
        for id in change.removedSections where declared?.contains(id) == true {
            add(
                .init(
                    pointer: .root.appending(id.text), code: .conflict,
                    detail: "the table's description declares the section now"))
        }
        let rows =
            change.replaced.map { ($0.at, $0.id, $0.model) }
            + change.placed.compactMap { row in row.content.map { (row.at, $0.id, $0.model) } }
        for (at, id, model) in rows {
            guard binder.binding(of: at.section) != nil else { continue }
            let (fitting, misfits) = binder.fitting([model], in: at.section, of: editor.table[at.section])
            let pointer = JSONPointer.root.appending(at.section.text).appending(id?.text ?? "\(at.row)")
            if let fault = misfits.first {
                add(.init(pointer: pointer, code: fault.code, detail: fault.detail))
            } else if let found = fitting.first, found.id != id {
                add(.init(pointer: pointer, code: .conflict, detail: "the model would have another id now"))
            }
        }
        guard faults.isEmpty else {
            throw Refusal(
                .modelsDoNotFit,
                "What the command changed does not fit this version of the table any more.", faults: faults)
        }
    }
}
