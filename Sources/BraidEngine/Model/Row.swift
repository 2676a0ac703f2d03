/// One displayed row. Snapshots that reuse it share its content.
///
/// Its JSON is in memory or, in a long section whose rows depend only on their ids and models, rendered at each use: the
/// row then shares the stored row's bytes. Commands make rows with JSON, which validates them; loading a session, and
/// the end of a command that wrote many rows, replace it by a renderer. A binding's rendering shows id and model, so two
/// rows of one binding are the same exactly if these are. Others are compared by their JSON.
///
/// Its hashes are in the list of rows itself, so that a diff finds unchanged rows without following a reference.
public struct Row: Sendable {
    let marks: RowMarks
    /// The row's own, or the stored row's if there is a renderer.
    let content: RowContent
    let renderer: RowRenderer?

    init(id: RowID?, content: RowContent, updatesManually: Bool = false) {
        self.content = content
        renderer = nil
        marks = RowMarks(idHash: id.map { RowHash.hash($0) } ?? 0, content.hash, updatesManually: updatesManually)
    }

    init(stored content: RowContent, renderedBy renderer: RowRenderer) {
        self.content = content
        self.renderer = renderer
        marks = RowMarks(
            idHash: content.idHash, content.hash.mixed(with: UInt64(UInt(bitPattern: renderer.binding))),
            updatesManually: renderer.updatesManually)
    }

    /// Unique in its section. Parsed at each call.
    public var id: RowID? { content.id }

    /// `id`, `cell`, `model`, `viewModel`, `editing`, `movable`, `height`, `estimatedHeight`, in this order, where they
    /// apply.
    public var json: JSONText { withContent(\.json) }

    /// Part of ``json``, O(1). `nil` if the section binds view models or a number of rows.
    public var model: JSONText? { content.model }

    /// By `updates: "manually"`: updates then have `updateRows` for it.
    public var updatesManually: Bool { marks.updatesManually }

    /// Whether everything that a snapshot shows is the same. Compares hashes, O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool {
        marks.areSame(as: other.marks) || renderer !== other.renderer && hasSameJSON(as: other)
    }

    /// The cells show the same; `movable` and the like may differ.
    @inline(__always)
    public func looksSame(as other: Row) -> Bool {
        if renderer !== other.renderer { return rendersSameContent(as: other) }
        return marks.mayLookSame(as: other.marks) && content.looksSame(as: other.content)
    }
}

extension Row {
    /// The same row with its JSON in memory.
    var rendered: Row { renderer.map { Row(parts: $0.parts(content)) } ?? self }

    private func withContent<Result>(_ body: (RowContent) -> Result) -> Result {
        if let renderer { body(Row(parts: renderer.parts(content)).content) } else { body(content) }
    }

    var isOnDemand: Bool { renderer != nil }

    /// At most the JSON's length, O(1).
    var leastSize: Int { content.length }

    /// Of rows whose renderers and hashes differ.
    @inline(never)
    func hasSameJSON(as other: Row) -> Bool {
        !isOfSameBinding(as: other) && content.holds(other.content) && json == other.json
    }

    /// Of rows whose renderers differ. Other bindings show the same only for the same id and model.
    @inline(never)
    func rendersSameContent(as other: Row) -> Bool {
        if isOfSameBinding(as: other) { return content.looksSame(as: other.content) }
        return content.holds(other.content) && withContent { mine in other.withContent { mine.looksSame(as: $0) } }
    }

    private func isOfSameBinding(as other: Row) -> Bool {
        renderer != nil && renderer?.binding == other.renderer?.binding
    }
}

/// Renders the rows of one list from their stored rows. Lists share none: threads that count one object's references wait
/// for each other.
final class RowRenderer: Sendable {
    /// Of an object that `parts` keeps in memory. Mixed into the hashes: two bindings render the same row differently.
    let binding: ObjectIdentifier
    let updatesManually: Bool
    /// Of a row that was rendered before without failing.
    let parts: @Sendable (RowContent) -> RowParts

    init(binding: ObjectIdentifier, updatesManually: Bool, _ parts: @escaping @Sendable (RowContent) -> RowParts) {
        self.binding = binding
        self.updatesManually = updatesManually
        self.parts = parts
    }
}

extension Row: JSONWritable {
    /// Without a copy of rendered JSON.
    public func write(to writer: inout JSONWriter) {
        if let renderer { renderer.parts(content).write(to: &writer) } else { writer.value(content.json) }
    }
}

extension PersistentList<Row> {
    /// O(rows), but mostly reads only hashes.
    func indexes(of id: RowID) -> [Int] {
        let hash = RowHash.hash(id)
        var indexes: [Int] = []
        forEachBuffer(in: 0..<count) { start, rows in
            for offset in rows.indices where rows[offset].marks.idHash == hash && rows[offset].content.has(id) {
                indexes.append(start + offset)
            }
        }
        return indexes
    }
}

/// In 16 bytes, so that a row has 32: with 40, a diff takes up to an eighth longer.
struct RowMarks: Sendable {
    private let whole: UInt64
    /// The id's hash, which has 48 bits; 15 of the content's; `updatesManually`.
    private let rest: UInt64

    init(idHash: UInt64, _ shown: RowHash.Pair, updatesManually: Bool) {
        whole = shown.whole
        rest = idHash | shown.content & 0xFFFE | (updatesManually ? 1 : 0)
    }

    /// 0 without an id.
    @inline(__always) var idHash: UInt64 { rest & ~0xFFFF }
    @inline(__always) var updatesManually: Bool { rest & 1 != 0 }

    /// The same JSON has the same id and content, so 127 bits are compared.
    @inline(__always)
    func areSame(as other: RowMarks) -> Bool { whole == other.whole && (rest ^ other.rest) >> 1 == 0 }

    /// If so, compare the content.
    @inline(__always)
    func mayLookSame(as other: RowMarks) -> Bool { (rest ^ other.rest) & 0xFFFE == 0 }
}
