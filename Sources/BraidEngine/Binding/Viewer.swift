/// Who looks at a table, and their view, reduced to what the description's display reads: equal ones see the same table.
public final class Viewer: Sendable {
    /// `{"id", "name", "role", "claims"}`, of which only the parts that are read.
    let user: JSONValue
    let view: JSONValue
    /// `{"user", "view"}`.
    package let text: JSONText

    init(user: JSONText, view: JSONText) {
        self.user = user.value()
        self.view = view.value()
        text = .object {
            $0.member("user", user)
            $0.member("view", view)
        }
    }
}

extension Viewer {
    /// A user who is nobody in particular and may do all.
    static let controller: JSONText = .object {
        $0.member("id", JSONText.null)
        $0.member("name", JSONText.null)
        $0.member("role", "controller")
        $0.member("claims", JSONText.emptyObject)
    }
}

extension Viewer: Hashable {
    /// Compares what is read.
    public static func == (one: Viewer, other: Viewer) -> Bool { one === other || one.text == other.text }

    /// As `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// What a table's display can read of who looks, and the views that clients may choose.
struct ViewerParts: Sendable {
    /// Such as `["user", "claims", "team"]`.
    let paths: Set<[String]>
    /// The description's `view`.
    let defaults: JSONText
    let schema: JTDSchema?

    init(paths: Set<[String]> = [], defaults: JSONText = .emptyObject, schema: JTDSchema? = nil) {
        // A part of a part that is read as a whole adds nothing.
        self.paths = paths.filter { path in !(1..<path.count).contains { paths.contains(Array(path.prefix($0))) } }
        self.defaults = defaults
        self.schema = schema
    }

    /// In bytes, of a client's view.
    static let longestView = 4_096

    func viewer(user: JSONText, view: JSONText) -> Viewer {
        Viewer(user: reduced(user, at: ["user"]), view: reduced(view, at: ["view"]))
    }

    private func reduced(_ value: JSONText, at path: [String]) -> JSONText {
        if paths.contains(path) { return value }
        guard let members = value.members() else { return value }
        return JSONText(
            object: members.filter { member in
                paths.contains { $0.starts(with: path + [member.name]) }
            }.map { ($0.name, reduced($0.value, at: path + [$0.name])) })
    }

    /// All members that the description declares, in its order; those that a client does not give as declared. A given
    /// one must be of the kind of its default, unless that is null or there is a schema. Throws `badRequest`.
    func view(_ given: JSONText) throws(Refusal) -> JSONText {
        func fault(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) -> Refusal {
            Refusal(
                .badRequest, "The view is not valid\(pointer == .root ? "" : " at \"\(pointer)\""): \(detail).",
                faults: [.init(pointer: pointer, code: code, detail: detail)])
        }
        guard let members = given.members() else {
            throw fault(
                .root, .wrongType, "it must be an object, such as \(defaults.count > 256 ? "{}" : defaults.text)")
        }
        guard given.count <= Self.longestView else {
            throw fault(.root, .outOfRange, "it may have at most \(Self.longestView) bytes")
        }
        let declared = defaults.members() ?? [], names = declared.map(\.name)
        for (name, value) in members {
            let place = JSONPointer.root.appending(name)
            guard let usual = declared.first(where: { $0.name == name })?.value else {
                let hint = Spelling.hint(for: name, among: names, else: "it has")
                throw fault(
                    place, .unknownMember,
                    "the table's `view` has no member `\(name)`\(names.isEmpty ? "" : "; \(hint)")")
            }
            guard schema != nil || usual.isNull || usual.kind == value.kind else {
                throw fault(
                    place, .rejecting(value.kind, accepting: usual.kind),
                    "it must be a value like its default, \(usual.count > 256 ? usual.kind.name : usual.text)")
            }
        }
        let chosen = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        let view = JSONText(object: declared.map { ($0.name, (chosen[$0.name] ?? $0.value).detached) })
        if let schema, let mismatch = schema.errorIndicators(of: view.value(), limit: 1).first {
            throw fault(mismatch.instancePath, mismatch.code, mismatch.detail)
        }
        return view
    }
}
