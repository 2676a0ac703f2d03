extension JSONText {
    /// Creates a JSON object with the given members.
    package init(object members: [(name: String, value: JSONText)]) {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in members {
            writer.name(name)
            writer.value(value)
        }
        writer.endObject()
        self = writer.text
    }

    /// Creates a JSON array with the given elements.
    package init(parts: [JSONText]) {
        var writer = JSONWriter()
        writer.beginArray()
        for part in parts { writer.value(part) }
        writer.endArray()
        self = writer.text
    }
}
