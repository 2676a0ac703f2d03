/// Which cell shows which model type, where a binding chooses cells by type. The later registration wins. Source:
/// DataSourceController's `register(dataController:for:)`.
public struct RegisteredCells: Sendable, Equatable {
    private var cells: [UTF8Key: String] = [:]

    /// None.
    public init() {}

    /// Cells by model type. Throws `badRequest` with a pointer.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        for (type, cell) in try BodyReader.members(json, at: pointer, what: "model types with names of cells") {
            guard let name = cell.stringValue else {
                throw Refusal.bad(pointer.appending(type), .wrongType, "a cell's name must be a string")
            }
            cells[UTF8Key(type)] = name
        }
    }

    /// No registrations.
    public var isEmpty: Bool { cells.isEmpty }

    /// The cell's name; setting `nil` removes the registration.
    public subscript(modelType: String) -> String? {
        get { cells[UTF8Key(modelType)] }
        set { cells[UTF8Key(modelType)] = newValue }
    }

    /// Cells by model type, in ascending order: equal registrations have equal bytes.
    public var json: JSONText {
        let ascending = cells.sorted { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) }
        return JSONText(.object(JSONObject(ascending.map { ($0.key.string, JSONValue.string($0.value)) })))
    }
}

extension JSONText {
    /// `type`, if it is a string, otherwise the kind's name.
    var modelType: String { self["type"]?.stringValue ?? kind.name }
}
