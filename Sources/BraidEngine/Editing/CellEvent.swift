/// A cell event that a command brought, as the controllers of the session are told of it.
public struct CellEvent: Sendable {
    /// Where the row stood when the event came, before its handler ran.
    public var at: RowPath
    /// The row as it was then.
    public var row: Row
    public var name: String
    public var parameters: JSONText

    /// `{"at", "id"?, "cell", "event", "model"?}`: what a row has not is left out, as in the snapshot.
    public var json: JSONText {
        var writer = JSONWriter(capacity: 64 + row.json.count + parameters.count)
        writer.beginObject()
        writer.name("at")
        writer.value(at)
        if let id = row.id {
            writer.name("id")
            writer.value(id.text)
        }
        if let cell = row.json["cell"] {
            writer.name("cell")
            writer.value(cell)
        }
        writer.name("event")
        writer.beginObject()
        writer.name(name)
        writer.value(parameters)
        writer.endObject()
        if let model = row.model {
            writer.name("model")
            writer.value(model)
        }
        writer.endObject()
        return writer.text
    }
}
