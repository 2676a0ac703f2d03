/// One displayed row: what stands in the snapshot for it. Immutable, and shared by every snapshot that shows it.
public final class Row: Sendable {
    /// Nil for models without identity.
    public let id: RowID?
    /// The row's object as the snapshot has it, members in this order:
    /// `id`, `cell`, `model`, `viewModel`, then the properties `editing`, `movable`, `height`, `estimatedHeight`.
    public let json: JSONText
    /// Length of the part of `json` that says what the cell shows: all before the properties.
    let contentLength: Int
    /// The binding says `updates: manually`: changed rows appear as `updateRows`, never as `reloadRows`.
    public let updatesManually: Bool
    /// Where `json` has the model; empty when it has none.
    private let modelStart: UInt32
    private let modelEnd: UInt32

    init(id: RowID?, json: JSONText, contentLength: Int, updatesManually: Bool = false, modelRange: Range<Int> = 0..<0) {
        self.id = id
        self.json = json
        self.contentLength = contentLength
        self.updatesManually = updatesManually
        modelStart = UInt32(modelRange.lowerBound)
        modelEnd = UInt32(modelRange.upperBound)
    }

    /// The model as the snapshot shows it, a part of `json`; nil for view-model and number bindings. O(1).
    public var model: JSONText? { modelStart == modelEnd ? nil : json.part(Int(modelStart)..<Int(modelEnd)) }

    /// The row after this one differs in nothing that a snapshot shows.
    public func isSame(as other: Row) -> Bool {
        self === other || json == other.json
    }

    /// The cell shows the same (its properties, such as `movable`, may differ).
    public func looksSame(as other: Row) -> Bool {
        if self === other { return true }
        guard contentLength == other.contentLength else { return false }
        return json.withBytes { mine in
            other.json.withBytes { others in
                mine[part: 0..<contentLength].hasSameBytes(as: others[part: 0..<contentLength])
            }
        }
    }
}
