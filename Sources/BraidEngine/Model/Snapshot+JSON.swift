extension Snapshot {
    /// Estimates the JSON's size; stops counting above `bytes`. Rows rendered on demand count as too large: how large
    /// they are, and how long they take, is unknown.
    package func isLarger(than bytes: Int) -> Bool {
        var rest = bytes - state.count - (empty?.count ?? 0)
        for section in sections {
            rest -= section.sizeWithoutRows
            if rest < 0 { return true }
            for row in section.rows {
                rest -= row.leastSize + 1
                if rest < 0 || row.isOnDemand { return true }
            }
        }
        return rest < 0
    }

    /// The API's JSON, in UTF-8. Session id, description's name and session's epoch are left out if `nil`. Copies the
    /// rows' bytes.
    public func encoded(session: String? = nil, table: String? = nil, epoch: String? = nil) -> [UInt8] {
        encoded(session: session, table: table, epoch: epoch) { _ in }
    }

    func encoded(session: String?, table: String?, epoch: String?, place: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(capacity: leastSize)
        writeStart(session: session, table: table, epoch: epoch, to: &writer, place: place)
        for section in sections { writer.value(section) }
        writeEnd(to: &writer)
        return writer.bytes
    }

    /// Estimated, O(rows). Renders rows without JSON.
    package var encodedSize: Int {
        sections.reduce(256 + state.count + (empty?.count ?? 0)) { $0 + $1.encodedSize }
    }

    /// At most ``encodedSize``. Renders nothing.
    package var leastSize: Int {
        sections.reduce(256 + state.count + (empty?.count ?? 0)) { $0 + $1.size(\.leastSize) }
    }

    /// The same bytes as `encoded`, piece by piece. Each but the last has at least `size` bytes; up to 64 rows are
    /// encoded at once.
    public func encodedPieces(session: String? = nil, table: String? = nil, epoch: String? = nil, size: Int)
        -> SnapshotPieces
    {
        var writer = JSONWriter(capacity: size + size / 4)
        writeStart(session: session, table: table, epoch: epoch, to: &writer)
        return SnapshotPieces(snapshot: self, size: size, writer: writer)
    }

    private func writeStart(
        session: String?, table: String?, epoch: String?, to writer: inout JSONWriter,
        place: (inout JSONWriter) -> Void = { _ in }
    ) {
        writer.beginObject()
        writer.member("session", session)
        writer.member("table", table)
        writer.member("epoch", epoch)
        writer.member("revision", revision)
        writer.member("totalRowCount", totalRowCount)
        place(&writer)
        writer.name("sections")
        writer.beginArray()
    }

    fileprivate func writeEnd(to writer: inout JSONWriter) {
        writer.endArray()
        writer.member("state", state)
        writer.member("empty", empty)
        writer.endObject()
    }

    var json: JSONText { JSONText(valid: encoded()) }
}

// Members in the order of the HTTP API.
extension Section: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writeStart(to: &writer)
        rows.forEach(in: 0..<rows.count) { _, row in writer.value(row) }
        writeEnd(to: &writer)
    }

    fileprivate func writeStart(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("header", header)
        writer.member("footer", footer)
        writer.member("rowCount", extent?.rowCount ?? rows.count)
        writer.member("offset", extent?.offset)
        writer.member("movesTo", movesTo)
        if !isDiffable { writer.member("diffable", false) }
        writer.name("rows")
        writer.beginArray()
    }

    fileprivate func writeEnd(to writer: inout JSONWriter) {
        writer.endArray()
        writer.endObject()
    }

    var sizeWithoutRows: Int { 80 + id.text.utf8.count + header.count + footer.count + (movesTo?.count ?? 0) }

    var encodedSize: Int { size(\.json.count) }

    fileprivate func size(_ sizeOfRow: (Row) -> Int) -> Int {
        var size = sizeWithoutRows
        rows.forEach(in: 0..<rows.count) { _, row in size += sizeOfRow(row) + 1 }
        return size
    }
}

/// A snapshot's JSON in pieces. Later commands do not change it.
public struct SnapshotPieces: Sequence, IteratorProtocol, Sendable {
    private let snapshot: Snapshot
    private let size: Int
    private var writer: JSONWriter
    private var section = 0
    private var row = 0
    private var isDone = false
    private static var rowsAtATime: Int { 64 }

    fileprivate init(snapshot: Snapshot, size: Int, writer: JSONWriter) {
        self.snapshot = snapshot
        self.size = size
        self.writer = writer
    }

    /// `nil` after the last.
    public mutating func next() -> [UInt8]? {
        guard !isDone else { return nil }
        while writer.bytes.count < size, !isDone { writeMore() }
        let piece = writer.bytes
        writer.bytes = []
        if !isDone { writer.bytes.reserveCapacity(size + size / 4) }
        return piece
    }

    private mutating func writeMore() {
        guard section < snapshot.sections.count else {
            snapshot.writeEnd(to: &writer)
            isDone = true
            return
        }
        let current = snapshot.sections[section]
        if row == 0 { current.writeStart(to: &writer) }
        let end = Swift.min(row + Self.rowsAtATime, current.rows.count)
        current.rows.forEach(in: row..<end) { _, row in writer.value(row) }
        row = end
        guard row == current.rows.count else { return }
        current.writeEnd(to: &writer)
        (section, row) = (section + 1, 0)
    }
}
