/// One displayed row: what stands in the snapshot for it. Immutable, and shared by every snapshot that shows it.
///
/// Two rows are compared by hashes that were taken when they were made: a diff that finds nothing changed reads one
/// line of cache for each row, and none of its bytes. The hashes have 128 bits and a seed of the process, see `RowHash`.
public final class Row: Sendable {
    // What diffs look at stands first.
    let shownHash: RowHash.Pair
    /// 0: the row has no id.
    let idHash: UInt64
    /// Nil for models without identity.
    public let id: RowID?
    /// The row's object as the snapshot has it, members in this order:
    /// `id`, `cell`, `model`, `viewModel`, then the properties `editing`, `movable`, `height`, `estimatedHeight`.
    public let json: JSONText
    /// Length of the part of `json` that says what the cell shows: all before the properties.
    private let contentLength: UInt32
    /// Where `json` has the model; empty when it has none.
    private let modelStart: UInt32
    private let modelEnd: UInt32
    /// The binding says `updates: manually`: changed rows appear as `updateRows`, never as `reloadRows`.
    public let updatesManually: Bool

    init(id: RowID?, json: JSONText, contentLength: Int, updatesManually: Bool = false, modelRange: Range<Int> = 0..<0) {
        self.id = id
        self.json = json
        self.contentLength = UInt32(contentLength)
        self.updatesManually = updatesManually
        modelStart = UInt32(modelRange.lowerBound)
        modelEnd = UInt32(modelRange.upperBound)
        idHash = id.map { RowHash.hash($0) } ?? 0
        shownHash = json.withBytes { RowHash.hash($0, contentLength: contentLength) }
    }

    /// The model as the snapshot shows it, a part of `json`; nil for view-model and number bindings. O(1).
    public var model: JSONText? { modelStart == modelEnd ? nil : json.part(Int(modelStart)..<Int(modelEnd)) }

    /// The row after this one differs in nothing that a snapshot shows. O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool {
        shownHash == other.shownHash
    }

    /// Both are the same row, whatever they show. False for rows without ids.
    @inline(__always)
    func hasSameID(as other: Row) -> Bool {
        idHash == other.idHash && idHash != 0 && (isSame(as: other) || id == other.id)
    }

    /// The cell shows the same (its properties, such as `movable`, may differ).
    @inline(__always)
    public func looksSame(as other: Row) -> Bool {
        shownHash.content == other.shownHash.content && hasSameContent(as: other)
    }

    private func hasSameContent(as other: Row) -> Bool {
        guard contentLength == other.contentLength else { return false }
        return json.withBytes { mine in
            other.json.withBytes { others in
                mine[part: 0..<Int(contentLength)].hasSameBytes(as: others[part: 0..<Int(contentLength)])
            }
        }
    }
}
