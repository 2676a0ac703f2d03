/// Which cells show the models of which types, in sections whose binding chooses cells by model type. A later
/// registration of a type replaces an earlier one. Source: DataSourceController's `register(dataController:for:)`.
public struct RegisteredCells: Sendable, Equatable {
    private var cells: [UTF8Key: String] = [:]

    /// No cells.
    public init() {}

    /// From an object of cells by model type. Throws ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        for (type, cell) in try BodyReader.members(json, at: pointer, what: "model types with names of cells") {
            guard let name = cell.stringValue else {
                throw Refusal.bad(pointer.appending(type), .wrongType, "a cell's name must be a string")
            }
            cells[UTF8Key(type)] = name
        }
    }

    /// Whether no cell is registered.
    public var isEmpty: Bool { cells.isEmpty }

    /// The cell of a model type. Setting `nil` removes it.
    public subscript(modelType: String) -> String? {
        get { cells[UTF8Key(modelType)] }
        set { cells[UTF8Key(modelType)] = newValue }
    }

    /// An object of cells by model type. The types ascend, so equal registrations have equal bytes.
    public var json: JSONText {
        let ascending = cells.sorted { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) }
        return JSONText(.object(JSONObject(ascending.map { ($0.key.string, JSONValue.string($0.value)) })))
    }
}

extension JSONText {
    /// The member `type`, if it is a string, or else the name of the JSON kind.
    var modelType: String { self["type"]?.stringValue ?? kind.name }
}
