import BraidEngine
import BraidRuntime

extension DisplayedTable {
    /// Cached until the next commit, up to `Memory.largeBytes`.
    package func encodedSnapshot() -> (revision: Int, bytes: SharedBytes) {
        if let cachedSnapshot { return cachedSnapshot }
        let snapshot = current.snapshot, bytes = SharedBytes(encoded(snapshot))
        if bytes.plain.count <= Memory.largeBytes { cache(bytes, of: snapshot.revision) }
        return (snapshot.revision, bytes)
    }

    /// Too much to encode on an event loop.
    package var isLarge: Bool {
        guard cachedSnapshot == nil else { return false }
        let snapshot = current.snapshot
        return snapshot.totalRowCount > Workers.shortRows || Session.isStreamed(snapshot)
    }

    /// If so, it is encoded while it is sent.
    package var isTooLargeToCache: Bool {
        cachedSnapshot == nil && Session.isStreamed(current.snapshot)
    }

    var isLongToCompress: Bool { current.snapshot.isLarger(than: Workers.shortBytes) }

    /// Needs a few megabytes per reader, whatever the size.
    package func streamedSnapshot() -> (revision: Int, stream: ByteStream) {
        let snapshot = current.snapshot
        return (snapshot.revision, stream(of: snapshot))
    }

    /// Encoded while it is sent.
    package func stream(of snapshot: Snapshot) -> ByteStream {
        let pieces = snapshot.encodedPieces(session: id, table: session.table, epoch: epoch, size: Self.pieceBytes)
        let stream = ByteStream(
            limit: Self.queuedPieces * Self.pieceBytes, isEndless: false, estimate: { snapshot.leastSize })
        stream.onAttach {
            Task(executorPreference: Workers.shared.long) {
                for piece in pieces {
                    guard await stream.writeWhole(BodyPiece(piece, in: stream.coding)) else { return }
                }
                stream.finish()
            }
        }
        return stream
    }

    package func encoded(_ snapshot: Snapshot) -> [UInt8] {
        snapshot.encoded(session: id, table: session.table, epoch: epoch)
    }

    private static let pieceBytes = 256 * 1024
    /// With fewer, the encoding and the sending thread would wait for each other.
    private static let queuedPieces = 8
}

extension Session {
    package static func isStreamed(_ snapshot: Snapshot) -> Bool { snapshot.isLarger(than: Memory.largeBytes) }

    /// A row's model, displayed or not. Throws `sectionNotFound` or `rowNotFound`.
    package func storedModel(of id: RowID, in section: SectionReference) throws -> (revision: Int, model: JSONText) {
        let current = current, snapshot = current.unpublished?.snapshot ?? current.snapshot
        let section = if case .id(let id) = section { id } else { try snapshot.section(section).id }
        guard let stored = current.model[section] else {
            throw Refusal.noSection(section, among: current.model.sections.lazy.map(\.id))
        }
        guard let index = stored.index(of: id) else { throw Refusal.noRow(id, in: section) }
        return (current.snapshot.revision, stored.rows[index].model)
    }

    /// Whether numbers in paths are indices: there are sections, and none has a number as its id.
    package var countsSections: Bool {
        let sections = current.model.sections
        return !sections.isEmpty
            && !sections.indices.contains { position in
                let id = sections[position].id.text.utf8
                return !id.isEmpty && id.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            }
    }

    /// With unpublished changes.
    package var storedSnapshot: Snapshot {
        let current = current
        return current.unpublished?.snapshot ?? current.snapshot
    }
}

extension ByteStream {
    /// Waits for room. Returns `false` if the stream is closed.
    func writeWhole(_ piece: BodyPiece, _ lease: Quota.Lease? = nil) async -> Bool {
        while true {
            switch write(piece, lease) {
            case .accepted: return true
            case .closed: return false
            case .full: await drained()
            }
        }
    }
}
